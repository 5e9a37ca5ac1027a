//! Validation on held-out positions, by source and by phase of the game.

use super::network::SparseModel;
use super::pass::{SparsePass, SparseTally};
use super::sources::HeldOutSamples;
use crate::metrics::{CalibrationTally, Measures, Validation, Validations};

/// Positions that are evaluated at once.
const BATCH: usize = 4096;

impl SparseTally {
    /// The means.
    pub fn measures(&self) -> Measures {
        let share = |count: u64| count as f64 / self.samples.max(1) as f64;
        Measures {
            policy_loss: self.policy(),
            wdl_loss: (self.value_weight > 0.0).then(|| self.value()),
            top1: share(self.top1),
            top5: share(self.top5),
        }
    }

    fn validation(&self) -> Validation {
        Validation { samples: self.samples, measures: self.measures(), ..Validation::default() }
    }
}

/// Measures a network on held-out positions.
pub fn validate(network: &SparseModel, held_out: &[HeldOutSamples], threads: usize) -> Validations {
    let mut pass = SparsePass::default();
    let mut phases = [SparseTally::default(); 3];
    let mut calibration = CalibrationTally::default();
    let mut sources = Vec::new();
    for HeldOutSamples { samples, phases: ranges, .. } in held_out {
        let mut source = SparseTally::default();
        for (range, phase) in ranges.iter().zip(&mut phases) {
            for first in range.clone().step_by(BATCH) {
                let batch = samples.batch(first..(first + BATCH).min(range.end));
                let tally = pass.run(network, &batch, false, threads).0;
                source.add(&tally);
                phase.add(&tally);
                for (predicted, result) in pass.wdl.iter().zip(&batch.results) {
                    if *predicted != [0.0; 3] {
                        calibration.add(*predicted, *result);
                    }
                }
            }
        }
        sources.push(source);
    }
    let mut all = SparseTally::default();
    sources.iter().for_each(|source| all.add(source));
    Validations {
        all: all.validation(),
        sources: sources.iter().map(SparseTally::validation).collect(),
        phases: phases.iter().map(SparseTally::validation).collect(),
        calibration: (all.value_weight > 0.0).then(|| calibration.calibration()),
    }
}

/// The mean Kullback–Leibler divergence (nat) of the policy of `network` from that of `reference` on held-out positions,
/// at most `count` of each source; none if there are no positions.
pub fn divergence(
    network: &SparseModel,
    reference: &SparseModel,
    held_out: &[HeldOutSamples],
    count: usize,
    threads: usize,
) -> Option<f64> {
    let mut pass = SparsePass::default();
    let (mut sum, mut samples) = (0.0, 0usize);
    for HeldOutSamples { samples: own, .. } in held_out {
        let end = own.len().min(count);
        for first in (0..end).step_by(BATCH) {
            let batch = own.batch(first..(first + BATCH).min(end));
            let mut logits = |model| {
                pass.run(model, &batch, false, threads);
                pass.logits.clone()
            };
            let (mine, theirs) = (logits(network), logits(reference));
            for sample in 0..batch.len() {
                let log = |logits: &[f32]| {
                    let mut p = logits[batch.moves(sample)].to_vec();
                    let total = engine::eval::softmax(&mut p);
                    logits[batch.moves(sample)]
                        .iter()
                        .map(|logit| f64::from(logit - total))
                        .collect::<Vec<_>>()
                };
                sum += log(&mine).iter().zip(log(&theirs)).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
            }
            samples += batch.len();
        }
    }
    (samples > 0).then(|| sum / samples as f64)
}
