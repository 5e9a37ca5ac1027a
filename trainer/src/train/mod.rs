//! Losses, optimiser, schedule, checkpoints, metrics: the training run.

/// Where batches come from.
pub mod feed;
/// What is minimised and what is reported.
pub mod loss;
/// Optimisers on the flat tensor.
pub mod optimiser;
mod loss_scale;
/// What holds a network to what it has learnt before.
pub mod regularise;
/// Whether predictions come true.
pub mod reliability;
/// How a network does on held-out samples.
pub mod validation;
/// The network in training.
pub mod learner;
/// Checkpoint files.
pub mod checkpoint;
mod memory;
mod events;
mod report;
mod summary;
mod sources;
/// The loop.
pub mod run;
mod overfit;
mod finder;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod family_tests;

mod precision;

pub use checkpoint::{Checkpoint, Progress};
pub use feed::Feed;
pub use finder::{Suggestion, Trial, sweep};
pub use learner::Learner;
pub(crate) use memory::keep_freed_memory;
pub use overfit::{Point, by_heart, distinct};
pub use run::{Ended, Run, TrainError};
pub use sources::{Sources, batch_number};
pub use summary::TrainSummary;
pub use validation::{HeldOut, Measures, Validation, Validations, validate};
