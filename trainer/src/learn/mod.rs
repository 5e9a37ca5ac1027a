//! Losses, optimiser, schedule, checkpoints, metrics: the training run.

/// A run's settings.
pub mod config;
/// Where batches come from.
pub mod feed;
/// What is minimised and what is reported.
pub mod loss;
/// Optimisers on the flat tensor.
pub mod optimiser;
mod loss_scale;
/// Tactical replay.
pub mod hard;
/// Holding on to what was learnt before.
pub mod elastic;
/// Staying near a network that is known to be good.
pub mod reference;
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
mod sources;
/// The loop.
pub mod run;
mod command;
/// Panels of curves.
pub mod figure;
mod plot;
mod trial;
mod overfit;
mod finder;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod families;

pub use checkpoint::Checkpoint;
pub use command::{DeviceChoice, TrainArgs};
pub use config::{Preset, TrainConfig};
pub use feed::Feed;
pub use finder::LrFinderArgs;
pub use learner::Learner;
pub use overfit::OverfitArgs;
pub use plot::PlotArgs;
pub use run::{Ended, Run, TrainError};
pub use sources::{Sources, batch_number};
pub use validation::{HeldOut, Validations};
