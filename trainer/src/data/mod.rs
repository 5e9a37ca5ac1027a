//! Games: imported, generated, labelled, stored, and turned into batches of samples.

/// A game with its evaluations and searches.
pub mod record;
/// Games from PGN and puzzle tables: parsing, filters, repairs.
pub mod import;
/// Games on disk in the HDF5 schema `games/1`.
pub mod dataset;
/// Games and evaluations from UCI engines, and games downloaded from the web.
pub mod datagen;
/// Positions of games as training samples: inputs and targets.
pub mod samples;
/// Shuffled, mixed and batched samples, prefetched for training.
pub mod loader;
