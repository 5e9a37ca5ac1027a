//! Training with libtorch: networks, losses, optimisers, checkpoints.

pub mod families;
pub mod loss;
pub mod optimiser;
mod loss_scale;
pub mod regularise;
pub mod calibration;
pub mod validation;
pub mod learner;
pub mod checkpoint;
mod memory;
mod precision;
mod sources;
mod earlier_task;
mod run;
mod resume;
mod overfit;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod family_tests;

pub use checkpoint::Checkpoint;
pub use earlier_task::earlier_task;
pub use learner::Learner;
pub(crate) use memory::keep_freed_memory;
pub use overfit::{distinct_positions, overfit};
pub use run::TorchRun;
pub use sources::{Sources, batch_number};
pub use validation::{HeldOut, validate};
