//! Minimax: every sequence of moves up to a depth.

use shakmaty::{Chess, Move, Position};

use super::deepening::{Search, ending};
use super::roots::{INFINITE, Value};
use crate::eval::lesson;

impl Search<'_, '_> {
    /// The value of a position for the side to move, `ply` plies from the root, if both play on for `depth`
    /// plies as well as can be; `pv` becomes how. `None` if the search ends before that is known.
    pub(super) fn minimax(
        &mut self,
        position: &Chess,
        depth: u32,
        ply: u32,
        pv: &mut Vec<Move>,
    ) -> Option<Value> {
        pv.clear();
        let legal = position.legal_moves();
        if let Some(value) = ending(position, &legal, ply) {
            return Some(value);
        }
        if depth == 0 {
            return Some(lesson::for_mover(position));
        }
        let mut best = -INFINITE;
        let mut reply = Vec::new();
        for m in legal {
            let mut next = position.clone();
            next.play_unchecked(m);
            self.count()?;
            let value = -self.minimax(&next, depth - 1, ply + 1, &mut reply)?;
            if value > best {
                best = value;
                pv.clear();
                pv.push(m);
                pv.append(&mut reply);
            }
        }
        Some(best)
    }
}
