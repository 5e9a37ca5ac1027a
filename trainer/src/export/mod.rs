//! ONNX files with their card, and the proof that they equal the model.

mod proto;
mod graph;
mod resnet;
mod golden;
mod file;
mod command;
mod verify;

pub use command::ExportArgs;
pub use file::onnx;
pub use verify::{Difference, VerifyArgs, compare};
