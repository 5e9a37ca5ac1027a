use engine::chess::position::PackedMove;
use shakmaty::Move;

use super::{UciPosition, position_after};
use crate::data::import::start_position;

/// Plies stored before the first labelled position. Networks read recent moves and repetitions, as in a search.
const HISTORY: usize = 8;

/// A position and the moves to it.
#[derive(Clone, Debug)]
pub struct Walk {
    /// FEN, `None` for the initial position.
    start: Option<String>,
    moves: Vec<PackedMove>,
    pub position: UciPosition,
}

/// `moves` are no labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameStart {
    pub fen: Option<String>,
    pub moves: Vec<PackedMove>,
}

impl Walk {
    /// `start` must have been checked.
    pub fn new(start: Option<String>) -> Walk {
        Walk::along(start, &[])
    }

    pub fn along(start: Option<String>, moves: &[PackedMove]) -> Walk {
        let position = position_after(start.as_deref(), moves.iter().copied());
        Walk { start, moves: moves.to_vec(), position }
    }

    pub fn play(&mut self, m: Move) {
        self.moves.push(PackedMove::new(m));
        self.position.play(m);
    }

    /// FEN, `None` for the initial position.
    pub fn fen(&self) -> Option<String> {
        start_position(&self.position.game.fen()).expect("a position that was reached").0
    }

    /// Keeps only the last [`HISTORY`] plies.
    pub fn game_start(self) -> GameStart {
        let before = self.moves.len().saturating_sub(HISTORY);
        if before == 0 {
            return GameStart { fen: self.start, moves: self.moves };
        }
        let fen = Walk::along(self.start, &self.moves[..before]).fen();
        GameStart { fen, moves: self.moves[before..].to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_lies_a_few_plies_before_the_position() {
        let mut walk = Walk::new(None);
        for ply in 0..20 {
            assert_eq!(walk.clone().game_start().moves.len(), ply.min(HISTORY));
            let legal = walk.position.game.legal_moves();
            walk.play(legal[ply % legal.len()]);
        }
        let start = walk.clone().game_start();
        let again = Walk::along(start.fen.clone(), &start.moves);
        assert_eq!(again.position.game.fen(), walk.position.game.fen());
        assert!(start.fen.is_some() && again.position.game.past().len() >= HISTORY);
    }
}
