use shakmaty::Move;

use crate::search::run::report::{MoveStats, Report};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchControl {
    Continue {
        /// Visits still to come, if known. Root moves that cannot become the most visited within them are pruned
        /// ([`Params::smart_pruning`](crate::search::Params)).
        expected_visits: Option<u64>,
    },
    Stop,
}

/// Called from the search's threads, never concurrently. `()` does nothing.
pub trait SearchObserver: Send {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl;

    /// Called once, last, with no visit in flight.
    fn done(&mut self, outcome: SearchOutcome);
}

impl SearchObserver for () {
    fn round(&mut self, _: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    Stopped,
    Limit,
    /// Nothing is left to search: no legal move, a proven root, or no memory for a leaf.
    Exhausted,
    Failed,
}

#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// Has a line if there is a legal move.
    pub report: Report,
    pub stats: Vec<MoveStats>,
    pub end_reason: EndReason,
    pub error: Option<String>,
}

pub trait SearchView {
    fn visits(&self) -> u64;

    /// Visits of the two most visited root moves; zeros if moves are not chosen by visits.
    fn lead(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Root moves, best first; empty for classical searches.
    fn stats(&self) -> Vec<MoveStats> {
        Vec::new()
    }

    /// For display: [`SearchView::stats`] or a classical search's nearest equivalent.
    fn shown_stats(&self) -> Vec<MoveStats> {
        self.stats()
    }

    fn best(&self) -> Option<Move>;

    fn report(&self, multipv: usize) -> Report;
}
