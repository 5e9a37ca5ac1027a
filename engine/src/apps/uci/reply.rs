//! The last lines of a search.

use std::time::Duration;

use shakmaty::{Move, Position};

use crate::chess::position::Game;

/// The last lines of a search: its final report and its `bestmove`.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The `info` lines.
    pub infos: Vec<String>,
    /// The `bestmove` line.
    pub bestmove: String,
}

impl Reply {
    /// The reply in a position without a legal move.
    pub fn no_move(game: &Game) -> Reply {
        let score = if game.position().is_check() { "mate 0" } else { "cp 0" };
        let info = format!(
            "info depth 0 seldepth 0 multipv 1 score {score} nodes 0 nps 0 hashfull 0 tbhits 0 time 0"
        );
        Reply { infos: vec![info], bestmove: "bestmove (none)".to_owned() }
    }

    /// The reply where no position is known.
    pub fn no_position() -> Reply {
        Reply { infos: Vec::new(), bestmove: "bestmove (none)".to_owned() }
    }

    /// A move that was not searched: from the book, or a legal move after a failed search.
    pub fn unsearched(m: Move, chess960: bool, time: Duration) -> Reply {
        let best = Game::uci(m, chess960);
        let ms = time.as_millis();
        let info = format!(
            "info depth 1 seldepth 1 multipv 1 score cp 0 nodes 0 nps 0 hashfull 0 tbhits 0 time {ms} pv {best}"
        );
        Reply { infos: vec![info], bestmove: format!("bestmove {best}") }
    }
}
