//! The network families, in libtorch.

/// What a network looks like.
pub mod config;
/// All parameters in one flat tensor.
pub mod params;
mod layers;
mod net;
/// The recursive model.
pub mod trm;
/// Compact samples, expanded to planes on the device.
pub mod input;

pub use config::ModelConfig;
pub(crate) use layers::{Attention, Conv, ConvNorm, EPSILON, Linear, NormDetail, Squeeze};
pub(crate) use net::{Block, Policy};
pub use net::{Net, Output};
pub use params::{Layout, Weights};
