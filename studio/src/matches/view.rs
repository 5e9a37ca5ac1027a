//! A match as the page receives it.

use engine::apps::matches::Sprt;
use serde::{Deserialize, Serialize};

use super::lane::LaneGame;
use super::order::MatchOrder;
use super::standing::Standing;
use crate::boards::LiveBoard;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchPhase {
    /// It is played.
    Playing,
    /// The games that are running are finished, no others are begun.
    Finishing,
    /// It can be resumed, with the games that were running.
    Suspended,
    /// It is over.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedGame {
    /// Its number, from 0.
    pub number: usize,
    pub white: String,
    pub black: String,
    pub opening: String,
    /// As PGN writes it.
    pub result: String,
    pub text: String,
    pub plies: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct MatchView {
    pub phase: MatchPhase,
    pub order: MatchOrder,
    /// The test, with its bounds on Elo.
    pub sprt: Option<Sprt>,
    pub standing: Standing,
    /// The names of the boards that are being played on.
    pub boards: Vec<String>,
    pub finished: Vec<FinishedGame>,
    /// What went wrong, or why it has ended.
    pub notice: Option<String>,
}

/// White's and Black's names.
pub fn names(order: &MatchOrder, first_is_white: bool) -> [String; 2] {
    let (first, second) = (order.first.clone(), order.second.clone());
    if first_is_white { [first, second] } else { [second, first] }
}

/// The board of a running game.
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
