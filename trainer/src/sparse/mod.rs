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

pub use checkpoint::{SparseCheckpoint, SparseCheckpointError};
pub use games::{GameStore, SparseRecipe, StoredGame, choose};
pub use learner::SparseLearner;
pub use network::SparseModel;
pub use onnx::{OnnxStorage, onnx};
pub use pass::{SparsePass, SparseTally};
pub use plain::SparseAnswer;
pub use samples::{SparseBatch, SparseSamples, SparseTargets};
pub use schedule::{RateDecay, RateSchedule};
pub use shape::SparseShape;
pub use stream::{SampleSource, SampleStream, SourceCursor, StreamCursor, StreamSizes};
pub use tensor::{SparseAdam, SparseTensor};
