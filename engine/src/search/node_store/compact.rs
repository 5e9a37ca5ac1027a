//! Compaction after nodes were dropped.

use super::{BLOCK_SIZES, Link, NONE, NodeId, NodeSet, NodeStore};

impl NodeStore {
    /// Removes all nodes that are not in `kept` and closes the gaps; returns the new id of `root`, one of them. Links
    /// must lead only to kept nodes.
    pub fn compact(&mut self, kept: &NodeSet, root: NodeId) -> NodeId {
        // The index is rebuilt at the end: until then it maps old ids to new ones.
        let mut next = 0;
        for old in 0..self.nodes.len() as u32 {
            if kept.contains(NodeId(old)) {
                self.index[old as usize] = next;
                self.nodes.swap(next as usize, old as usize);
                next += 1;
            }
        }
        self.nodes.truncate(next as usize);
        self.spare_node = NONE;
        let root = NodeId(self.index[root.0 as usize]);
        self.compact_moves();
        self.compact_links();
        self.index.fill(0);
        for id in 0..next {
            if let Some(key) = self.nodes[id as usize].key {
                self.register(NodeId(id), key.get());
            }
        }
        root
    }

    fn compact_moves(&mut self) {
        let mut blocks: Vec<u32> =
            self.ids().filter(|id| self.node(*id).is_expanded()).map(|id| id.0).collect();
        blocks.sort_unstable_by_key(|id| self.nodes[*id as usize].first_move);
        let mut end = 0;
        for id in blocks {
            let node = &mut self.nodes[id as usize];
            let (old, count) = (node.first_move as usize, usize::from(node.moves));
            node.first_move = end as u32;
            self.moves.copy_within(old..old + count, end);
            end += count;
        }
        self.moves.truncate(end);
    }

    fn compact_links(&mut self) {
        let mut blocks: Vec<u32> = self.ids().filter(|id| self.node(*id).links > 0).map(|id| id.0).collect();
        blocks.sort_unstable_by_key(|id| self.nodes[*id as usize].first_link);
        let mut end = 0;
        for id in blocks {
            let node = &mut self.nodes[id as usize];
            let (old, count) = (node.first_link as usize, usize::from(node.links));
            node.first_link = end as u32;
            for offset in 0..count {
                let Link { child, visits } = self.links[old + offset];
                self.links[end + offset] = Link { child: self.index[child as usize], visits };
            }
            end += count.next_power_of_two();
        }
        self.links.truncate(end);
        self.spare_links = [NONE; BLOCK_SIZES];
    }
}
