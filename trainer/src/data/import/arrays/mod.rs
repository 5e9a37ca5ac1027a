//! Files of arrays: a game in NumPy's format, or positions with targets in HDF5.

mod npy;
mod planes;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::blocks::is_regular;
use super::pgn::{BrokenGame, Exclusion, GameError, ParsedGame};
use super::reader::Filters;
use crate::data::record::{EvalCounts, GameRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayFile {
    Npy,
    Hdf5,
}

impl ArrayFile {
    /// By the first bytes; `None` for other files, pipes and what cannot be opened.
    pub fn detect(path: &Path) -> Option<ArrayFile> {
        let mut head = Vec::new();
        if is_regular(path)
            && let Ok(file) = File::open(path)
        {
            // What cannot be read is reported when the file is opened as text.
            _ = file.take(6).read_to_end(&mut head);
        }
        match head.as_slice() {
            npy::MAGIC => Some(ArrayFile::Npy),
            [0x89, b'H', b'D', b'F', ..] => Some(ArrayFile::Hdf5),
            _ => None,
        }
    }

    /// Whether the file has games or positions, by types and shapes. An error says what was found and is expected.
    pub fn check(self, path: &Path) -> Result<(), String> {
        match self {
            ArrayFile::Npy => npy::check(path),
            ArrayFile::Hdf5 => planes::PlaneFile::open(path).map(drop),
        }
    }

    /// Passes the games in batches to `send`, with the share of the file that is read, until it returns false.
    pub fn games(
        self,
        path: &Path,
        filters: &Filters,
        mut send: impl FnMut(Vec<ParsedGame>, f64) -> bool,
    ) -> Result<(), String> {
        match self {
            ArrayFile::Npy => npy::game(path, filters).map(|game| _ = send(vec![game], 1.0)),
            ArrayFile::Hdf5 => planes::PlaneFile::open(path)?.games(filters, send),
        }
    }
}

/// A game that begins at row `first` and has a fault at `row`. Rows count from 0, as in NumPy and h5py.
fn broken(first: usize, row: usize, error: GameError) -> ParsedGame {
    ParsedGame::Broken(BrokenGame { unit: "row", game_line: first as u64, line: row as u64, error })
}

/// Arrays have no results, so a game without one is kept.
fn filtered(game: GameRecord, filters: &Filters) -> ParsedGame {
    let why = filters.exclude_ratings(0, 0).or_else(|| filters.exclude(&game));
    match why.filter(|why| *why != Exclusion::NoResult) {
        Some(why) => ParsedGame::Excluded(why),
        None => ParsedGame::Game(game, EvalCounts::default()),
    }
}

#[cfg(test)]
mod tests;
