//! A match as JSON for the page.

use engine::apps::matches::Sprt;
use serde::{Deserialize, Serialize};

use super::lane::LaneGame;
use super::order::MatchOrder;
use super::standing::Standing;
use crate::boards::LiveBoard;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchPhase {
    Playing,
    /// No new game begins.
    Finishing,
    Suspended,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedGame {
    /// From 0.
    pub number: usize,
    pub white: String,
    pub black: String,
    pub opening: String,
    /// As in PGN.
    pub result: String,
    pub text: String,
    pub plies: usize,
}

/// The clocks of a game while it is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockView {
    /// White, Black: at the begin of the search.
    pub left_ms: [u64; 2],
    /// 0 for White, 1 for Black; `None` while both stand still.
    pub running: Option<usize>,
    /// Of the running search.
    pub ms: u64,
}

impl ClockView {
    /// `None` for a game without a clock.
    pub fn standing(game: &LaneGame) -> Option<ClockView> {
        game.left_ms.map(|left_ms| ClockView { left_ms, running: None, ms: 0 })
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct MatchView {
    /// Another number is another match.
    pub edition: u64,
    /// A person's name for the match.
    pub name: Option<String>,
    pub phase: MatchPhase,
    pub order: MatchOrder,
    pub sprt: Option<Sprt>,
    pub standing: Standing,
    pub boards: Vec<String>,
    pub finished: Vec<FinishedGame>,
    /// Between moves.
    pub delay_ms: u32,
    /// An error, or why the match has ended.
    pub notice: Option<String>,
}

pub fn names(order: &MatchOrder, first_is_white: bool) -> [String; 2] {
    let (first, second) = (order.first.clone(), order.second.clone());
    if first_is_white { [first, second] } else { [second, first] }
}

pub fn board(order: &MatchOrder, live: &LaneGame) -> LiveBoard {
    let [white, black] = names(order, live.first_is_white());
    let last = live.game.moves().last();
    LiveBoard {
        white,
        black,
        title: format!("Game {}: {}", live.number + 1, live.opening),
        fen: live.game.game().fen(),
        last: last.map(|m| m.uci.clone()),
        san: last.map(|m| m.san.clone()),
        check: last.is_some_and(|m| m.check),
        ply: live.game.ply(),
        left_ms: live.left_ms,
        end: None,
    }
}
