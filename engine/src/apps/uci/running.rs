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
    /// The search has ended, but `bestmove` waits for `stop` or `ponderhit`.
    Withheld {
        /// Its `info` lines have been written already.
        reply: Reply,
        mode: GoMode,
    },
}

/// The modes of `go` in which `bestmove` must wait for the GUI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoMode {
    /// `bestmove` waits for `stop`.
    pub infinite: bool,
    /// `bestmove` waits for `stop` or `ponderhit`.
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
    /// Our clock, if it has been running since `at`.
    pub clock: Option<Clock>,
    pub longest: Duration,
    pub strength: Option<Strength>,
    /// Temperature of the move choice; `None` plays the best move.
    pub temperature: Option<f32>,
    /// Receives the end of the search. Closes without a message if the search panicked.
    pub finished: Receiver<FinishedSearch>,
    pub handle: SearchHandle,
    pub mode: GoMode,
    /// The legal move to play if the search panicked or found none.
    pub fallback: Move,
}

impl RunningSearch {
    /// The index of the root move to play. `report` and `stats` list the moves in the same order, best first.
    pub fn choose(&self, report: &Report, stats: &[MoveStats], seed: u64) -> usize {
        match (self.strength, self.temperature) {
            (Some(strength), _) => strength.choose(report, seed),
            (None, Some(temperature)) => strength::draw(stats, temperature, seed),
            (None, None) => 0,
        }
    }
}
