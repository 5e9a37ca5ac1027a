//! Limits and clocks: "stop now?", from plain numbers.
//!
//! In calling order: a `go` becomes [`GoLimits`]; [`Budget::new`] turns those into the time that
//! this one move may take; while the search runs, [`should_stop`] looks at the [`Budget`] and at
//! [`Counters`]. Nothing here knows a search, a board or a wall clock, so all of it is tested with
//! numbers.
//!
//! Limits that are counted (nodes, depth) are the search's own; limits that are measured are here.

mod budget;
mod stop;

pub use budget::{Budget, Clock, GoLimits, Pace};
pub use stop::{Counters, should_stop};
