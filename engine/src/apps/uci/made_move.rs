use shakmaty::{Board, Color, Move, Position};

use crate::chess::position::Game;

/// Our last move, to recognise our next turn in the same game.
#[derive(Debug)]
pub struct MadeMove {
    mover: Color,
    ply: usize,
    /// After the move.
    board: Board,
}

impl MadeMove {
    pub fn new(game: &Game, m: Move) -> MadeMove {
        let mut after = game.clone();
        after.play(m);
        MadeMove { mover: game.turn(), ply: game.ply(), board: after.position().board().clone() }
    }

    /// Whether exactly one reply leads from the move to `game`.
    pub fn is_before(&self, game: &Game) -> bool {
        self.mover == game.turn()
            && self.ply + 2 == game.ply()
            && game.past().last().is_some_and(|past| past.board == self.board)
    }
}
