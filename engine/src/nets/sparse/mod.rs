//! Networks made for the CPU: two small bodies over sparse binary inputs, run in integers.
//!
//! Policy and value have a body each: the sum of one embedding per active feature of
//! [`sparse1`](crate::nets::encoding::sparse1). The policy's logits are products of its hidden vector with two rows per
//! legal move ([`moves1`](crate::nets::encoding::moves1)); the value goes through two small layers to win, draw and
//! loss.
//!
//! A network file is ONNX; ONNX Runtime is the reference. Here arithmetic is integer up to the logits, then single
//! floating-point operations in a fixed order, so answers are bit-identical on every machine.

mod tensors;
mod integers;
mod simd;
mod layers;
mod softmax;
mod evaluator;
mod network;
#[cfg(test)]
mod damaged;

pub use evaluator::SparseEvaluator;
pub use network::{SparseError, SparseFile, SparseNetwork, TOLERANCE};
pub use tensors::SparseTensors;

#[cfg(test)]
pub(crate) use network::tests::small_file;
