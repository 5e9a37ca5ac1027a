//! Training of networks over sparse binary inputs on CPUs, without a tensor library.

mod lanes;
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
mod teacher;
mod checkpoint;
mod sources;
mod validation;
mod run;
mod resume;
mod overfit;
#[cfg(test)]
mod tests;

pub use checkpoint::SparseCheckpoint;
pub use games::{GameStore, SparseRecipe, choose};
pub use learner::SparseLearner;
pub use network::SparseModel;
pub use overfit::overfit;
pub use pass::{SparsePass, SparseTally};
pub use plain::SparseAnswer;
pub use run::{InitialWeights, SparseRun, SparseTrainer, run_of};
pub use samples::{SparseBatch, SparseSamples, SparseTargets};
pub use shape::SparseShape;
pub use sources::{HeldOutSamples, SparseGames};
pub use stream::{SampleSource, SampleStream, SourceCursor, StreamCursor, StreamSizes};
pub use tensor::SparseTensor;
pub use validation::{divergence, validate};
