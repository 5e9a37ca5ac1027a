pub mod encoding;
/// The interface [`eval::Evaluator`], network cards, the evaluation cache.
pub mod eval;
/// ONNX files without ONNX Runtime.
pub mod onnx_file;
/// Evaluators that use ONNX Runtime.
pub mod onnx;
/// Networks made for the CPU: sparse inputs, integer layers, SIMD kernels.
pub mod sparse;
pub mod card_file;
/// The shipped networks: files, strength, speed.
pub mod catalogue;
