//! The state of the current match, and how it is saved and restored.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::super::lane::LaneGame;
use super::super::minds::TreeQuestion;
use super::super::order::MatchOrder;
use super::super::saved::{SavedMatch, SavedMatchError};
use super::super::view::{FinishedGame, MatchPhase};
use crate::play::Winner;

pub(super) struct LaneHandle {
    pub(super) task: AbortHandle,
    pub(super) games: mpsc::Sender<LaneGame>,
    pub(super) questions: mpsc::UnboundedSender<TreeQuestion>,
}

pub(super) struct Current {
    pub(super) name: Option<String>,
    pub(super) order: MatchOrder,
    pub(super) phase: MatchPhase,
    pub(super) results: BTreeMap<usize, Winner>,
    pub(super) next: usize,
    /// Begun games without a lane.
    pub(super) waiting: VecDeque<LaneGame>,
    /// By lane.
    pub(super) running: BTreeMap<usize, LaneGame>,
    pub(super) lanes: Vec<LaneHandle>,
    pub(super) finished: VecDeque<FinishedGame>,
    pub(super) notice: Option<String>,
    /// Between moves.
    pub(super) delay_ms: u32,
}

impl Current {
    pub(super) fn new(order: MatchOrder) -> Current {
        Current {
            name: None,
            order,
            phase: MatchPhase::Suspended,
            results: BTreeMap::new(),
            next: 0,
            waiting: VecDeque::new(),
            running: BTreeMap::new(),
            lanes: Vec::new(),
            finished: VecDeque::new(),
            notice: None,
            delay_ms: 0,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.phase, MatchPhase::Playing | MatchPhase::Finishing)
    }

    /// Ends the engines.
    pub(super) fn abort(&mut self) {
        self.lanes.drain(..).for_each(|lane| lane.task.abort());
    }

    /// Makes the running games wait until the match goes on.
    pub(super) fn put_aside(&mut self) {
        self.waiting.extend(std::mem::take(&mut self.running).into_values());
    }

    pub(super) fn saved(&self) -> SavedMatch {
        let unfinished = self.running.values().chain(&self.waiting);
        let (order, results) = (self.order.clone(), self.results.clone());
        let mut saved = SavedMatch::new(order, self.phase, results, self.next, unfinished);
        saved.finished = self.finished.iter().cloned().collect();
        saved.delay_ms = self.delay_ms;
        (saved.notice, saved.name) = (self.notice.clone(), self.name.clone());
        saved
    }

    pub(super) fn restored(saved: SavedMatch) -> Result<Current, SavedMatchError> {
        let waiting = saved.unfinished()?.into();
        let was_running = matches!(saved.phase, MatchPhase::Playing | MatchPhase::Finishing);
        let told = || "The server was restarted: resume the match to go on.".to_owned();
        Ok(Current {
            phase: if was_running { MatchPhase::Suspended } else { saved.phase },
            notice: if was_running { Some(told()) } else { saved.notice },
            name: saved.name,
            delay_ms: saved.delay_ms,
            results: saved.results,
            next: saved.next,
            waiting,
            finished: saved.finished.into(),
            ..Current::new(saved.order)
        })
    }
}
