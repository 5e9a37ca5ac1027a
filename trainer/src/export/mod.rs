//! ONNX files with their card, and the proof that they equal the model.

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
pub mod quantise;

pub use file::{CardText, network, onnx, unrolled, write_network};
pub use lc0::{Lc0Net, onnx as lc0_onnx};
pub use quantise::{QuantisationQuality, Quantiser, quickly};
pub use verify::{OutputDifference, TOLERANCE, built_in, compare, positions_of};
