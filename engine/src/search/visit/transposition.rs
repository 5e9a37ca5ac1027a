//! The node behind an edge followed for the first time: new, or a transposition already in the tree.

use crate::chess::position::Game;
use crate::search::tree::Tree;
use crate::search::tree::node::NodeId;
use crate::search::visit::path::Path;

pub(super) struct EdgeToChild {
    pub link: u32,
    pub child: NodeId,
    /// The edge is new, but other paths have reached its node before.
    pub transposition: bool,
}

impl Tree {
    /// Adds the link of `edge`, the first untaken move of the path's last node; `game` is after the move. `None` if the
    /// memory is full.
    pub(super) fn add_child(&self, path: &Path, edge: usize, game: &Game) -> Option<EdgeToChild> {
        let parent = path.leaf;
        let key = if self.params.transpositions { game.key() } else { 0 };
        // A lone worker needs no lock.
        let links = if self.shared { self.node(parent).lock() } else { self.node(parent).links() };
        if links > edge {
            // Another worker was faster.
            self.node(parent).unlock(links);
            let link = self.nodes.link_id(parent, edge);
            return Some(EdgeToChild { link, child: self.nodes.link(link).child(), transposition: false });
        }
        debug_assert_eq!(links, edge, "moves are taken in order");
        let added = self.add_child_locked(path, edge, key);
        self.node(parent).unlock(links + usize::from(added.is_some()));
        added
    }

    fn add_child_locked(&self, path: &Path, edge: usize, key: u64) -> Option<EdgeToChild> {
        let parent = path.leaf;
        // A node of the path would close a cycle; it has this key only if keys collide.
        let usable = |id: &NodeId| *id != parent && path.steps.iter().all(|step| step.node != *id);
        if key != 0
            && let Some(child) = self.nodes.find(key).filter(usable)
        {
            let link = self.nodes.add_link(path.worker, parent, edge, child)?;
            self.hold(child);
            return Some(EdgeToChild { link, child, transposition: true });
        }
        let child = self.nodes.add(path.worker)?;
        let Some(link) = self.nodes.add_link(path.worker, parent, edge, child) else {
            self.nodes.free_node(child);
            return None;
        };
        if key != 0
            && let Some(other) = self.nodes.register(child, key).filter(usable)
        {
            self.nodes.free_node(child);
            self.nodes.link(link).reset(other.0);
            self.hold(other);
            return Some(EdgeToChild { link, child: other, transposition: true });
        }
        Some(EdgeToChild { link, child, transposition: false })
    }
}
