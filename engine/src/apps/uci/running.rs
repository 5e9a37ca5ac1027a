//! The state of a search between `go` and `bestmove`.

use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use shakmaty::Move;

use super::observer::{FinishedSearch, SearchHandle};
use super::reply::Reply;
use crate::chess::position::Game;
use crate::search::time::Clock;
use crate::search::{MoveStats, Report};
use crate::setup::strength::{self, Strength};

#[derive(Default)]
pub enum Activity {
    #[default]
    Idle,
    Searching(Box<RunningSearch>),
    /// `bestmove` waits for `stop` or `ponderhit`.
    Withheld {
        /// Its `info` lines are written already.
        reply: Reply,
        mode: GoMode,
    },
}

/// Modes of `go` in which `bestmove` waits for the GUI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoMode {
    /// Until `stop`.
    pub infinite: bool,
    /// Until `stop` or `ponderhit`.
    pub ponder: bool,
}

impl GoMode {
    pub fn withholds_bestmove(self) -> bool {
        self.infinite || self.ponder
    }
}

pub struct RunningSearch {
    pub root: Game,
    pub at: Instant,
    /// Our clock, if it has run since `at`.
    pub clock: Option<Clock>,
    pub longest: Duration,
    pub strength: Option<Strength>,
    /// Of the move choice; `None` plays the best move.
    pub temperature: Option<f32>,
    /// Closes without a message if the search panics.
    pub finished: Receiver<FinishedSearch>,
    pub handle: SearchHandle,
    pub mode: GoMode,
    /// Played if the search panicked or found no move; legal.
    pub fallback: Move,
}

impl RunningSearch {
    /// The index of the root move to play. `report` and `stats` have the same order, best first.
    pub fn choose(&self, report: &Report, stats: &[MoveStats], seed: u64) -> usize {
        match (self.strength, self.temperature) {
            (Some(strength), _) => strength.choose(report, seed),
            (None, Some(temperature)) => strength::draw(stats, temperature, seed),
            (None, None) => 0,
        }
    }
}
