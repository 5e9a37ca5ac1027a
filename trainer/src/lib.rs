//! Philidor's trainer: from games to networks.
//!
//! The modules are listed in the order in which data flows through them; each imports only from those above it.
//! [`cli`], the last, holds the commands.
//!
//! Without the feature `libtorch`, which is on by default, `model`, `train` and the parts of [`export`] and [`rl`] that need
//! libtorch are left out, and so are the commands that use them.

/// Files written atomically.
pub mod files;
/// Progress bars on stderr.
pub mod progress;
/// A game with its evaluations and searches.
pub mod record;
/// Settings: JSON files merged over defaults, and the configurations of networks, training, self-play and the loop.
pub mod config;
/// PGN and puzzles into games: parsing, filters, repairs.
pub mod import;
/// Games on disk, in the HDF5 schema `games/1`: writing, reading, inspecting.
pub mod dataset;
/// Games and evaluations from UCI engines, and games downloaded from the web.
pub mod datagen;
/// Positions of games as training samples: inputs and targets.
pub mod samples;
/// What training runs report: measures, calibration, `metrics.jsonl`, TensorBoard events, progress.
pub mod metrics;
/// Samples, shuffled, mixed and batched ahead of training.
pub mod loader;
/// Shared by self-play and the arena: networks, openings, many games at once on one thread.
pub mod gameplay;
/// Games of a network against itself.
pub mod selfplay;
/// Matches of networks and classical players, and their statistics.
pub mod arena;
/// Units of work as values, done by this process or on other machines.
pub mod units;
/// Networks of the family `sparse`: training and files, in plain Rust.
pub mod sparse;
/// The network families, in libtorch.
#[cfg(feature = "libtorch")]
pub mod model;
/// Losses, optimiser, schedule, checkpoints, metrics: the training run.
#[cfg(feature = "libtorch")]
pub mod train;
/// ONNX files with their card, verified against the model; quantisation; conversion of lc0 networks.
pub mod export;
/// The strength of networks, side by side: accuracy, tactics, canaries.
pub mod evaluate;
/// Figures: curves of runs, heat maps of linear networks.
pub mod plot;
/// Reinforcement learning: self-play, training and gates in a loop.
pub mod rl;
/// The commands: arguments, output, progress bars, Ctrl-C.
pub mod cli;
