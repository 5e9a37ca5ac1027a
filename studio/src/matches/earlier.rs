//! Earlier matches: the state file and the PGN of each, `match.1.json` and `match.1.pgn` beside `match.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::saved::SavedMatch;
use super::standing::results;
use super::view::MatchPhase;
use crate::files::modified_s;

#[derive(Clone, Debug, Serialize)]
pub struct EarlierMatch {
    pub number: u32,
    pub first: String,
    pub second: String,
    /// Planned.
    pub games: u32,
    pub played: usize,
    /// Points of the first engine.
    pub points: f64,
    pub suspended: bool,
    /// Seconds since 1970.
    pub modified_s: u64,
}

const ENDINGS: [&str; 2] = ["json", "pgn"];

fn numbered(state: &Path, number: u32, ending: &str) -> PathBuf {
    state.with_extension(format!("{number}.{ending}"))
}

pub(super) fn state_of(state: &Path, number: u32) -> PathBuf {
    numbered(state, number, "json")
}

pub(super) fn pgn_of(state: &Path, number: u32) -> PathBuf {
    numbered(state, number, "pgn")
}

/// Gives the present match the first free number. Does nothing without one.
pub(super) fn set_aside(state: &Path) -> io::Result<()> {
    let is_free = |number: &u32| ENDINGS.iter().all(|ending| !numbered(state, *number, ending).exists());
    let number = (1..).find(is_free).expect("numbers do not end");
    for ending in ENDINGS {
        rename(&state.with_extension(ending), &numbered(state, number, ending))?;
    }
    Ok(())
}

/// Makes an earlier match the present one.
pub(super) fn take_out(state: &Path, number: u32) -> io::Result<()> {
    for ending in ENDINGS {
        rename(&numbered(state, number, ending), &state.with_extension(ending))?;
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The latest first. Damaged files are left out.
pub(super) fn list(state: &Path) -> Vec<EarlierMatch> {
    let stem = state.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = state.parent().unwrap_or(Path::new("."));
    let number_of = |path: &Path| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(".json")?.parse().ok()
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| -> Option<EarlierMatch> {
        let number = number_of(&path)?;
        let SavedMatch { order, phase, results: by_number, .. } = SavedMatch::read(&path).ok()??;
        let [wins, draws, _] = results(&by_number).games;
        Some(EarlierMatch {
            number,
            first: order.first,
            second: order.second,
            games: order.games,
            played: by_number.len(),
            points: wins as f64 + draws as f64 / 2.0,
            suspended: phase != MatchPhase::Ended,
            modified_s: modified_s(&path)?,
        })
    };
    let mut matches: Vec<EarlierMatch> = entries.filter_map(|entry| read(entry.path())).collect();
    matches.sort_by_key(|earlier| std::cmp::Reverse((earlier.modified_s, earlier.number)));
    matches
}
