//! Philidor's engine, in layers. A module may use only the modules listed before it; the same holds inside each module.

/// Files, signals and memory.
pub mod base;
/// The rules of chess, and knowledge of positions without a network.
pub mod chess;
/// Networks: value and policy of a position.
pub mod nets;
/// The search: tree, workers, time management.
pub mod search;
/// UCI options, and everything that a program needs to start a search.
pub mod setup;
/// The programs: UCI, analysis, review, play, benchmarks, the command line.
pub mod apps;
