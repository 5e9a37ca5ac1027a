use shakmaty::{Board, Color, Move, Position};

use crate::chess::position::Game;

/// A move that we made, to recognise our next turn in the same game.
#[derive(Debug)]
pub struct MadeMove {
    mover: Color,
    /// Plies before the move.
    ply: usize,
    /// The board after the move.
    board: Board,
}

impl MadeMove {
    pub fn new(game: &Game, m: Move) -> MadeMove {
        let mut after = game.clone();
        after.play(m);
        MadeMove { mover: game.turn(), ply: game.ply(), board: after.position().board().clone() }
    }

    /// Returns whether `game` is this move plus exactly one reply.
    pub fn is_before(&self, game: &Game) -> bool {
        self.mover == game.turn()
            && self.ply + 2 == game.ply()
            && game.past().last().is_some_and(|past| past.board == self.board)
    }
}
