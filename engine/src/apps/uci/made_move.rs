//! A move that was made, and whether a later position follows from it.

use shakmaty::{Board, Color, Move, Position};

use crate::chess::position::Game;

/// A move of a game, to recognise the own next turn in the same game.
#[derive(Debug)]
pub struct MadeMove {
    mover: Color,
    /// Plies played before it.
    ply: usize,
    /// The board after it.
    board: Board,
}

impl MadeMove {
    pub fn new(game: &Game, m: Move) -> MadeMove {
        let mut after = game.clone();
        after.play(m);
        MadeMove { mover: game.turn(), ply: game.ply(), board: after.position().board().clone() }
    }

    /// Whether `game` continues this move by exactly one reply.
    pub fn is_before(&self, game: &Game) -> bool {
        self.mover == game.turn()
            && self.ply + 2 == game.ply()
            && game.past().last().is_some_and(|past| past.board == self.board)
    }
}
