//! A search between its `go` and its `bestmove`.

use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use shakmaty::Move;

use super::observer::{FinishedSearch, SearchHandle};
use super::reply::Reply;
use crate::chess::position::Game;
use crate::search::time::Clock;
use crate::search::{MoveStats, Report};
use crate::setup::strength::{self, Strength};

/// What a session is doing.
#[derive(Default)]
pub enum Activity {
    #[default]
    Idle,
    Searching(Box<RunningSearch>),
    /// A search has ended, but its `bestmove` waits for `stop` or `ponderhit`.
    Withheld {
        /// The reply to be given; its `info` lines have been.
        reply: Reply,
        mode: GoMode,
    },
}

/// The modes of `go` in which `bestmove` must wait for the GUI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoMode {
    /// `go infinite`: until `stop`.
    pub infinite: bool,
    /// `go ponder`: until `stop` or `ponderhit`.
    pub ponder: bool,
}

impl GoMode {
    /// Whether a `bestmove` may not be sent yet.
    pub fn withholds_bestmove(self) -> bool {
        self.infinite || self.ponder
    }
}

pub struct RunningSearch {
    pub root: Game,
    pub at: Instant,
    /// The own clock, if it has been running since `at`.
    pub clock: Option<Clock>,
    pub longest: Duration,
    /// The limit of the playing strength.
    pub strength: Option<Strength>,
    /// The temperature of the choice of move, if it is random.
    pub temperature: Option<f32>,
    /// Receives the end of the search; closes without it if the search panicked.
    pub finished: Receiver<FinishedSearch>,
    /// Stops the search and starts its clock.
    pub handle: SearchHandle,
    /// Whether `bestmove` has to wait.
    pub mode: GoMode,
    /// The legal move played if the search panicked or found none.
    pub fallback: Move,
}

impl RunningSearch {
    /// The index of the root move to play, in the report and in the statistics, best first.
    pub fn choose(&self, report: &Report, stats: &[MoveStats], seed: u64) -> usize {
        match (self.strength, self.temperature) {
            (Some(strength), _) => strength.choose(report, seed),
            (None, Some(temperature)) => strength::draw(stats, temperature, seed),
            (None, None) => 0,
        }
    }
}
