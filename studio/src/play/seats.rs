//! Who plays, a game to begin, and why something cannot be done.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clock::TimeControl;
use super::start::StartChoice;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Seat {
    /// Somebody at the browser.
    Person,
    /// An engine of the roster.
    Engine {
        name: String,
        /// The rating to play at; full strength without one.
        #[serde(default)]
        elo: Option<u32>,
    },
}

impl Seat {
    /// What the player is called.
    pub fn label(&self) -> String {
        match self {
            Seat::Person => "You".to_owned(),
            Seat::Engine { name, elo: None } => name.clone(),
            Seat::Engine { name, elo: Some(elo) } => format!("{name} ({elo})"),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGame {
    pub white: Seat,
    pub black: Seat,
    #[serde(default)]
    pub start: StartChoice,
    /// The clock; none is a game without one.
    #[serde(default)]
    pub clock: Option<TimeControl>,
    /// What engines think per move in a game without a clock, in milliseconds.
    #[serde(default = "one_second")]
    pub move_time_ms: u32,
    /// Also if the game on the board is not over.
    #[serde(default)]
    pub replace: bool,
}

pub(super) fn one_second() -> u32 {
    1000
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ActionError {
    /// It makes no sense: an illegal move, a wrong FEN.
    #[error("{0}")]
    Invalid(String),
    /// It is not possible now: it is not your move, the game is over.
    #[error("{0}")]
    NotNow(String),
}
