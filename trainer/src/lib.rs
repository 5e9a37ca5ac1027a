//! Philidor's trainer: from games to networks.
//!
//! The modules are floors, in the order in which data flows through them. A floor imports only from those above it in this
//! list, and a room of a floor only from the rooms listed before it.
//!
//! Without the feature `libtorch`, which is on by default, the parts that need libtorch are left out, and so are the
//! commands that use them.

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
