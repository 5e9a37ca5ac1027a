//! The parameters of time management.

use std::time::Duration;

/// How a clock is divided among the moves to come, and when a move gets less or more of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeParams {
    /// The number of moves assumed to come, this one included, without `movestogo`.
    pub horizon: u32,
    /// The share of the increment that is spent at once; the rest covers costs beyond the measured overhead.
    pub increment_share: f64,
    /// The number of overheads that a clock should hold in reserve: with fewer, increments are saved in proportion to
    /// what is missing. A busy machine may be late by more than one overhead.
    pub reserve: u32,
    /// The largest share of the time left, less the overhead of the moves to come, that a move may take unless it is
    /// the last before the time control.
    pub largest_share: f64,
    /// The share of the time left that a move may take if the overhead leaves nothing: a few dozen visits risk less
    /// than a move without search.
    pub emergency_share: f64,

    /// The largest factor of the soft limit, for an undecided move.
    pub max_factor: f64,
    /// The smallest factor of the soft limit, for a clear move.
    pub min_factor: f64,
    /// The weight of the second move's share of visits in the factor; the rest, up to 1, is that of changes of the
    /// best move. See [`soft_factor`](super::soft_factor).
    pub closeness: f64,
    /// The visits before which the soft limit does not end a search; the hard limit does.
    pub min_visits: u64,
    /// A move ends when the second most visited move is behind by more than the expected visits divided by this
    /// (lc0's `SmartPruningFactor`). 0: never.
    pub smart_pruning: f32,
}

impl Default for TimeParams {
    fn default() -> TimeParams {
        TimeParams {
            horizon: 26,
            increment_share: 0.8,
            reserve: 4,
            largest_share: 0.4,
            emergency_share: 0.05,
            max_factor: 2.5,
            min_factor: 0.6,
            closeness: 0.4,
            min_visits: 32,
            smart_pruning: 1.33,
        }
    }
}

/// `time · factor`, saturating.
pub(super) fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
