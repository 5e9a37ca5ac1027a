//! Validation on held-out positions, by source and by game phase.

use engine::nets::eval::softmax;

use super::network::SparseModel;
use super::pass::{SparsePass, SparseTally};
use super::samples::SparseSamples;
use super::sources::HeldOutSamples;
use crate::learn::run::metrics::{CalibrationTally, Measures, Validation, Validations};

/// Positions per pass.
const BATCH: usize = 4096;

impl SparseTally {
    pub fn measures(&self) -> Measures {
        // NaN where no sample has a policy.
        let mean = |sum: f64, weight: f64| if weight > 0.0 { sum / weight } else { f64::NAN };
        let share = |count: u64| mean(count as f64, self.policies as f64);
        Measures {
            policy_loss: mean(self.policy_loss, self.policy_weight),
            wdl_loss: (self.value_weight > 0.0).then(|| self.value()),
            top1: share(self.top1),
            top5: share(self.top5),
        }
    }

    fn validation(&self) -> Validation {
        Validation { samples: self.samples, measures: self.measures(), ..Validation::default() }
    }
}

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
        names: held_out.iter().map(|source| source.name.clone()).collect(),
        sources: sources.iter().map(SparseTally::validation).collect(),
        phases: phases.iter().map(SparseTally::validation).collect(),
        calibration: (all.value_weight > 0.0).then(|| calibration.calibration()),
    }
}

/// Returns the mean KL divergence in nats of the policy of `network` from that of `reference`; 0 without positions.
pub fn divergence(
    network: &SparseModel,
    reference: &SparseModel,
    samples: &SparseSamples,
    threads: usize,
) -> f64 {
    let mut pass = SparsePass::default();
    let mut sum = 0.0;
    for first in (0..samples.len()).step_by(BATCH) {
        let batch = samples.batch(first..(first + BATCH).min(samples.len()));
        let mut logits = |model| {
            pass.run(model, &batch, false, threads);
            pass.logits.clone()
        };
        let (mine, theirs) = (logits(network), logits(reference));
        for sample in 0..batch.len() {
            let logarithms = |logits: &[f32]| -> Vec<f64> {
                let logits = &logits[batch.moves(sample)];
                let total = softmax(&mut logits.to_vec());
                logits.iter().map(|logit| f64::from(logit - total)).collect()
            };
            let (mine, theirs) = (logarithms(&mine), logarithms(&theirs));
            sum += mine.iter().zip(theirs).map(|(p, q)| p.exp() * (p - q)).sum::<f64>();
        }
    }
    sum / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::samples::SparseTargets;
    use super::super::shape::SparseShape;
    use super::*;
    use crate::data::samples::Phase;

    #[test]
    fn the_divergence_is_that_of_the_probabilities() {
        let shape = SparseShape { features: 4, rows_a: 3, rows_b: 3, policy: 2, value: 2, hidden: 2 };
        let mut now = SparseModel::zeros(shape);
        let mut samples = SparseSamples::default();
        let targets = SparseTargets {
            best: 0,
            wdl: [0.0; 3],
            policy_weight: 1.0,
            value_weight: 0.0,
            smoothing: 0.0,
            result: [0.0; 3],
            phase: Phase::Opening,
        };
        samples.push(&[1, 2], [[0, 0], [1, 0]].into_iter(), &[], targets);
        let first = now.clone();
        assert_eq!(divergence(&now, &first, &samples, 1), 0.0);
        // Odds of three to one instead of even.
        now.row_bias_a.w[1] = 3f32.ln();
        let expected = 0.25 * (0.25f64 / 0.5).ln() + 0.75 * (0.75f64 / 0.5).ln();
        assert!((divergence(&now, &first, &samples, 1) - expected).abs() < 1e-6);
        assert!(divergence(&now, &first, &SparseSamples::default(), 1) == 0.0);
    }
}
