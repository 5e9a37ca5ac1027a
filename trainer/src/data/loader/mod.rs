//! Samples shuffled, mixed and batched ahead of the learner.
//!
//! Batch `k` is a pure function of the games, the weights of the sources, the seed and `k`: any thread can make it, and
//! an interrupted run continues with the batch after its last one. A pass through a source takes each of its
//! positions once, in random order: all are equally likely, whatever the length of their games. The games are in temporary files, not in memory.

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
