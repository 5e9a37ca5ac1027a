//! Export, verification and quantisation of networks that libtorch trains.

mod writer;
mod resnet;
mod trm;
mod dense;
mod golden;
mod onnx;
mod verify;
mod quantise;
#[cfg(test)]
mod runtime_tests;

pub use onnx::{network, onnx, unrolled};
#[cfg(test)]
pub(crate) use quantise::fixtures as quantise_fixtures;
pub use quantise::{
    ErrorStatistics, LayerSensitivity, PositionError, QuantisationQuality, QuantisedNetwork, SPEED_BATCH,
    SPEED_REPEATS, quantise, quantise_and_compare,
};
pub use verify::{OutputDifference, compare};
