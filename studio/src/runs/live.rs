//! `live.json`: the live boards and the planned end of an `rl` run.

use std::path::Path;
use std::time::SystemTime;

use engine::chess::position::Game;
use serde::Deserialize;
use shakmaty::Position;
use shakmaty::san::SanPlus;

use crate::boards::LiveBoard;

const FORMAT: &str = "philidor-live/1";

const MOST_BOARDS: usize = 16;

/// In bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
struct LiveFile {
    format: String,
    #[serde(default)]
    iterations: Option<u64>,
    #[serde(default)]
    until_s: Option<f64>,
    boards: Vec<LiveFileBoard>,
}

#[derive(Debug, Deserialize)]
struct LiveFileBoard {
    game: u64,
    white: String,
    black: String,
    before: String,
    last: String,
    ply: usize,
}

#[derive(Debug, Default)]
pub struct LiveFollower {
    modified: Option<SystemTime>,
    /// With their game numbers.
    pub boards: Vec<(u64, LiveBoard)>,
    /// The last iteration of a limited run.
    pub iterations: Option<u64>,
    /// The end of a limited run, in seconds since 1970.
    pub until_s: Option<f64>,
}

impl LiveFollower {
    /// Whether anything changed.
    pub fn poll(&mut self, folder: &Path) -> bool {
        let path = folder.join("live.json");
        let Ok(metadata) = path.metadata() else {
            return !std::mem::take(&mut self.boards).is_empty();
        };
        let modified = metadata.modified().ok();
        if modified == self.modified || metadata.len() > LARGEST {
            return false;
        }
        let file = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<LiveFile>(&text).ok());
        let Some(file) = file.filter(|file| file.format == FORMAT) else { return false };
        self.modified = modified;
        (self.iterations, self.until_s) = (file.iterations, file.until_s);
        let boards = file.boards.into_iter().take(MOST_BOARDS);
        self.boards = boards.filter_map(|board| Some((board.game, read_board(board)?))).collect();
        true
    }

    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

fn read_board(board: LiveFileBoard) -> Option<LiveBoard> {
    let mut game = Game::from_fen(&board.before).ok()?;
    let m = game.parse_uci(&board.last).ok()?;
    let san = SanPlus::from_move(game.position().clone(), m).to_string();
    game.play(m);
    Some(LiveBoard {
        white: board.white,
        black: board.black,
        title: format!("Game {}", board.game + 1),
        fen: game.fen(),
        last: Some(board.last),
        san: Some(san),
        check: game.position().is_check(),
        ply: board.ply,
        left_ms: None,
        end: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_read_and_an_unknown_version_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.json");
        let mut live = LiveFollower::default();
        assert!(!live.poll(folder.path()));
        let before = Game::new().fen();
        let text = |format: &str, last: &str| {
            format!(
                "{{\"format\":\"{format}\",\"iterations\":9,\"until_s\":null,\"boards\":[{{\"game\":4,\"white\":\"start\",\
                 \"black\":\"start\",\"before\":\"{before}\",\"last\":\"{last}\",\"ply\":1}}]}}"
            )
        };
        std::fs::write(&path, text("philidor-live/2", "e2e4")).unwrap();
        assert!(!live.poll(folder.path()));
        std::fs::write(&path, text(FORMAT, "e2e4")).unwrap();
        assert!(live.poll(folder.path()) && !live.poll(folder.path()));
        assert_eq!(
            (live.boards[0].0, live.boards[0].1.san.as_deref(), live.iterations),
            (4, Some("e4"), Some(9))
        );
        std::fs::remove_file(&path).unwrap();
        assert!(live.poll(folder.path()) && live.boards.is_empty());
    }
}
