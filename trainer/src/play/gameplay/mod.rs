//! Start positions and endgame tables ([`OpeningsAndTables`]), and many games on one thread with shared batches
//! ([`drive`]).

pub mod live;
mod openings;
mod driver;

pub use driver::{BatchedGame, IsStopped, Next, drive};
pub use openings::{OpeningsAndTables, known_result};
