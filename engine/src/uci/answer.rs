//! The last lines of a search.

use std::time::Duration;

use shakmaty::{Move, Position};

use crate::position::Game;

/// The last lines of a search.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What is found, in `info` lines.
    pub infos: Vec<String>,
    /// The line that ends it.
    pub bestmove: String,
}

impl Answer {
    /// Where there is nothing to play.
    pub fn no_move(game: &Game) -> Answer {
        let score = if game.position().is_check() { "mate 0" } else { "cp 0" };
        let info = format!(
            "info depth 0 seldepth 0 multipv 1 score {score} nodes 0 nps 0 hashfull 0 tbhits 0 time 0"
        );
        Answer { infos: vec![info], bestmove: "bestmove (none)".to_owned() }
    }

    /// Where the search has none: a legal move.
    pub fn makeshift(m: Move, chess960: bool, time: Duration) -> Answer {
        let best = Game::uci(m, chess960);
        let ms = time.as_millis();
        let info = format!(
            "info depth 1 seldepth 1 multipv 1 score cp 0 nodes 0 nps 0 hashfull 0 tbhits 0 time {ms} pv {best}"
        );
        Answer { infos: vec![info], bestmove: format!("bestmove {best}") }
    }
}
