use shakmaty::{Chess, Move, Position};

use super::deepening::{DepthSearch, terminal_value};
use super::root_moves::{INFINITE, MinimaxValue};
use crate::nets::eval::material;

impl DepthSearch<'_, '_> {
    /// Value for the side to move; `ply` counts from the root. `None` if the search was stopped.
    pub(super) fn minimax(
        &mut self,
        position: &Chess,
        depth: u32,
        ply: u32,
        pv: &mut Vec<Move>,
    ) -> Option<MinimaxValue> {
        pv.clear();
        let legal = position.legal_moves();
        if let Some(value) = terminal_value(position, &legal, ply) {
            return Some(value);
        }
        if depth == 0 {
            return Some(material::for_mover(position));
        }
        let mut best = -INFINITE;
        let mut reply = Vec::new();
        for m in legal {
            let mut next = position.clone();
            next.play_unchecked(m);
            self.count_node()?;
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
