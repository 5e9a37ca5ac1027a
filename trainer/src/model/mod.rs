//! The network families, in libtorch: one file or folder each, behind [`Net`].

/// All parameters in one flat tensor.
pub mod params;
mod layers;
/// Residual convolutions with squeeze-and-excitation.
pub mod resnet;
/// Fully connected layers.
pub mod mlp;
/// A single matrix.
pub mod linear;
/// A transformer used again and again.
pub mod trm;
mod net;
/// Compact samples, expanded to the network's input on the device.
pub mod input;
mod evaluator;

pub use evaluator::Torch;
pub use input::{DeviceBatch, DeviceLessons, DeviceShares, Expander};
pub(crate) use layers::{
    Attention, ConvNorm, Convolution, EPSILON, LayerNorm, Linear, NormDetail, SqueezeExcitation,
};
pub(crate) use net::Body;
pub use net::{Net, Output};
pub use params::{ParamLayout, Weights};
