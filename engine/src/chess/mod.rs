//! The rules of chess, and what is known about positions without a network.

/// Win, draw and loss, and centipawns.
pub mod wdl;
/// The board with its game: history, repetition, the fifty-move rule, outcome.
pub mod position;
/// Opening books in the Polyglot format.
pub mod book;
/// Names and ECO codes of openings.
pub mod openings;
/// Games in PGN, read and written with comments, variations and evaluations.
pub mod pgn;
/// Syzygy endgame tables.
pub mod tables;
/// Proofs of forced mates.
pub mod mates;
/// Progress in won endgames, where a network's value is flat.
pub mod endgames;
