//! The model families in libtorch, one file or folder each, behind [`Net`].

/// Parameters in one flat tensor.
pub mod params;
mod layers;
/// Family `resnet`: convolutional residual network with squeeze-and-excitation.
pub mod resnet;
/// Family `mlp`: multi-layer perceptron.
pub mod mlp;
/// Family `linear`: softmax regression.
pub mod linear;
/// Family `trm`: recursive transformer.
pub mod trm;
mod net;
/// Batches of compact samples expanded to input tensors on the device.
pub mod input;
mod evaluator;

pub use evaluator::Torch;
pub use input::{DeviceBatch, DeviceShares, DeviceTeacherTargets, Expander};
pub(crate) use layers::{
    Attention, ConvNorm, Convolution, EPSILON, LayerNorm, Linear, NormDetail, SqueezeExcitation,
};
pub(crate) use net::Body;
pub use net::{Net, Output};
pub use params::{ParamLayout, Weights};
