//! Networks made for the CPU: two small bodies over sparse binary inputs, run in integers.
//!
//! The policy and the value have a body each: the sum of one embedding per active feature of
//! [`sparse1`](crate::nets::encoding::sparse1). The policy's logits are products of its hidden vector with two rows per
//! legal move ([`moves1`](crate::nets::encoding::moves1)); the value goes through two small layers to win, draw and loss.
//! A network file is ONNX and runs in ONNX Runtime, which is the reference; [`SparseNetwork`] reads its initialisers
//! and makes integers of them, [`SparseEvaluator`] computes with these. Everything up to the logits is integer
//! arithmetic, the rest is single floating-point operations in a fixed order: answers are the same to the bit on
//! every machine.

mod protobuf;
mod tensors;
mod integers;
mod simd;
mod layers;
mod softmax;
mod evaluator;
mod network;

pub use evaluator::SparseEvaluator;
pub use network::{SparseError, SparseFile, SparseNetwork, TOLERANCE};
pub use protobuf::FileContents;
pub use tensors::SparseTensors;

#[cfg(test)]
pub(crate) use network::tests::small_file;
