//! Writes the current boards to `live.json` in the run's folder, for spectators. The state is global, so that games
//! need no handle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use engine::chess::position::Game;
use serde_json::{Value, json};
use shakmaty::Move;

const FORMAT: &str = "philidor-live/1";

/// How many boards are shown, and for how long after their last move.
const MOST_BOARDS: usize = 8;
const SHOWN_FOR: Duration = Duration::from_secs(5);

const WRITE_EVERY: Duration = Duration::from_millis(500);

static LIVE: Mutex<Option<LiveBoards>> = Mutex::new(None);

struct LiveBoards {
    path: PathBuf,
    /// Iteration and time at which the run ends, if known.
    iterations: Option<u64>,
    until_s: Option<f64>,
    /// By game number, with the time of the last move.
    boards: BTreeMap<u64, (Instant, Value)>,
    written: Option<Instant>,
}

/// Starts publishing boards in a run's folder, with the planned end of the run: `iterations` or the time `until`.
pub fn begin(folder: &Path, iterations: Option<u64>, until: Option<SystemTime>) {
    let since_1970 = |time: SystemTime| Some(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64());
    let live = LiveBoards {
        path: folder.join("live.json"),
        iterations,
        until_s: until.and_then(since_1970),
        boards: BTreeMap::new(),
        written: None,
    };
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
}

pub fn end() {
    if let Some(live) = LIVE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // The file is absent if nothing was played.
        _ = std::fs::remove_file(live.path);
    }
}

/// `players` are White and Black, `game` is the position before the move, `ply` counts from 1.
pub fn moved(number: u64, players: [&str; 2], game: &Game, m: Move, ply: usize) {
    // If another thread holds the lock, this board is updated at its next move.
    if let Ok(mut live) = LIVE.try_lock()
        && let Some(live) = live.as_mut()
    {
        live.moved(number, players, game, m, ply);
    }
}

impl LiveBoards {
    fn moved(&mut self, number: u64, [white, black]: [&str; 2], game: &Game, m: Move, ply: usize) {
        let now = Instant::now();
        self.boards.retain(|_, (at, _)| now.duration_since(*at) < SHOWN_FOR);
        if self.boards.len() >= MOST_BOARDS && !self.boards.contains_key(&number) {
            return;
        }
        let board = json!({
            "game": number, "white": white, "black": black,
            "before": game.fen(), "last": Game::uci(m, false), "ply": ply,
        });
        self.boards.insert(number, (now, board));
        if self.written.is_none_or(|at| now.duration_since(at) >= WRITE_EVERY) {
            self.written = Some(now);
            self.write();
        }
    }

    /// Atomic, but not flushed to disk, because the file is soon outdated.
    fn write(&self) {
        let boards: Vec<&Value> = self.boards.values().map(|(_, board)| board).collect();
        let text = json!({
            "format": FORMAT, "iterations": self.iterations, "until_s": self.until_s, "boards": boards,
        });
        let aside = self.path.with_extension("json.tmp");
        let written = std::fs::write(&aside, text.to_string());
        if let Err(error) = written.and_then(|()| std::fs::rename(&aside, &self.path)) {
            log::debug!("{}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_boards_are_written_and_no_more_than_twice_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.json");
        let mut live = LiveBoards {
            path: path.clone(),
            iterations: Some(9),
            until_s: None,
            boards: BTreeMap::new(),
            written: None,
        };
        let game = Game::new();
        let m = game.parse_uci("e2e4").unwrap();
        live.moved(70, ["a", "b"], &game, m, 1);
        let read = || serde_json::from_str::<Value>(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let first = read();
        assert_eq!((&first["format"], &first["iterations"]), (&FORMAT.into(), &9.into()));
        assert_eq!((&first["boards"][0]["last"], &first["boards"][0]["ply"]), (&"e2e4".into(), &1.into()));
        (0..100).for_each(|number| live.moved(number, ["a", "b"], &game, m, 1));
        assert_eq!((live.boards.len(), read()), (MOST_BOARDS, first), "half a second has not passed");
        live.written = None;
        live.moved(70, ["a", "b"], &game, m, 3);
        assert_eq!(read()["boards"].as_array().unwrap().len(), MOST_BOARDS);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left aside");
    }
}
