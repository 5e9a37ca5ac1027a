//! ONNX files with their metadata card: export of checkpoints, verification against libtorch, conversion of lc0's
//! networks, quantisation to 8 bits.

mod proto;
mod graph;
mod writer;
mod resnet;
mod trm;
mod dense;
mod golden;
mod file;
mod verify;
mod lc0;
mod quantise;

pub use file::{network, onnx, unrolled, write_network};
pub use lc0::{Lc0Net, onnx as lc0_onnx};
#[cfg(test)]
pub(crate) use quantise::fixtures as quantise_fixtures;
pub use quantise::{
    LayerSensitivity, QuantisationQuality, QuantisedNetwork, SPEED_BATCH, SPEED_REPEATS, quantise,
    quantise_and_compare,
};
pub use verify::{OutputDifference, TOLERANCE, built_in_positions, compare, positions_of_file};
