pub mod params;
mod layers;
pub mod resnet;
pub mod mlp;
pub mod linear;
pub mod trm;
mod net;
pub mod input;
mod evaluator;

pub use evaluator::Torch;
pub use input::{DeviceBatch, DeviceShares, DeviceTeacherTargets, Expander};
pub(crate) use layers::{
    Attention, ConvNorm, Convolution, EPSILON, LayerNorm, Linear, NormDetail, SqueezeExcitation,
    seed_generator,
};
pub(crate) use net::Body;
pub use net::{Net, Output};
pub use params::{ParamLayout, Weights};
