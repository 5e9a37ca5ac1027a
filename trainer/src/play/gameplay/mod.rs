//! Shared by self-play and the arena: [`OpeningsAndTables`] has start positions and endgame tables, [`drive`] runs many
//! games on one thread with shared evaluation batches.

pub mod live;
mod openings;
mod driver;

pub use driver::{BatchedGame, Next, drive};
pub use openings::{OpeningsAndTables, known_result};
