//! The signature, and how fast the evaluator is.
//!
//! [`signature`] searches fixed positions with evaluators that compute in whole numbers, so every
//! machine finds the same; [`speed`] measures the network; [`perft`] counts moves; [`lesson`] has the classical
//! players do what they do in the lesson.

mod hashed;
pub mod lesson;
pub mod perft;
mod positions;
pub mod signature;
pub mod speed;

pub use hashed::Hashed;
pub use positions::POSITIONS;

use crate::position::Game;
use crate::search::{Limits, Pool, SearchOutcome};

/// Searches `game` for a number of visits, with an empty tree.
fn search(pool: &mut Pool, game: &Game, visits: u64) -> SearchOutcome {
    pool.clear();
    pool.search(game, Limits { visits: Some(visits), ..Limits::default() })
}
