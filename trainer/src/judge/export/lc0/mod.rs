//! Converts Leela Chess Zero's networks (`WEIGHTS.pb.gz`) to ONNX: residual networks with or without
//! squeeze-and-excitation, with a convolutional or dense policy head and a WDL or scalar value head, but no
//! transformers. The moves-left head is dropped.

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
