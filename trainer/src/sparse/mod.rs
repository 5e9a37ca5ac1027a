//! Training of networks over sparse binary inputs on CPUs, without a tensor library.

mod lanes;
mod parallel;
mod schedule;
mod shape;
mod tensor;
mod network;
mod plain;
mod samples;
mod index;
mod pass;
mod learner;
mod games;
mod stream;
mod checkpoint;
mod onnx;
#[cfg(test)]
mod tests;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use games::{Games, Recipe, Record, choose};
pub use learner::Learner;
pub use network::Network;
pub use onnx::{Storage, onnx};
pub use pass::{Pass, Tally};
pub use plain::Answer;
pub use samples::{Batch, Samples, Targets};
pub use schedule::{Decay, Schedule};
pub use shape::Shape;
pub use stream::{Cursor, Place, Sizes, Source, Stream};
pub use tensor::{Adam, Tensor};
