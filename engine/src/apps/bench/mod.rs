//! Benchmarks: the [`signature`] is the same on every machine; the [`lesson`] repeats the examples of a notebook.

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
