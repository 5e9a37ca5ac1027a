//! Samples shuffled, mixed and batched ahead of the learner.
//!
//! Batch `k` of a seed is a pure function of the games, the mix and `k`: any thread can make it, and a
//! run that is interrupted goes on with the batch after its last one. A batch takes at most one
//! position from a game until a source has been used up, so its samples are as good as independent.

mod corpus;
mod plan;
mod prefetch;

use engine::encoding::planes72::{ROWS, SCALARS};

pub use corpus::{Corpus, CorpusBuilder};
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
    /// `[n, 3]`: target probabilities of win, draw, loss for the mover.
    pub wdl: Vec<f32>,
    /// `[n]`: which source (index in the order the loader was given them) a sample came from.
    pub source: Vec<u8>,
}

impl Batch {
    /// Adds sample `row` of another batch.
    ///
    /// # Panics
    ///
    /// If there is no such sample.
    pub fn push(&mut self, other: &Batch, row: usize) {
        let words = row * ROWS..(row + 1) * ROWS;
        self.size += 1;
        self.masks.extend_from_slice(&other.masks[words.clone()]);
        self.scalars.extend_from_slice(&other.scalars[row * SCALARS..][..SCALARS]);
        self.legal.extend_from_slice(&other.legal[words]);
        self.policy.push(other.policy[row]);
        self.wdl.extend_from_slice(&other.wdl[row * 3..][..3]);
        self.source.push(other.source[row]);
    }
}
