//! Three optional terms of NeuralMatePlay's selection, all off by default.
//!
//! Selection is compiled once with them and once without ([`StandardPuct`]), and branches once per node, so that they
//! cost nothing when they are off.

use super::node_store::Node;
use super::params::Params;
use super::proof::Proof;
use crate::eval::Wdl;

/// What may be added to PUCT's selection; by default nothing.
pub(super) trait SelectionTerms {
    /// Q of a visited move, given its mean result.
    fn q(&self, mean: f32, _child: &Node) -> f32 {
        mean
    }

    /// Factor on the exploration of a move, from the statistics of the node after it (for an unvisited move: of its
    /// parent).
    fn exploration_factor(&self, _node: &Node) -> f32 {
        1.0
    }

    /// Whether the FPU reduction is left out next to these siblings.
    fn drops_fpu_reduction<'a>(&self, _siblings: impl Iterator<Item = &'a Node>) -> bool {
        false
    }
}

/// PUCT alone.
pub(super) struct StandardPuct;

impl SelectionTerms for StandardPuct {}

/// The terms with their weights ([`Params`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct NeuralMatePlayTerms {
    contempt: f32,
    uncertainty: f32,
    draw_sibling_fpu: bool,
}

impl NeuralMatePlayTerms {
    /// The terms that `params` turns on, if any.
    pub fn of(params: &Params) -> Option<NeuralMatePlayTerms> {
        let &Params { contempt, uncertainty, draw_sibling_fpu, .. } = params;
        let on = contempt != 0.0 || uncertainty != 0.0 || draw_sibling_fpu;
        on.then_some(NeuralMatePlayTerms { contempt, uncertainty, draw_sibling_fpu })
    }
}

impl SelectionTerms for NeuralMatePlayTerms {
    fn q(&self, mean: f32, child: &Node) -> f32 {
        let Wdl { win, draw, loss } = child.wdl_for_parent();
        mean - self.contempt * (win - loss).max(0.0) * draw
    }

    fn exploration_factor(&self, node: &Node) -> f32 {
        let Wdl { win, loss, .. } = node.wdl_for_parent();
        1.0 + self.uncertainty * (win * loss).sqrt()
    }

    fn drops_fpu_reduction<'a>(&self, mut siblings: impl Iterator<Item = &'a Node>) -> bool {
        let is_draw = |node: &Node| node.proof == Some(Proof::Draw) || node.repetition.is_some();
        self.draw_sibling_fpu && siblings.any(is_draw)
    }
}
