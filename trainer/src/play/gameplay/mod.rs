//! What self-play and the arena share.
//!
//! [`OpeningsAndTables`] holds start positions and endgame
//! tables. [`drive`] plays many games at once on one thread, their positions evaluated in shared batches.

pub mod live;
mod openings;
mod driver;

pub use driver::{BatchedGame, Next, drive};
pub use openings::{OpeningsAndTables, known_result};
