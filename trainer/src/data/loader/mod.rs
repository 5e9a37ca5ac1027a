//! Shuffled, mixed and prefetched batches. Batch `k` is a pure function of games, source weights, seed and `k`, so any
//! thread can make it and an interrupted run continues exactly. A pass takes each position of a source once, in random
//! order. Games are in temporary files, not in memory.

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
