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
mod config;
mod sources;
mod run;
#[cfg(test)]
mod tests;

pub use checkpoint::SparseCheckpoint;
pub use config::{SparseFamily, SparseModelConfig, SparseSourceConfig, SparseTrainConfig};
pub use games::{GameStore, SparseRecipe, choose};
pub use learner::SparseLearner;
pub use network::SparseModel;
pub use pass::{SparsePass, SparseTally};
pub use plain::SparseAnswer;
pub use run::{SparseProgress, SparseRun, run_of};
pub use samples::{SparseBatch, SparseSamples, SparseTargets};
pub use schedule::{RateDecay, RateSchedule};
pub use shape::SparseShape;
pub use sources::{HeldOutSamples, SparseGames};
pub use stream::{SampleSource, SampleStream, SourceCursor, StreamCursor, StreamSizes};
pub use tensor::{SparseAdam, SparseTensor};
