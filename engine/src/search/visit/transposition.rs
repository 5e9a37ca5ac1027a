//! The node behind an edge followed for the first time: new, or a transposition already in the tree.

use crate::chess::position::Game;
use crate::search::tree::Tree;
use crate::search::tree::node::NodeId;
use crate::search::visit::path::Path;

pub(super) struct EdgeToChild {
    pub id: u32,
    pub child: NodeId,
    /// The edge is new, but other paths have reached its node before.
    pub transposition: bool,
}

impl Tree {
    /// Adds the edge of move `index`, the first without one in the path's last node; `game` is after the move. `None` if the
    /// memory is full.
    pub(super) fn add_child(&self, path: &Path, index: usize, game: &Game) -> Option<EdgeToChild> {
        let parent = path.leaf;
        let key = if self.params.transpositions { game.key() } else { 0 };
        // A lone worker needs no lock.
        let edges = if self.shared { self.node(parent).lock() } else { self.node(parent).edges() };
        if edges > index {
            // Another worker was faster.
            self.node(parent).unlock(edges);
            let edge = self.nodes.edge_id(parent, index);
            return Some(EdgeToChild {
                id: edge,
                child: self.nodes.edge(edge).child(),
                transposition: false,
            });
        }
        debug_assert_eq!(edges, index, "moves get their edges in order");
        let added = self.add_child_locked(path, index, key);
        self.node(parent).unlock(edges + usize::from(added.is_some()));
        added
    }

    fn add_child_locked(&self, path: &Path, index: usize, key: u64) -> Option<EdgeToChild> {
        let parent = path.leaf;
        // A node of the path would close a cycle; it has this key only if keys collide.
        let usable = |id: &NodeId| *id != parent && path.steps.iter().all(|step| step.node != *id);
        if key != 0
            && let Some(child) = self.nodes.find(key).filter(usable)
        {
            let edge = self.nodes.add_edge(path.worker, parent, index, child)?;
            self.hold(child);
            return Some(EdgeToChild { id: edge, child, transposition: true });
        }
        let child = self.nodes.add(path.worker)?;
        let Some(edge) = self.nodes.add_edge(path.worker, parent, index, child) else {
            self.nodes.free_node(child);
            return None;
        };
        if key != 0
            && let Some(other) = self.nodes.register(child, key).filter(usable)
        {
            self.nodes.free_node(child);
            self.nodes.edge(edge).reset(other.0);
            self.hold(other);
            return Some(EdgeToChild { id: edge, child: other, transposition: true });
        }
        Some(EdgeToChild { id: edge, child, transposition: false })
    }
}
