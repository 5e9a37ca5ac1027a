//! The state file of a match, which survives a restart.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::lane::LaneGame;
use super::minds::MoveRecord;
use super::order::MatchOrder;
use super::view::{FinishedGame, MatchPhase};
use crate::play::{PlayedGame, Winner};

const FORMAT: &str = "studio-match/1";

#[derive(Debug, Error)]
pub enum SavedMatchError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("it is not a saved match: {0}")]
    Form(#[from] serde_json::Error),
    #[error("it has the format \"{0}\", not \"studio-match/1\"")]
    Version(String),
    #[error("game {0} is wrong: {1}")]
    Game(usize, String),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedLaneGame {
    number: usize,
    opening: String,
    start: Option<String>,
    moves: Vec<String>,
    left_ms: Option<[u64; 2]>,
    #[serde(default)]
    records: Vec<Option<MoveRecord>>,
}

/// Finished games are in the PGN beside the state file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedMatch {
    format: String,
    /// A person's name for the match.
    #[serde(default)]
    pub name: Option<String>,
    pub order: MatchOrder,
    pub phase: MatchPhase,
    /// By game number.
    pub results: BTreeMap<usize, Winner>,
    pub next: usize,
    pub finished: Vec<FinishedGame>,
    pub notice: Option<String>,
    /// Between moves.
    #[serde(default)]
    pub delay_ms: u32,
    unfinished: Vec<SavedLaneGame>,
}

impl SavedMatch {
    /// `unfinished` are the running and the waiting games.
    pub fn new<'a>(
        order: MatchOrder,
        phase: MatchPhase,
        results: BTreeMap<usize, Winner>,
        next: usize,
        unfinished: impl Iterator<Item = &'a LaneGame>,
    ) -> SavedMatch {
        let unfinished = unfinished.map(|live| SavedLaneGame {
            number: live.number,
            opening: live.opening.clone(),
            start: live.game.start().map(str::to_owned),
            moves: live.game.moves().iter().map(|m| m.uci.clone()).collect(),
            left_ms: live.left_ms,
            records: live.records.clone(),
        });
        let unfinished = unfinished.collect();
        let (format, finished, notice) = (FORMAT.to_owned(), Vec::new(), None);
        SavedMatch {
            format,
            name: None,
            order,
            phase,
            results,
            next,
            finished,
            notice,
            delay_ms: 0,
            unfinished,
        }
    }

    pub fn unfinished(&self) -> Result<Vec<LaneGame>, SavedMatchError> {
        let read = |saved: &SavedLaneGame| {
            let wrong = |why: String| SavedMatchError::Game(saved.number, why);
            let mut game = PlayedGame::new(saved.start.clone()).map_err(|error| wrong(error.to_string()))?;
            for text in &saved.moves {
                let m = game.parse(text).map_err(wrong)?;
                game.play(m).map_err(wrong)?;
            }
            let SavedLaneGame { number, opening, left_ms, mut records, .. } = saved.clone();
            records.resize(game.ply(), None);
            Ok(LaneGame { number, opening, game, left_ms, records })
        };
        self.unfinished.iter().map(read).collect()
    }

    pub fn read(path: &Path) -> Result<Option<SavedMatch>, SavedMatchError> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let saved: SavedMatch = serde_json::from_slice(&text)?;
        if saved.format == FORMAT { Ok(Some(saved)) } else { Err(SavedMatchError::Version(saved.format)) }
    }

    pub fn write(&self, path: &Path) -> Result<(), SavedMatchError> {
        Ok(crate::files::write_aside(path, &serde_json::to_vec(self)?)?)
    }
}
