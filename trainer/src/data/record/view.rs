use engine::chess::position::{Game, PackedMove, PositionError};
use shakmaty::Position;
use thiserror::Error;

use super::search::SearchView;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameView<'a> {
    /// FEN; `None` is the initial position.
    pub start: Option<&'a str>,
    pub moves: &'a [u16],
    /// `[plies]`; empty for a game without evaluations.
    pub evals: &'a [i16],
    /// For White: 1, 0, −1, or 2 for unknown.
    pub result: i8,
    /// In a puzzle only the solver's moves, plies 0, 2, 4 …, are targets.
    pub puzzle: bool,
    /// In a game with searches only plies with a recorded policy are targets.
    pub searches: SearchView<'a>,
}

impl Default for GameView<'_> {
    fn default() -> Self {
        GameView { start: None, moves: &[], evals: &[], result: 2, puzzle: false, searches: SearchView::NONE }
    }
}

/// A game that cannot be replayed; `import` never writes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no legal move at ply {ply}")]
pub struct DamagedGame {
    /// 0 also if the start is not a legal position.
    pub ply: usize,
}

impl GameView<'_> {
    pub fn initial(&self) -> Result<Game, PositionError> {
        self.start.map_or_else(|| Ok(Game::new()), Game::from_fen)
    }

    /// Checks that all moves, and those of the searches, are legal.
    pub fn check_moves(&self) -> Result<(), DamagedGame> {
        let mut position = self.initial().map_err(|_| DamagedGame { ply: 0 })?.position().clone();
        for (ply, packed) in self.moves.iter().enumerate() {
            let legal = |packed: u16| PackedMove(packed).to_move(&position).ok_or(DamagedGame { ply });
            self.searches.shares(ply).try_for_each(|(packed, _)| legal(packed).map(drop))?;
            let m = legal(*packed)?;
            position.play_unchecked(m);
        }
        Ok(())
    }

    pub fn targets(&self) -> usize {
        if !self.searches.is_empty() {
            return self.searches.len.iter().filter(|len| **len > 0).count();
        }
        if self.puzzle { self.moves.len().div_ceil(2) } else { self.moves.len() }
    }

    pub fn target_ply(&self, index: usize) -> usize {
        if !self.searches.is_empty() {
            let mut recorded = (0..self.moves.len()).filter(|ply| self.searches.is_recorded(*ply));
            return recorded.nth(index).expect("an index below the number of targets");
        }
        if self.puzzle { 2 * index } else { index }
    }
}
