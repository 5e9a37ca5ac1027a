//! Alpha-beta: minimax without what can't change its result (Knuth, Moore: An Analysis of Alpha-Beta Pruning,
//! 1975).

use std::cmp::Reverse;

use shakmaty::{Chess, Move, Position, Role};

use super::deepening::{Search, ending};
use super::roots::{INFINITE, Value};
use crate::eval::lesson;

/// What both sides are already sure of, for the side to move: it has `alpha` elsewhere, and the opponent won't
/// let it have more than `beta`.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Less than this is of no use.
    pub alpha: Value,
    /// As much as this won't be allowed.
    pub beta: Value,
}

impl Window {
    /// The same for the other side.
    fn flipped(self) -> Window {
        Window { alpha: -self.beta, beta: -self.alpha }
    }
}

impl Search<'_, '_> {
    /// Like minimax, as far as the value lies inside the window; outside it is a bound on the same side of the
    /// window as the true one.
    pub(super) fn alpha_beta(
        &mut self,
        position: &Chess,
        depth: u32,
        ply: u32,
        mut window: Window,
        pv: &mut Vec<Move>,
    ) -> Option<Value> {
        pv.clear();
        let mut legal = position.legal_moves();
        if let Some(value) = ending(position, &legal, ply) {
            return Some(value);
        }
        if depth == 0 {
            return Some(lesson::for_mover(position));
        }
        legal.sort_by_key(|m| Reverse(promise(*m)));
        let mut best = -INFINITE;
        let mut reply = Vec::new();
        for m in legal {
            let mut next = position.clone();
            next.play_unchecked(m);
            self.count()?;
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

/// Captures and promotions come first: the most valuable victim, taken by the least valuable piece.
pub fn promise(m: Move) -> (Option<Role>, Option<Role>, Reverse<Role>) {
    let victim = if m.is_en_passant() { Some(Role::Pawn) } else { m.capture() };
    (victim, m.promotion(), Reverse(m.role()))
}
