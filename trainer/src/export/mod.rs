//! ONNX files with their card, and the proof that they equal the model.

mod proto;
mod graph;
mod writer;
mod resnet;
mod trm;
mod dense;
mod golden;
mod file;
mod command;
mod verify;
mod lc0;
mod quantise;

pub use command::ExportArgs;
pub use file::{network, onnx, unrolled};
pub use lc0::ConvertLc0Args;
pub use quantise::{QuantiseArgs, quickly};
pub use verify::{Difference, VerifyArgs, compare};
