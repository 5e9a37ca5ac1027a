//! The state of a search between `go` and `bestmove`.

use crossbeam_channel::Receiver;
use shakmaty::Move;
use web_time::{Duration, Instant};

use super::observer::{FinishedSearch, SearchHandle};
use super::reply::Reply;
use crate::chess::position::Game;
use crate::search::time_management::Clock;
use crate::search::{MoveStats, Report};
use crate::setup::strength::{self, Strength};

#[derive(Default)]
pub enum Activity {
    #[default]
    Idle,
    Searching(Box<RunningSearch>),
    /// `bestmove` waits for `stop` or `ponderhit`.
    Withheld {
        /// Its `info` lines are already written.
        reply: Reply,
        mode: GoMode,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoMode {
    /// Withholds `bestmove` until `stop`.
    pub infinite: bool,
    /// Withholds `bestmove` until `stop` or `ponderhit`.
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
    /// `None` if our clock did not run since `at`.
    pub clock: Option<Clock>,
    pub longest: Duration,
    pub strength: Option<Strength>,
    /// `None` plays the best move.
    pub temperature: Option<f32>,
    /// Closes without a message if the search panics.
    pub finished: Receiver<FinishedSearch>,
    pub handle: SearchHandle,
    pub mode: GoMode,
    /// Legal move to play if the search panics or finds none.
    pub fallback: Move,
}

impl RunningSearch {
    /// `report` and `stats` have the same order, best first.
    pub fn choose(&self, report: &Report, stats: &[MoveStats], seed: u64) -> usize {
        match (self.strength, self.temperature) {
            (Some(strength), _) => strength.choose(report, seed),
            (None, Some(temperature)) => strength::draw(stats, temperature, seed),
            (None, None) => 0,
        }
    }
}
