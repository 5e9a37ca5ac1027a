//! Time management from plain numbers, without search, board or wall clock. [`GoLimits`], the measured [`Overhead`] and
//! [`TimeParams`] give a [`Budget`] (`budget.rs`: what a move may take), which [`should_stop`] (`stop.rs`: when it ends)
//! compares with [`IterationStats`], built from [`SearchTrend`] and [`RoundTimes`].

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
