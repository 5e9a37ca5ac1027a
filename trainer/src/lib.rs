//! Philidor's trainer: from games to networks.
//!
//! The modules are listed in the order of data flow. A module imports only from those above it in this list, and its
//! submodules only from the submodules listed before them.
//!
//! Without the feature `libtorch`, which is on by default, the parts and commands that need libtorch are left out.

/// Files, progress bars, and networks to evaluate with.
pub mod base;
/// Settings: JSON files merged over defaults.
pub mod config;
/// Games: read, made, labelled, stored, and turned into batches of samples.
pub mod data;
/// Training runs.
pub mod learn;
/// Networks exported, verified, quantised, compared and drawn.
pub mod judge;
/// Games of networks: self-play, matches, the loop of reinforcement learning.
pub mod play;
/// The commands.
pub mod cli;
