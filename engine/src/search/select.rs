//! Which move to follow: PUCT.

use super::arena::{Link, Node, NodeId};
use super::params::FpuStrategy;
use super::proof::Proof;
use super::tree::Tree;
use crate::eval::Wdl;

impl Tree {
    /// The move of an expanded node that the next visit should take.
    ///
    /// `argmax Q + U` with `U = c(N) · prior · √(visits of the node's moves) / (1 + visits of the move)`;
    /// visits on their way count as visits, and in Q as [`virtual_loss`](super::Params::virtual_loss)
    /// says. An unvisited move's Q is [`Fpu`](super::Fpu)'s.
    ///
    /// Moves that are proven to lose are left alone while there is another; at the root also those that
    /// can't become the most visited within the [horizon](Tree::set_horizon).
    pub(super) fn select(&self, id: NodeId) -> usize {
        if let Some(edge) = self.forced.filter(|_| id == self.root) {
            return edge;
        }
        let here = Here::new(self, id);
        let links = self.arena.links_of(id);
        let moves = self.arena.moves_of(id);
        let mut best = (f32::NEG_INFINITY, 0);
        for (index, (link, candidate)) in links.iter().zip(moves).enumerate() {
            let child = self.node(link.child());
            let known = matches!(child.proof, Some(Proof::Win(_))) || (here.proven && child.proof.is_some());
            if known || here.is_hopeless(link.visits) {
                continue;
            }
            let score = self.q(child, link, &here) + self.u(child, link, candidate.prior(), &here);
            if score > best.0 {
                best = (score, index);
            }
        }
        // Priors fall: none of the others that were never taken can score more than the first.
        if let Some(candidate) = moves.get(links.len())
            && !here.is_hopeless(0)
        {
            let score = here.unvisited_q + here.unvisited_u(candidate.prior());
            if score > best.0 {
                best = (score, links.len());
            }
        }
        best.1
    }

    /// What a move is worth, for the side that makes it.
    fn q(&self, child: &Node, link: &Link, here: &Here) -> f32 {
        let pending = child.pending as f32;
        if child.visits == 0 {
            // Only pending visits: the first of them is still out.
            return here.unvisited_q - self.params.virtual_loss * (pending / (pending + 1.0));
        }
        let mut mean = child.q();
        if self.params.contempt != 0.0 {
            let Wdl { win, draw, loss } = child.wdl_for_parent();
            mean -= self.params.contempt * (win - loss).max(0.0) * draw;
        }
        if pending == 0.0 {
            return mean;
        }
        let started = link.visits as f32 + pending;
        mean - self.params.virtual_loss * (1.0 + mean) * pending / started
    }

    /// How much a move is worth exploring.
    pub(super) fn u(&self, child: &Node, link: &Link, prior: f32, here: &Here) -> f32 {
        let started = link.visits as f32 + child.pending as f32;
        let sharpness = match self.params.uncertainty {
            0.0 => 1.0,
            weight => sharpness(weight, child.wdl_for_parent()),
        };
        here.exploration * sharpness * prior / (1.0 + started)
    }
}

/// `1 + weight · √(W · L)`.
fn sharpness(weight: f32, wdl: Wdl) -> f32 {
    1.0 + weight * (wdl.win * wdl.loss).sqrt()
}

/// What the moves of one node have in common.
pub(super) struct Here {
    /// `c(N) · √(visits of the node's moves)`.
    exploration: f32,
    /// Q of an unvisited move.
    pub unvisited_q: f32,
    /// What an unvisited move's exploration is multiplied by.
    sharpness: f32,
    /// The node is proven already (a search may go on below a proven root): its unproven moves are of
    /// interest.
    proven: bool,
    /// A move with fewer visits than this can't become the most visited any more.
    hopeless_below: u64,
}

impl Here {
    pub fn new(tree: &Tree, id: NodeId) -> Here {
        let params = &tree.params;
        let at_root = id == tree.root;
        let node = tree.node(id);
        let (mut visited, mut below, mut drawn) = (0.0, node.pending, false);
        for (link, candidate) in tree.arena.links_of(id).iter().zip(tree.arena.moves_of(id)) {
            let child = tree.node(link.child());
            if child.visits > 0 {
                visited += candidate.prior();
            }
            below += link.visits;
            drawn |= child.proof == Some(Proof::Draw) || child.repetition.is_some();
        }
        let puct = if at_root && params.root_has_own_puct { params.root_puct } else { params.puct };
        let fpu = if at_root && params.root_has_own_fpu { params.root_fpu } else { params.fpu };
        let unvisited_q = match fpu.strategy {
            FpuStrategy::Absolute => fpu.value,
            FpuStrategy::Reduction if drawn && params.draw_sibling_fpu => -node.q(),
            FpuStrategy::Reduction => -node.q() - fpu.value * visited.sqrt(),
        };
        let sharpness = match params.uncertainty {
            0.0 => 1.0,
            weight => sharpness(weight, node.wdl_for_parent()),
        };
        let hopeless_below = match tree.horizon {
            Some(horizon) if at_root => tree.lead().0.saturating_sub(horizon),
            _ => 0,
        };
        let exploration = puct.at(node.visits) * (below.max(1) as f32).sqrt();
        Here { exploration, unvisited_q, sharpness, proven: node.proof.is_some(), hopeless_below }
    }

    /// How much a move that was never taken is worth exploring.
    pub fn unvisited_u(&self, prior: f32) -> f32 {
        self.exploration * self.sharpness * prior
    }

    fn is_hopeless(&self, visits: u32) -> bool {
        u64::from(visits) < self.hopeless_below
    }
}
