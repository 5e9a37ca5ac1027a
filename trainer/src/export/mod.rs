//! ONNX files with their metadata card: export of checkpoints, verification against libtorch, conversion of lc0's
//! networks, quantisation to 8 bits.

#[cfg_attr(
    not(feature = "libtorch"),
    expect(dead_code, reason = "kinds of numbers of quantised networks only")
)]
mod proto;
#[cfg_attr(not(feature = "libtorch"), expect(dead_code, reason = "operators of trained networks only"))]
mod graph;
#[cfg(feature = "libtorch")]
mod writer;
#[cfg(feature = "libtorch")]
mod resnet;
#[cfg(feature = "libtorch")]
mod trm;
#[cfg(feature = "libtorch")]
mod dense;
mod golden;
mod positions;
mod card;
#[cfg(feature = "libtorch")]
mod file;
#[cfg(feature = "libtorch")]
mod verify;
mod lc0;
mod sparse;
mod compare_sparse;
#[cfg(feature = "libtorch")]
mod quantise;

pub use card::write_network;
pub use compare_sparse::{INTEGER_TOLERANCE, SparseDifference, compare_sparse};
#[cfg(feature = "libtorch")]
pub use file::{network, onnx, unrolled};
pub use lc0::{Lc0Net, onnx as lc0_onnx};
pub use positions::{built_in_positions, positions_of_file};
#[cfg(all(test, feature = "libtorch"))]
pub(crate) use quantise::fixtures as quantise_fixtures;
#[cfg(feature = "libtorch")]
pub use quantise::{
    LayerSensitivity, QuantisationQuality, QuantisedNetwork, SPEED_BATCH, SPEED_REPEATS, quantise,
    quantise_and_compare,
};
pub use sparse::{OnnxStorage, sparse_onnx};
#[cfg(feature = "libtorch")]
pub use verify::{OutputDifference, TOLERANCE, compare};
