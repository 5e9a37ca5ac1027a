//! The numbers that spread a clock over a game.

use std::time::Duration;

/// How a clock is spread over the rest of the game, and when a move is given less or more of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Moves that are assumed to come, this one included, where no `movestogo` says so.
    pub horizon: u32,
    /// Share of the increment that is spent as it comes; the rest makes up for what a move costs
    /// beyond what is measured.
    pub increment_share: f64,
    /// Overheads that a clock should hold in reserve: with fewer, increments are saved up, in
    /// proportion to what is missing. A busy machine may well be late by more than one overhead.
    pub reserve: u32,
    /// The largest share of what is left, less the overhead of the moves to come, that a move may
    /// take while there are such.
    pub largest_share: f64,
    /// Share of what is left that a move may take where the overhead would leave nothing: a few
    /// dozen visits risk less than a move chosen by none.
    pub trouble_share: f64,

    /// How far an undecided move may go beyond its fair share.
    pub stretch: f64,
    /// Part of its fair share that a clear move takes.
    pub calm: f64,
    /// How much a runner-up that has as many visits as the best move counts; the rest, up to 1, is
    /// for a best move that keeps changing. See [`patience`](super::patience).
    pub closeness: f64,
    /// Visits that the fair share may not end before; the hard limit may.
    pub floor: u64,
    /// A move ends when the runner-up would need more than the visits that are to be expected,
    /// divided by this (Leela's `SmartPruningFactor`). 0: never.
    pub smart_pruning: f32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            horizon: 26,
            increment_share: 0.8,
            reserve: 4,
            largest_share: 0.4,
            trouble_share: 0.05,
            stretch: 2.5,
            calm: 0.6,
            closeness: 0.4,
            floor: 32,
            smart_pruning: 1.33,
        }
    }
}

/// `time · factor`, with clocks of a thousand years cut short rather than overflowing.
pub(super) fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}
