//! Time management: when to stop, from plain numbers.
//!
//! In calling order: a `go` becomes [`GoLimits`]; [`OverheadEstimate`] measures what a move costs outside the engine, an
//! [`Overhead`]; [`Budget::new`] computes from these the time that the move may take, with [`TimeParams`]; while the
//! search runs, [`SearchTrend`] tracks its speed, stability and value, [`RoundTimes`] how long its workers take, and
//! [`should_stop`] compares [`IterationStats`] with the [`Budget`]. Nothing here depends on a search, a board or a wall clock, so that everything is tested with numbers.
//!
//! The limits in nodes and depth are the search's own; the limits in time are here.

mod params;
mod overhead;
mod budget;
mod trend;
mod stop;

pub use budget::{Budget, Clock, GoLimits};
pub use overhead::{Overhead, OverheadEstimate, TimedMove};
pub use params::TimeParams;
pub use stop::{
    IterationStats, falling_factor, instability_factor, should_stop, soft_factor, visits_factor, visits_left,
};
pub use trend::{RoundTimes, SearchTrend};
