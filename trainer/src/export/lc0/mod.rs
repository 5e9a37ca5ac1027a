//! `convert-lc0`: a network of Leela Chess Zero's, `WEIGHTS.pb.gz`, as one of ours.
//!
//! Residual networks are taken, with or without squeeze-and-excitation, with a convolutional or a dense
//! policy, with a value of win, draw and loss or of one number; those with transformers aren't. The head that
//! tells how long the game will last is left out.

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
