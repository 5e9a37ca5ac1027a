//! Earlier matches: the state file and the PGN of each, `match.1.json` and `match.1.pgn` beside `match.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::saved::{SavedMatch, SavedMatchError};
use super::standing::results;
use super::view::MatchPhase;
use crate::files::modified_s;

#[derive(Clone, Debug, Serialize)]
pub struct EarlierMatch {
    pub number: u32,
    pub name: Option<String>,
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

/// The same match in the folder `deleted`.
fn deleted(state: &Path, number: u32, ending: &str) -> PathBuf {
    let file = numbered(state, number, ending);
    let folder = file.parent().unwrap_or(Path::new(".")).join("deleted");
    folder.join(file.file_name().expect("it has a name"))
}

/// Gives the present match the first number that no match has, not even a deleted one. Does nothing without one.
pub(super) fn set_aside(state: &Path) -> io::Result<()> {
    let is_free = |number: &u32| {
        let files = |ending| [numbered(state, *number, ending), deleted(state, *number, ending)];
        ENDINGS.iter().flat_map(|ending| files(ending)).all(|file| !file.exists())
    };
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

/// A person's name for the match. The time of its last change stays.
pub(super) fn rename_match(state: &Path, number: u32, name: Option<String>) -> Result<(), SavedMatchError> {
    let file = state_of(state, number);
    let modified = file.metadata()?.modified()?;
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mut saved = SavedMatch::read(&file)?.ok_or_else(gone)?;
    saved.name = name;
    saved.write(&file)?;
    Ok(std::fs::File::options().write(true).open(&file)?.set_modified(modified)?)
}

pub(super) fn delete(state: &Path, number: u32) -> io::Result<()> {
    // Without it there is nothing to delete.
    state_of(state, number).metadata()?;
    for ending in ENDINGS {
        let to = deleted(state, number, ending);
        std::fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
        rename(&numbered(state, number, ending), &to)?;
    }
    Ok(())
}

pub(super) fn restore(state: &Path, number: u32) -> io::Result<()> {
    deleted(state, number, "json").metadata()?;
    for ending in ENDINGS {
        rename(&deleted(state, number, ending), &numbered(state, number, ending))?;
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
        let SavedMatch { name, order, phase, results: by_number, .. } = SavedMatch::read(&path).ok()??;
        let [wins, draws, _] = results(&by_number).games;
        Some(EarlierMatch {
            number,
            name,
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
