//! What a search shows while it runs, what it returns, and the observer that receives both.

use shakmaty::Move;

use crate::search::run::report::{MoveStats, Report};

/// Whether a search continues after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchControl {
    /// Continue.
    Continue {
        /// How many more visits the observer will allow; `None` if unknown. Root moves that cannot become the most
        /// visited within so many visits get no more of them ([`Params::smart_pruning`](crate::search::Params)).
        expected_visits: Option<u64>,
    },
    /// End the search now.
    Stop,
}

/// Follows a search: called from the search's threads, never by two at once.
///
/// `()` is the observer that does nothing.
pub trait SearchObserver: Send {
    /// Called after every applied batch.
    fn round(&mut self, view: &dyn SearchView) -> SearchControl;

    /// Called once, last, when no visit is in flight any more.
    fn done(&mut self, outcome: SearchOutcome);
}

impl SearchObserver for () {
    fn round(&mut self, _: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It was stopped from outside.
    Stopped,
    /// It reached one of its [`Limits`](crate::search::Limits).
    Limit,
    /// Nothing is left to search: no legal move, a proven root, or no memory for a single leaf.
    Exhausted,
    /// The evaluator or a worker failed.
    Failed,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// The final report; it has a line if there is a legal move.
    pub report: Report,
    /// Statistics of the root moves, best first.
    pub stats: Vec<MoveStats>,
    /// Why the search ended.
    pub end_reason: EndReason,
    /// The error, if one occurred.
    pub error: Option<String>,
}

/// The state of a running search.
pub trait SearchView {
    /// Visits of this search so far.
    fn visits(&self) -> u64;

    /// Visits of the most and the second most visited root move; zeros if moves are not chosen by visits.
    fn lead(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Statistics of the root moves, best first; empty if the search has none of this kind.
    fn stats(&self) -> Vec<MoveStats> {
        Vec::new()
    }

    /// Statistics of the root moves to show, best first: [`SearchView::stats`], or what a search that is not of this kind
    /// has instead.
    fn shown_stats(&self) -> Vec<MoveStats> {
        self.stats()
    }

    /// The root move that would be played now.
    fn best(&self) -> Option<Move>;

    /// A report with up to `multipv` lines.
    fn report(&self, multipv: usize) -> Report;
}
