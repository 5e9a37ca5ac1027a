//! Samples shuffled, mixed and batched ahead of the learner.
//!
//! Batch `k` of a seed is a pure function of the games, the mix and `k`: any thread can make it, and a
//! run that is interrupted goes on with the batch after its last one. A batch takes at most one
//! position from a game until a source has been used up, so its samples are as good as independent.
//! Memory holds the batches, not the games.

mod batch;
mod corpus;
mod teacher;
mod order;
mod prefetch;

pub use batch::{Batch, Origin, PolicyShares, TeacherTargets};
pub use corpus::{Corpus, CorpusBuilder, GameBuffer};
pub use order::{SampleOrder, Source};
pub use prefetch::Prefetch;
pub use teacher::Teacher;
