//! Games: imported, generated, labelled, stored, and turned into batches of samples.

pub mod record;
/// Games from PGN and puzzle tables.
pub mod import;
/// Games on disk: the HDF5 schema `games/1`.
pub mod dataset;
/// Games and evaluations by UCI engines, and games from the web.
pub mod datagen;
/// Training samples: inputs and targets.
pub mod samples;
/// Shuffles, mixes, batches and prefetches samples.
pub mod loader;
