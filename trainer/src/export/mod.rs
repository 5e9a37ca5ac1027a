//! ONNX files with their card, and the proof that they equal the model.

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
mod card;
#[cfg(feature = "libtorch")]
mod file;
#[cfg(feature = "libtorch")]
mod verify;
mod lc0;
#[cfg(feature = "libtorch")]
pub mod quantise;

pub use card::{CardText, write_network};
#[cfg(feature = "libtorch")]
pub use file::{network, onnx, unrolled};
pub use lc0::{Lc0Net, onnx as lc0_onnx};
#[cfg(feature = "libtorch")]
pub use quantise::{Quality, Quantiser, quickly};
#[cfg(feature = "libtorch")]
pub use verify::{Difference, TOLERANCE, built_in, compare, positions_of};
