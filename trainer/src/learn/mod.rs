//! Training runs.

/// What training runs report: measures, calibration, `metrics.jsonl`, TensorBoard events, progress.
pub mod metrics;
/// Networks of the family `sparse`: training and files, in plain Rust.
pub mod sparse;
/// The network families, in libtorch.
#[cfg(feature = "libtorch")]
pub mod model;
/// Losses, optimiser, schedule, checkpoints, metrics: the training run.
#[cfg(feature = "libtorch")]
pub mod train;
