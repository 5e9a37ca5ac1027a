//! Shuffled, mixed and prefetched batches. Batch `k` depends only on games, source weights, seed and `k`, so any thread
//! can make it and an interrupted run continues exactly.

mod batch;
mod corpus;
mod teacher;
mod order;
mod prefetch;

pub use batch::{Batch, Origin, PolicyShares, TeacherTargets};
pub use corpus::{Corpus, CorpusBuilder, GameBuffer};
pub use order::{SampleOrder, Source};
pub use prefetch::Prefetch;
pub use teacher::{OpenEvaluator, Teacher};
