//! NeuralMatePlay's optional selection terms. Selection is compiled with and without them, so that they cost nothing
//! when off.

use crate::nets::eval::Wdl;
use crate::search::params::Params;
use crate::search::tree::node::{Fate, Node};
use crate::search::tree::proof::Proof;

pub(in crate::search) trait SelectionTerms {
    #[inline]
    fn q<'a>(&self, mean: f32, _child: impl FnOnce() -> &'a Node) -> f32 {
        mean
    }

    /// Factor on U; `_node` is the child, or the parent if the move is unvisited.
    #[inline]
    fn exploration_factor<'a>(&self, _node: impl FnOnce() -> &'a Node) -> f32 {
        1.0
    }

    #[inline]
    fn drops_fpu_reduction<'a, I: Iterator<Item = &'a Node>>(&self, _siblings: impl FnOnce() -> I) -> bool {
        false
    }
}

pub(in crate::search) struct StandardPuct;

impl SelectionTerms for StandardPuct {}

/// See [`Params`].
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct NeuralMatePlayTerms {
    contempt: f32,
    uncertainty: f32,
    draw_sibling_fpu: bool,
}

impl NeuralMatePlayTerms {
    pub fn of(params: &Params) -> Option<NeuralMatePlayTerms> {
        let &Params { contempt, uncertainty, draw_sibling_fpu, .. } = params;
        let on = contempt != 0.0 || uncertainty != 0.0 || draw_sibling_fpu;
        on.then_some(NeuralMatePlayTerms { contempt, uncertainty, draw_sibling_fpu })
    }
}

impl SelectionTerms for NeuralMatePlayTerms {
    fn q<'a>(&self, mean: f32, child: impl FnOnce() -> &'a Node) -> f32 {
        let Wdl { win, draw, loss } = child().wdl_for_parent();
        mean - self.contempt * (win - loss).max(0.0) * draw
    }

    fn exploration_factor<'a>(&self, node: impl FnOnce() -> &'a Node) -> f32 {
        let Wdl { win, loss, .. } = node().wdl_for_parent();
        1.0 + self.uncertainty * (win * loss).sqrt()
    }

    fn drops_fpu_reduction<'a, I: Iterator<Item = &'a Node>>(&self, siblings: impl FnOnce() -> I) -> bool {
        let is_draw = |node: &Node| {
            matches!(node.fate(), Fate::Proven(Proof::Draw) | Fate::Threefold | Fate::Twofold(_))
        };
        self.draw_sibling_fpu && siblings().any(is_draw)
    }
}
