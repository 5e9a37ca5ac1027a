//! Converts lc0's residual networks (`WEIGHTS.pb.gz`) to ONNX, with or without squeeze-and-excitation, with a
//! convolutional or dense policy head and a WDL or scalar value head, without the moves-left head.

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
