//! A set of nodes.

use super::NodeId;

/// One bit for each node.
pub(in crate::search) struct NodeSet(Vec<u64>);

impl NodeSet {
    /// The empty set, for ids below `nodes`.
    pub fn new(nodes: usize) -> NodeSet {
        NodeSet(vec![0; nodes.div_ceil(64)])
    }

    /// All ids below `nodes`.
    pub fn of_all(nodes: usize) -> NodeSet {
        NodeSet(vec![u64::MAX; nodes.div_ceil(64)])
    }

    /// Whether the set contains the node.
    pub fn contains(&self, id: NodeId) -> bool {
        self.0[id.0 as usize / 64] >> (id.0 % 64) & 1 == 1
    }

    /// Adds a node; returns whether it is new.
    pub fn insert(&mut self, id: NodeId) -> bool {
        let new = !self.contains(id);
        self.0[id.0 as usize / 64] |= 1 << (id.0 % 64);
        new
    }
}
