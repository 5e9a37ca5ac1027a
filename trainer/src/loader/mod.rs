//! Samples shuffled, mixed and batched ahead of the learner.
//!
//! Batch `k` of a seed is a pure function of the games, the mix and `k`: any thread can make it, and a
//! run that is interrupted goes on with the batch after its last one. A batch takes at most one
//! position from a game until a source has been used up, so its samples are as good as independent.
//! Memory holds the batches, not the games.

mod corpus;
mod plan;
mod prefetch;

pub use corpus::{Corpus, CorpusBuilder, Record};
pub use plan::{Plan, Source};
pub use prefetch::Prefetch;

/// A batch of training samples, row-major; `n` is the batch size.
///
/// Inputs travel as bit masks (about 600 bytes a sample) and are expanded to planes on the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Number of samples.
    pub size: usize,
    /// `[n, 73]`: the input rows of [`engine::encoding::planes72::Planes72`].
    pub masks: Vec<u64>,
    /// `[n, 3]`: the values of the rows that are not constant.
    pub scalars: Vec<f32>,
    /// `[n, 73]`: legal moves, one bit per `az4672/1` index: index `64·w + b` is bit `b` of word `w`.
    pub legal: Vec<u64>,
    /// `[n]`: the `az4672/1` index of the move played.
    pub policy: Vec<u16>,
    /// `[n, 3]`: target probabilities of win, draw, loss for the mover; all zero for a sample that
    /// the value learns nothing from.
    pub wdl: Vec<f32>,
    /// `[n]`: which source (index in the order the loader was given them) a sample came from.
    pub source: Vec<u8>,
}
