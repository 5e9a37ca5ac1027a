//! Training: losses, optimisers, schedules, checkpoints and metrics.

/// The network families.
pub mod families;
/// The source of batches.
pub mod feed;
/// Loss functions and accuracy.
pub mod loss;
/// Optimisers over the flat tensor of parameters.
pub mod optimiser;
mod loss_scale;
/// Regularisers that keep a network near what it has learnt before.
pub mod regularise;
/// Calibration of win, draw and loss.
pub mod calibration;
/// Metrics on held-out samples.
pub mod validation;
/// A network, its averaged weights and its optimiser.
pub mod learner;
/// Checkpoint files.
pub mod checkpoint;
mod memory;
mod precision;
mod sources;
mod earlier_task;
mod run;
mod overfit;
mod lr_range_test;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod family_tests;

pub use checkpoint::Checkpoint;
pub use earlier_task::earlier_task;
pub use feed::Feed;
pub use learner::Learner;
pub use lr_range_test::range_test;
pub(crate) use memory::keep_freed_memory;
pub use overfit::{OverfitPoint, distinct_positions, overfit};
pub use run::TorchRun;
pub use sources::{Sources, batch_number};
pub use validation::{HeldOut, validate};
