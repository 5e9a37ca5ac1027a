//! Games: imported, generated, labelled, stored, and turned into batches of samples.

pub mod record;
pub mod import;
pub mod dataset;
pub mod datagen;
pub mod samples;
pub mod loader;
