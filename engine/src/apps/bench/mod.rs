//! Benchmarks: [`signature`] gives the same results on every machine; [`speed`] measures a network; [`perft`] counts
//! move sequences; [`lesson`] compares the classical players with the notebook that they follow; [`version`] describes
//! the build.

pub mod lesson;
pub mod perft;
mod positions;
mod replay;
pub mod signature;
pub mod speed;
pub mod version;

pub use crate::nets::eval::HashedEvaluator;
pub use positions::POSITIONS;

use std::time::{Duration, Instant};

use crate::chess::position::Game;
use crate::search::{Limits, Pool, SearchOutcome};

/// Searches with an empty tree; clearing it is not timed.
fn search(pool: &mut Pool, game: &Game, visits: u64) -> (SearchOutcome, Duration) {
    pool.clear();
    let start = Instant::now();
    let outcome = pool.search(game, Limits { visits: Some(visits), ..Limits::default() });
    (outcome, start.elapsed())
}
