//! The rules of chess, and knowledge about positions without a network.

pub mod wdl;
pub mod position;
pub mod book;
pub mod openings;
pub mod pgn;
pub mod puzzles;
pub mod tables;
/// Proofs of forced mates.
pub mod mates;
/// Progress in won endgames, where a network's value is flat.
pub mod endgames;
