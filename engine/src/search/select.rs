//! Which move to follow: PUCT.

use super::proof::Proof;
use super::tree::{NodeId, Tree};

impl Tree {
    /// The edge of an expanded node that the next visit should take.
    ///
    /// `argmax Q + U` with `U = c(N) · prior · √(visits of the node's moves) / (1 + visits of the move)`;
    /// visits on their way count as visits, and in Q as [`virtual_loss`](super::Params::virtual_loss)
    /// says. An unvisited move's Q is the node's own less `fpu_value · √(prior mass already visited)`.
    ///
    /// A proven node follows the move that proves it; else moves that are proven to lose are left
    /// alone while there is another.
    pub(super) fn select(&self, id: NodeId) -> usize {
        let node = self.node(id);
        if node.proof.is_some() {
            return self.best_proven(id);
        }
        let parent_q = -node.q();
        // Without the node's own evaluation and the visit that is being placed.
        let below = (node.visits + u32::from(node.pending)).saturating_sub(2).max(1);
        let exploration = self.params.exploration(node.visits) * (below as f32).sqrt();
        let edges = self.edges_of(id);
        let visited: f32 = edges
            .iter()
            .filter(|edge| edge.child().is_some_and(|child| self.node(child).visits > 0))
            .map(|edge| edge.prior())
            .sum();
        let unvisited_q = parent_q - self.params.fpu_value * visited.sqrt();

        let mut best = (f32::NEG_INFINITY, 0);
        for (index, edge) in edges.iter().enumerate() {
            let score = match edge.child() {
                None => unvisited_q + exploration * edge.prior(),
                Some(child) => {
                    let child = self.node(child);
                    if matches!(child.proof, Some(Proof::Win(_))) {
                        continue;
                    }
                    let pending = f32::from(child.pending);
                    let started = child.visits as f32 + pending;
                    let q = if child.visits == 0 {
                        // Only pending visits: the first of them is still out.
                        unvisited_q - self.params.virtual_loss * (pending / (pending + 1.0))
                    } else {
                        let mean = child.q();
                        mean - self.params.virtual_loss * (1.0 + mean) * pending / started
                    };
                    q + exploration * edge.prior() / (1.0 + started)
                }
            };
            if score > best.0 {
                best = (score, index);
            }
            if edge.child().is_none() {
                // Edges fall by prior: no unvisited one behind this can score more.
                break;
            }
        }
        best.1
    }

    /// The edge that proves a proven node: shortest win, draw, longest loss.
    fn best_proven(&self, id: NodeId) -> usize {
        let rank = |proof| match proof {
            // Unproven moves prove nothing.
            None => i32::MIN,
            known => Proof::rank_for_parent(known),
        };
        let proofs =
            self.edges_of(id).iter().map(|edge| edge.child().and_then(|child| self.node(child).proof));
        // The first of equals, so that the choice is the same everywhere.
        let best = proofs.enumerate().max_by_key(|(index, proof)| (rank(*proof), std::cmp::Reverse(*index)));
        best.map_or(0, |(index, _)| index)
    }
}
