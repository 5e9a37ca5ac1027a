//! Encoded positions with their targets, and batches of them.

use std::collections::HashSet;
use std::ops::Range;

use crate::data::samples::Phase;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseTargets {
    /// Index among the legal moves of the move with the greatest target probability.
    pub best: u16,
    /// For the side to move.
    pub wdl: [f32; 3],
    pub policy_weight: f32,
    /// 0 where `wdl` is unknown.
    pub value_weight: f32,
    /// Share of the policy target that is spread evenly over the legal moves.
    pub smoothing: f32,
    /// One-hot WDL for the side to move; all zero if unknown.
    pub result: [f32; 3],
    pub phase: Phase,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    feature: u32,
    row: u32,
    share: u32,
    features: u16,
    rows: u16,
    shared: bool,
    targets: SparseTargets,
}

#[derive(Clone, Debug, Default)]
pub struct SparseSamples {
    features: Vec<u16>,
    rows: Vec<[u16; 2]>,
    shares: Vec<f32>,
    heads: Vec<Head>,
}

impl SparseSamples {
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Adds a sample from active features, the rows of each legal move and the targets. `shares` are the target
    /// probabilities of the moves; if empty, `targets.best` has all. A sample with policy weight 0 needs no moves.
    pub fn push(
        &mut self,
        features: &[u16],
        rows: impl Iterator<Item = [u16; 2]>,
        shares: &[f32],
        targets: SparseTargets,
    ) {
        let row = self.rows.len();
        self.rows.extend(rows);
        let rows = self.rows.len() - row;
        let needs_no_moves = rows == 0 && targets.policy_weight == 0.0;
        assert!(needs_no_moves || usize::from(targets.best) < rows, "a best move among the legal ones");
        assert!(shares.is_empty() || shares.len() == rows, "a share for each move");
        self.heads.push(Head {
            feature: self.features.len() as u32,
            row: row as u32,
            share: self.shares.len() as u32,
            features: features.len() as u16,
            rows: rows as u16,
            shared: !shares.is_empty(),
            targets,
        });
        self.features.extend_from_slice(features);
        self.shares.extend_from_slice(shares);
    }

    pub fn append(&mut self, other: SparseSamples) {
        let (feature, row, share) =
            (self.features.len() as u32, self.rows.len() as u32, self.shares.len() as u32);
        let moved = |head: Head| Head {
            feature: head.feature + feature,
            row: head.row + row,
            share: head.share + share,
            ..head
        };
        self.heads.extend(other.heads.into_iter().map(moved));
        self.features.extend(other.features);
        self.rows.extend(other.rows);
        self.shares.extend(other.shares);
    }

    pub fn truncate(&mut self, count: usize) {
        self.heads.truncate(count);
    }

    pub fn keep_distinct(&mut self, count: usize) {
        let (features, rows) = (&self.features, &self.rows);
        let mut seen = HashSet::new();
        self.heads.retain(|head| {
            let features = &features[head.feature as usize..][..usize::from(head.features)];
            let rows = &rows[head.row as usize..][..usize::from(head.rows)];
            seen.len() < count && seen.insert((features, rows))
        });
    }

    /// Returns the range of each phase.
    pub fn sort_by_phase(&mut self) -> [Range<usize>; 3] {
        self.heads.sort_by_key(|head| head.targets.phase as u8);
        Phase::ALL.map(|phase| {
            let end = |phase: u8| self.heads.partition_point(|head| (head.targets.phase as u8) < phase);
            end(phase as u8)..end(phase as u8 + 1)
        })
    }

    pub fn shuffle(&mut self, rng: &mut fastrand::Rng) {
        rng.shuffle(&mut self.heads);
    }

