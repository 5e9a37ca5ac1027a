//! Philidor's trainer: from games to networks.
//!
//! The modules stand in the order in which data flows through them.

/// Ctrl-C.
pub mod interrupt;
/// Files written aside and renamed.
pub mod files;
/// Networks: what games ask of them, and the names that commands are given.
pub mod networks;
/// Configurations in JSON, laid over one another.
pub mod settings;
/// Where games come from (PGN, engines, the web), what a game is here, what its opening is called.
pub mod games;
/// Games on disk: the HDF5 schema `games/1`, written, read and inspected.
pub mod chunks;
/// A network's games against itself, many at once.
pub mod selfplay;
/// Matches of networks and classical players, and what they prove.
pub mod arena;
/// A game replayed into training samples: input masks and targets.
pub mod samples;
/// Samples shuffled, mixed and batched ahead of the learner.
pub mod loader;
/// The network families, in libtorch.
pub mod model;
/// Losses, optimiser, schedule, checkpoints, metrics: the training run.
pub mod learn;
/// ONNX files with their card, and the proof that they equal the model.
pub mod export;
/// How good networks are, side by side: accuracy, tactics, canaries; what a linear one has learnt.
pub mod gauge;
/// Self-play, learning, tests, again and again.
pub mod cycle;
