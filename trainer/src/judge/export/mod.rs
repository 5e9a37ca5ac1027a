//! ONNX files: export of checkpoints, verification, conversion of lc0 networks, quantisation to int8.

#[cfg_attr(not(feature = "libtorch"), expect(dead_code, reason = "operators of trained networks only"))]
mod graph;
mod golden;
mod positions;
mod card;
mod lc0;
mod sparse_onnx;
mod compare_sparse;
#[cfg(feature = "libtorch")]
mod torch;

pub use card::write_network;
pub use compare_sparse::{INTEGER_TOLERANCE, SparseDifference, compare_sparse};
pub use lc0::{Lc0Net, onnx as lc0_onnx};
pub use positions::{TOLERANCE, built_in_positions, positions_of_file};
pub use sparse_onnx::{OnnxStorage, sparse_onnx};
#[cfg(feature = "libtorch")]
pub use torch::*;