    pub fn batch(&self, range: Range<usize>) -> SparseBatch {
        let heads = &self.heads[range];
        let mut batch = SparseBatch { feature_at: vec![0], move_at: vec![0], ..SparseBatch::default() };
        let mut totals = [0.0f64; 2];
        for head in heads {
            let features = &self.features[head.feature as usize..][..usize::from(head.features)];
            batch.features.extend_from_slice(features);
            batch.feature_at.push(batch.features.len() as u32);
            let n = usize::from(head.rows);
            let rows = &self.rows[head.row as usize..][..n];
            batch.rows_a.extend(rows.iter().map(|row| row[0]));
            batch.rows_b.extend(rows.iter().map(|row| row[1]));
            let targets = &head.targets;
            let even = targets.smoothing / n as f32;
            let rest = 1.0 - targets.smoothing;
            if head.shared {
                let shares = &self.shares[head.share as usize..][..n];
                batch.shares.extend(shares.iter().map(|share| rest * share + even));
            } else if n > 0 {
                let first = batch.shares.len();
                batch.shares.resize(first + n, even);
                batch.shares[first + usize::from(targets.best)] += rest;
            }
            batch.move_at.push(batch.rows_a.len() as u32);
            batch.best.push(targets.best);
            batch.wdl.push(targets.wdl);
            batch.results.push(targets.result);
            batch.policy_weight.push(targets.policy_weight);
            batch.value_weight.push(targets.value_weight);
            totals[0] += f64::from(targets.policy_weight);
            totals[1] += f64::from(targets.value_weight);
        }
        batch.totals = totals;
        batch
    }
}

/// Samples as a structure of arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseBatch {
    /// Offset of each sample's features in `features`, and the end.
    pub feature_at: Vec<u32>,
    pub features: Vec<u16>,
    /// Offset of each sample's moves in `rows_a`, `rows_b` and `shares`, and the end.
    pub move_at: Vec<u32>,
    /// Rows in the first table, one per move.
    pub rows_a: Vec<u16>,
    /// Rows in the second table, one per move.
    pub rows_b: Vec<u16>,
    /// Target probabilities, one per move.
    pub shares: Vec<f32>,
    /// Index of each sample's best move among its moves.
    pub best: Vec<u16>,
    pub wdl: Vec<[f32; 3]>,
    /// As in [`SparseTargets::result`].
    pub results: Vec<[f32; 3]>,
    pub policy_weight: Vec<f32>,
    pub value_weight: Vec<f32>,
    /// Sums of the policy and the value weights.
    pub totals: [f64; 2],
}

impl SparseBatch {
    pub fn len(&self) -> usize {
        self.best.len()
    }

    pub fn is_empty(&self) -> bool {
        self.best.is_empty()
    }

    pub fn has_policies(&self) -> bool {
        self.totals[0] > 0.0
    }

    pub fn has_values(&self) -> bool {
        self.totals[1] > 0.0
    }

    #[inline(always)]
    pub fn features(&self, sample: usize) -> &[u16] {
        &self.features[self.feature_at[sample] as usize..self.feature_at[sample + 1] as usize]
    }

    #[inline(always)]
    pub fn moves(&self, sample: usize) -> Range<usize> {
        self.move_at[sample] as usize..self.move_at[sample + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: SparseTargets = SparseTargets {
        best: 1,
        wdl: [0.5, 0.25, 0.25],
        policy_weight: 1.0,
        value_weight: 0.5,
        smoothing: 0.0,
        result: [0.0; 3],
        phase: Phase::Opening,
    };

    #[test]
    fn batches_hold_what_was_pushed() {
        let mut samples = SparseSamples::default();
        samples.push(&[1, 2, 3], [[1, 4], [2, 5]].into_iter(), &[], TARGETS);
        let mut more = SparseSamples::default();
        let smoothing = 0.3;
        more.push(&[7], [[9, 9], [8, 8], [7, 7]].into_iter(), &[0.0, 0.75, 0.25], TARGETS);
        more.push(&[8], [[9, 9], [8, 8], [7, 7]].into_iter(), &[], SparseTargets { smoothing, ..TARGETS });
        samples.append(more);
        let batch = samples.batch(0..3);
        assert_eq!((batch.len(), batch.features(0), batch.features(1)), (3, &[1, 2, 3][..], &[7][..]));
        assert_eq!(batch.moves(1), 2..5);
        assert_eq!((&batch.rows_a[2..5], &batch.rows_b[..2]), (&[9, 8, 7][..], &[4, 5][..]));
        let expected = [0.0, 1.0, 0.0, 0.75, 0.25, 0.1, 0.8, 0.1];
        for (share, expected) in batch.shares.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-6, "{:?}", batch.shares);
        }
        assert_eq!(batch.totals, [3.0, 1.5]);
        assert_eq!(samples.batch(1..2).features(0), [7]);
        samples.append(samples.clone());
        samples.keep_distinct(2);
        assert_eq!((samples.len(), samples.batch(1..2).features(0)), (2, &[7][..]));
    }
}
