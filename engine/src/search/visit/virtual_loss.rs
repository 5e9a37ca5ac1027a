//! Virtual loss: visits in flight, counted on the edges and nodes of their paths so that other visits avoid them.
//!
//! Without batches, a worker counts a visit on each edge as it descends; a batch counts it on the whole path once the
//! leaf is known to be free. Selection reads the counts in U and, by [`penalised`], in Q.

use crate::search::tree::Tree;
use crate::search::visit::path::Path;

/// Where a visit is counted as in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VirtualLoss {
    None,
    /// On each edge when it is followed, for all visits of the series below it.
    Edges,
    EdgesAndLeaf,
    /// On all edges and nodes.
    Everywhere,
}

impl Tree {
    /// Claims the leaf and counts the visit as in flight. False if another visit evaluates the leaf: this one must then
    /// be [cancelled](Tree::cancel).
    pub fn claim_leaf(&self, path: &mut Path) -> bool {
        let leaf = self.node(path.leaf);
        // Another visit may have ended here since the descent.
        if !leaf.add_virtual_loss() || leaf.visits() != path.leaf_visits || leaf.is_expanded() {
            leaf.remove_virtual_loss();
            return false;
        }
        if path.virtual_loss == VirtualLoss::Edges {
            path.virtual_loss = VirtualLoss::EdgesAndLeaf;
            return true;
        }
        for step in &path.steps {
            self.node(step.node).add_virtual_loss();
            self.nodes.edge(step.edge).add_virtual_loss(1);
        }
        path.virtual_loss = VirtualLoss::Everywhere;
        true
    }

    /// Edges counted for a series keep their virtual loss until it ends.
    #[inline]
    pub(super) fn remove_virtual_loss(&self, path: &Path) {
        if matches!(path.virtual_loss, VirtualLoss::EdgesAndLeaf | VirtualLoss::Everywhere) {
            self.node(path.leaf).remove_virtual_loss();
        }
        if path.virtual_loss == VirtualLoss::Everywhere {
            for step in &path.steps {
                self.nodes.edge(step.edge).remove_virtual_loss(1);
                self.node(step.node).remove_virtual_loss();
            }
        }
    }
}

/// Q of a visited move as if each visit in flight lost `virtual_loss` of the distance from `q` to −1.
#[inline]
pub(super) fn penalised(q: f32, visits: f32, in_flight: f32, virtual_loss: f32) -> f32 {
    if in_flight == 0.0 {
        return q;
    }
    q - virtual_loss * (1.0 + q) * in_flight / (visits + in_flight)
}

/// Q of a move whose first visits are still in flight, from `unvisited_q`, the Q of an unvisited move.
#[inline]
pub(super) fn penalised_unvisited(unvisited_q: f32, in_flight: f32, virtual_loss: f32) -> f32 {
    unvisited_q - virtual_loss * (in_flight / (in_flight + 1.0))
}
