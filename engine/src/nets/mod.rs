//! Networks: a position's value and policy.

/// Encoding of positions as input tensors and of moves as policy indices.
pub mod encoding;
/// The seam [`eval::Evaluator`], network cards, the evaluation cache.
pub mod eval;
/// ONNX files without ONNX Runtime: messages, metadata, constant tensors.
pub mod onnx_file;
/// ONNX Runtime behind the seam.
pub mod onnx;
/// Networks made for the CPU: sparse inputs, integer layers, vectorised kernels.
pub mod sparse;
/// What a network file says of itself.
pub mod card_file;
/// The shipped networks: files, strength, speed.
pub mod catalogue;
