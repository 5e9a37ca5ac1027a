//! What self-play and the arena share.
//!
//! A [`Backend`] is a network together with what runs it. [`OpeningsAndTables`] holds start positions and endgame
//! tables. [`drive`] plays many games at once on one thread, their positions evaluated in shared batches.

pub mod live;
mod network;
mod openings;
mod driver;

pub use driver::{BatchedGame, Next, drive, search_alone};
pub use network::{Backend, LoadedNet, load_network};
pub use openings::{OpeningsAndTables, known_result};
