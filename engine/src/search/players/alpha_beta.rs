//! Minimax with alpha-beta pruning (Knuth, Moore: An Analysis of Alpha-Beta Pruning, 1975).

use std::cmp::Reverse;

use shakmaty::{Chess, Move, Position, Role};

use super::deepening::{DepthSearch, terminal_value};
use super::root_moves::{INFINITE, MinimaxValue};
use crate::nets::eval::material;

#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub alpha: MinimaxValue,
    pub beta: MinimaxValue,
}

impl Window {
    fn flipped(self) -> Window {
        Window { alpha: -self.beta, beta: -self.alpha }
    }
}

impl DepthSearch<'_, '_> {
    /// As [`DepthSearch::minimax`] inside the window; outside, a bound on the true value (fail-soft).
    pub(super) fn alpha_beta(
        &mut self,
        position: &Chess,
        depth: u32,
        ply: u32,
        mut window: Window,
        pv: &mut Vec<Move>,
    ) -> Option<MinimaxValue> {
        pv.clear();
        let mut legal = position.legal_moves();
        if let Some(value) = terminal_value(position, &legal, ply) {
            return Some(value);
        }
        if depth == 0 {
            return Some(material::for_mover(position));
        }
        legal.sort_by_key(|m| Reverse(mvv_lva(*m)));
        let mut best = -INFINITE;
        let mut reply = Vec::new();
        for m in legal {
            let mut next = position.clone();
            next.play_unchecked(m);
            self.count_node()?;
            let value = -self.alpha_beta(&next, depth - 1, ply + 1, window.flipped(), &mut reply)?;
            if value > best {
                best = value;
                pv.clear();
                pv.push(m);
                pv.append(&mut reply);
            }
            window.alpha = window.alpha.max(best);
            if window.alpha >= window.beta {
                break;
            }
        }
        Some(best)
    }
}

/// Most valuable victim, then promotion, then least valuable attacker.
pub fn mvv_lva(m: Move) -> (Option<Role>, Option<Role>, Reverse<Role>) {
    let victim = if m.is_en_passant() { Some(Role::Pawn) } else { m.capture() };
    (victim, m.promotion(), Reverse(m.role()))
}
