//! Philidor's engine: everything that a network and a search need to play chess over UCI.
//!
//! The modules stand in dependency order: each imports only from those above it.

/// The board and what a game adds to it: history, repetition, the fifty-move rule, outcome.
pub mod position;
/// Opening books in Polyglot's format.
pub mod book;
/// Syzygy endgame tables: what is known for certain when few pieces are left.
pub mod tables;
/// Position to input tensor, move to policy index.
pub mod encoding;
/// The seam [`eval::Evaluator`] and what stands behind it: networks and the uniform evaluator.
pub mod eval;
/// Networks made for the CPU: sparse inputs, integer layers, vectorised kernels.
pub mod sparse;
/// The tree, the selection of moves in it, and the workers that grow it.
pub mod search;
/// The classical players: random, minimax, alpha-beta, UCT.
pub mod baseline;
/// Limits and clocks: "stop now?" from plain numbers.
pub mod time;
/// Text to commands and back, options, the session that a GUI talks to.
pub mod uci;
/// The signature, and how fast the evaluator is.
pub mod bench;
