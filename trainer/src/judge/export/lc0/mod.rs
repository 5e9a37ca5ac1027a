//! Converts Leela Chess Zero's networks (`WEIGHTS.pb.gz`) to ONNX.
//!
//! Residual networks are supported, with or without squeeze-and-excitation, with a convolutional or a dense
//! policy head and a WDL or a scalar value head. Transformers are not. The moves-left head is omitted.

mod proto;
mod layers;
mod network;
mod graph;
mod file;
#[cfg(all(test, feature = "libtorch"))]
mod random;
#[cfg(all(test, feature = "libtorch"))]
mod tests;

pub use file::onnx;
pub use network::Lc0Net;
