//! Games: read, made, labelled, stored, and turned into batches of samples.

/// A game with its evaluations and searches.
pub mod record;
/// PGN and puzzles into games: parsing, filters, repairs.
pub mod import;
/// Games on disk, in the HDF5 schema `games/1`: writing, reading, inspecting.
pub mod dataset;
/// Games and evaluations from UCI engines, and games downloaded from the web.
pub mod datagen;
/// Positions of games as training samples: inputs and targets.
pub mod samples;
/// Samples, shuffled, mixed and batched ahead of training.
pub mod loader;
