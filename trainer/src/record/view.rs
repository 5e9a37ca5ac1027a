//! A stored game as it is read: borrowed columns of a file of games.

use engine::position::{Game, PositionError};

use super::search::SearchView;

/// A game as a sampler reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameView<'a> {
    /// The start as a FEN; `None` is the initial position.
    pub start: Option<&'a str>,
    /// The moves, packed as in `games/1`.
    pub moves: &'a [u16],
    /// One per move, as in `games/1`; empty for a game without evaluations.
    pub evals: &'a [i16],
    /// White's: 1, 0, −1, or 2 for unknown.
    pub result: i8,
    /// A puzzle: its solver's moves, plies 0, 2, 4 …, are to be learnt, the opponent's aren't.
    pub puzzle: bool,
    /// Of a self-played game what the searches said: then plies with a recorded policy alone are to be learnt.
    pub searches: SearchView<'a>,
}

/// A game from the initial position without moves, of which nothing is known.
impl Default for GameView<'_> {
    fn default() -> Self {
        GameView { start: None, moves: &[], evals: &[], result: 2, puzzle: false, searches: SearchView::NONE }
    }
}

/// Why a game can't be replayed: it was damaged after its import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedGame {
    /// The ply that is not a legal move, or 0 if the start is no position.
    pub ply: usize,
}

impl std::fmt::Display for DamagedGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no legal move at ply {}", self.ply)
    }
}

impl GameView<'_> {
    /// The position that the game starts from.
    ///
    /// # Errors
    ///
    /// If its FEN is no position.
    pub fn initial(&self) -> Result<Game, PositionError> {
        self.start.map_or_else(|| Ok(Game::new()), Game::from_fen)
    }

    /// Number of plies that a sample can be taken of.
    pub fn targets(&self) -> usize {
        if !self.searches.is_empty() {
            return self.searches.len.iter().filter(|len| **len > 0).count();
        }
        if self.puzzle { self.moves.len().div_ceil(2) } else { self.moves.len() }
    }

    /// The ply of the `index`-th of them.
    pub fn target_ply(&self, index: usize) -> usize {
        if !self.searches.is_empty() {
            let mut recorded = (0..self.moves.len()).filter(|ply| self.searches.is_recorded(*ply));
            return recorded.nth(index).expect("one of as many as there are");
        }
        if self.puzzle { 2 * index } else { index }
    }
}
