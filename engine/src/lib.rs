//! Philidor's engine: the rules of chess, networks, search, and the programs made of them.
//!
//! The modules are floors, from the ground up. A floor imports only from those above it in this list, and a room of a
//! floor only from the rooms listed before it.

/// Files, signals and memory.
pub mod base;
/// The rules of chess, and what is known about positions without a network.
pub mod chess;
/// Networks: a position's value and policy.
pub mod nets;
/// The search: the tree, the workers that grow it, the clock.
pub mod search;
/// Options, and all that a program needs to start a search.
pub mod setup;
/// The programs: UCI, analysis, review, play, benchmarks, the command line.
pub mod apps;
