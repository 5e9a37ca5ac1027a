use engine::nets::encoding::PolicyIndex;
use serde::{Deserialize, Serialize};

/// A sample's source, and its number among that source's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin(pub u8, pub u64);

/// `n` samples, row-major. Inputs stay bit masks (about 600 bytes per sample of `planes72/1`) until they are on the
/// device. All samples have the same number of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub size: usize,
    /// `[n, words]`: the input's bit masks; for `planes72/1` the 73 words of
    /// [`engine::nets::encoding::planes72::Planes72`].
    pub masks: Vec<u64>,
    /// `[n, scalars]`: input values other than 0 and 1; 3 for `planes72/1`, none for most others.
    pub scalars: Vec<f32>,
    /// `[n, words]`: legal moves, one bit per policy index: index `64·w + b` is bit `b` of word `w`.
    pub legal: Vec<u64>,
    /// `[n]`: policy index of the move played; with shares, of the move with the largest share.
    pub policy: Vec<u16>,
    /// `[n, 3]`: WDL target for the side to move; all zero if none.
    pub wdl: Vec<f32>,
    /// `[n, 3]`: game result as WDL for the side to move; all zero if unknown.
    pub results: Vec<f32>,
    pub source: Vec<u8>,
    /// `[n]`: the sample's number among those of its source.
    pub draw: Vec<u64>,
    /// `[n]`: whether the move played captures, promotes or gives check.
    pub tactical: Vec<bool>,
    pub shares: PolicyShares,
    /// `[n]`: index of [`crate::data::samples::Phase::ALL`].
    pub phase: Vec<u8>,
    pub teacher_targets: Option<TeacherTargets>,
}

/// Policy targets of searches, which have several moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyShares {
    /// `[n]`: entries of the sample in `indices` and `shares`; 0 if the target is the move played.
    pub lengths: Vec<u8>,
    /// `[entries]`
    pub indices: Vec<u16>,
    /// `[entries]`: sum to one per sample.
    pub shares: Vec<f32>,
}

impl PolicyShares {
    pub fn push(&mut self, shares: &[(PolicyIndex, f32)]) {
        self.lengths.push(shares.len() as u8);
        self.indices.extend(shares.iter().map(|(index, _)| index.0));
        self.shares.extend(shares.iter().map(|(_, share)| *share));
    }

    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    pub fn of(&self, row: usize) -> impl Iterator<Item = (PolicyIndex, f32)> + use<'_> {
        let first: usize = self.lengths.iter().take(row).map(|length| usize::from(*length)).sum();
        let range = first..first + self.lengths.get(row).map_or(0, |length| usize::from(*length));
        let indices = self.indices[range.clone()].iter().map(|index| PolicyIndex(*index));
        indices.zip(self.shares[range].iter().copied())
    }
}

/// A teacher's targets. The first three columns have an entry per legal move of each sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TeacherTargets {
    /// The sample's row in the batch.
    pub rows: Vec<u32>,
    pub indices: Vec<u16>,
    pub probabilities: Vec<f32>,
    /// `[n, 3]`: WDL for the side to move.
    pub wdl: Vec<f32>,
}

impl Batch {
    pub fn origin(&self, row: usize) -> Origin {
        Origin(self.source[row], self.draw[row])
    }

    /// Without the teacher's targets.
    pub fn push(&mut self, other: &Batch, row: usize) {
        self.size += 1;
        self.masks.extend_from_slice(other.row_of(&other.masks, row));
        self.scalars.extend_from_slice(other.row_of(&other.scalars, row));
        self.legal.extend_from_slice(other.row_of(&other.legal, row));
        self.policy.push(other.policy[row]);
        self.wdl.extend_from_slice(&other.wdl[row * 3..][..3]);
        self.results.extend_from_slice(&other.results[row * 3..][..3]);
        self.source.push(other.source[row]);
        self.draw.push(other.draw[row]);
        self.tactical.push(other.tactical[row]);
        self.phase.push(other.phase[row]);
        self.shares.push(&other.shares.of(row).collect::<Vec<_>>());
    }

    /// Of a column with equally many numbers per sample.
    pub fn row_of<'a, T>(&self, numbers: &'a [T], row: usize) -> &'a [T] {
        let width = numbers.len() / self.size;
        &numbers[row * width..][..width]
    }

    /// Both batches must have the same schemes.
    pub fn append(&mut self, other: Batch) {
        let rows = self.size as u32;
        self.size += other.size;
        self.masks.extend(other.masks);
        self.scalars.extend(other.scalars);
        self.legal.extend(other.legal);
        self.policy.extend(other.policy);
        self.wdl.extend(other.wdl);
        self.results.extend(other.results);
        self.source.extend(other.source);
        self.draw.extend(other.draw);
        self.tactical.extend(other.tactical);
        self.shares.lengths.extend(other.shares.lengths);
        self.shares.indices.extend(other.shares.indices);
        self.shares.shares.extend(other.shares.shares);
        self.phase.extend(other.phase);
        if let (Some(own), Some(other)) = (&mut self.teacher_targets, other.teacher_targets) {
            own.rows.extend(other.rows.iter().map(|row| row + rows));
            own.indices.extend(other.indices);
            own.probabilities.extend(other.probabilities);
            own.wdl.extend(other.wdl);
        }
    }
}
