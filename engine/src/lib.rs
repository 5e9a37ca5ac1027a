//! Philidor's engine: networks, search and the UCI protocol.
//!
//! The modules are in dependency order: each imports only from those above it.

/// Ctrl-C: the first ends a command cleanly, the second at once.
pub mod interrupt;
/// Large arrays in large pages.
pub(crate) mod memory;
/// Files written aside, then renamed.
pub mod files;
/// The board with its game: history, repetition, the fifty-move rule, outcome.
pub mod position;
/// Opening books in the Polyglot format.
pub mod book;
/// Names and ECO codes of openings.
pub mod openings;
/// Games in PGN: read with all that is written about them, and written back.
pub mod pgn;
/// Statistics of matches: pairs of games, Elo, the sequential test.
pub mod matches;
/// Syzygy endgame tables.
pub mod tables;
/// Proofs of forced mates.
pub mod mates;
/// Encoding of positions as input tensors and of moves as policy indices.
pub mod encoding;
/// The seam [`eval::Evaluator`], network cards, the evaluation cache.
pub mod eval;
/// ONNX Runtime behind the seam.
pub mod onnx;
/// Networks made for the CPU: sparse inputs, integer layers, vectorised kernels.
pub mod sparse;
/// Progress in won endgames, where a network's value is flat.
pub mod endgames;
/// The search: the tree, selection and back-up, and the workers.
pub mod search;
/// The classical players: random, minimax, alpha-beta, UCT.
pub mod players;
/// Time management: limits and clocks to a decision to stop.
pub mod time;
/// The UCI protocol: commands, options, the session with a GUI.
pub mod uci;
/// UCI engines in child processes.
pub mod uci_client;
/// Analysis for programs: JSON queries in, answers out.
pub mod analysis;
/// Reviews of games: judged moves, as PGN and as a page.
pub mod review;
/// What a move is worth, what answers it, and what it gives up.
pub mod explain;
/// A game at a terminal.
pub mod terminal;
/// The shipped networks, and what a network file is.
pub mod nets;
/// Inputs and policy indices as text, and back.
pub mod encode;
/// Benchmarks: the signature, and the speed of a network.
pub mod bench;
/// What this machine has, what is fastest on it, and what to tell a GUI.
pub mod doctor;
/// The command line, its man pages and its completions.
pub mod cli;
