use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clock::TimeControl;
use super::levels::Level;
use super::start::StartChoice;

/// A person's name in games.
pub const PERSON: &str = "You";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Seat {
    Person,
    Engine {
        name: String,
        /// `None` is full strength.
        #[serde(default)]
        elo: Option<u32>,
        /// A named strength, in place of `elo`.
        #[serde(default)]
        level: Option<Level>,
    },
}

impl Seat {
    pub fn is_person(&self) -> bool {
        matches!(self, Seat::Person)
    }

    pub fn label(&self) -> String {
        match self {
            Seat::Person => PERSON.to_owned(),
            Seat::Engine { name, level: Some(level), .. } => level.label(name),
            Seat::Engine { name, elo: None, .. } => name.clone(),
            Seat::Engine { name, elo: Some(elo), .. } => format!("{name} ({elo})"),
        }
    }

    pub fn engine(name: &str) -> Seat {
        Seat::Engine { name: name.to_owned(), elo: None, level: None }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGame {
    pub white: Seat,
    pub black: Seat,
    #[serde(default)]
    pub start: StartChoice,
    #[serde(default)]
    pub clock: Option<TimeControl>,
    /// Milliseconds per engine move in a game without a clock.
    #[serde(default = "one_second")]
    pub move_time_ms: u32,
    /// The board to begin on if it is empty.
    #[serde(default)]
    pub here: Option<u32>,
}

pub(super) fn one_second() -> u32 {
    1000
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ActionError {
    /// Never valid: an illegal move, an invalid FEN.
    #[error("{0}")]
    Invalid(String),
    /// Not possible now: not your move, the game is over.
    #[error("{0}")]
    NotNow(String),
}
