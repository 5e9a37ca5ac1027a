//! Networks made for the CPU: two small bodies over sparse binary inputs, run in integers.
//!
//! The policy and the value have a body each: the sum of one embedding per active feature of
//! [`sparse1`](crate::nets::encoding::sparse1). The policy's logits are products of its hidden vector with
//! two rows per legal move ([`moves1`](crate::nets::encoding::moves1)); the value goes through two small
//! layers to win, draw and loss. A network file is ONNX and also runs in ONNX Runtime, the reference.
//! [`SparseNetwork`] rounds its initialisers to integers, [`SparseEvaluator`] computes with these. Arithmetic
//! is integer up to the logits; the rest are single floating-point operations in a fixed order. So answers
//! are the same to the bit on every machine.

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
