//! Limits and clocks: "stop now?", from plain numbers.
//!
//! In calling order: a `go` becomes [`GoLimits`]; [`Overhead`] says what a move costs besides;
//! [`Budget::new`] turns those into the time that this one move may take, spread as [`Pace`] says;
//! while the search runs, [`Course`] follows it, and [`should_stop`] looks at the [`Budget`] and at
//! [`Counters`]. Nothing here knows a search, a board or a wall clock, so all of it is tested with
//! numbers.
//!
//! Limits that are counted (nodes, depth) are the search's own; limits that are measured are here.

mod pace;
mod overhead;
mod budget;
mod course;
mod stop;

pub use budget::{Budget, Clock, GoLimits};
pub use course::Course;
pub use overhead::{Overhead, Spent};
pub use pace::Pace;
pub use stop::{Counters, patience, should_stop, visits_left};
