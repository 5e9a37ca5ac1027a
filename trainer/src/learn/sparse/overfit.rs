//! `overfit` for this family.

use anyhow::Result;

use super::network::SparseModel;
use super::run::SparseTrainer;
use super::samples::{SparseBatch, SparseSamples};
use super::sources::HeldOutSamples;
use crate::config::{SparseSourceConfig, SparseTrainConfig};
use crate::learn::run::{self, LeastLosses, OverfitKeys, OverfitPoint, OverfitTask, Repeated, entropy};

impl OverfitKeys for SparseTrainConfig {
    fn of_policy(&self) -> Vec<(String, f64)> {
        let decay = f64::from(self.adam.weight_decay);
        vec![("lr".into(), self.lr), ("adam.weight_decay".into(), decay)]
    }

    fn of_value(&self) -> Vec<(String, f64)> {
        let weight = |source: &SparseSourceConfig| {
            (format!("value_weight of source {}", source.name), source.value_weight)
        };
        self.sources.iter().map(weight).collect()
    }
}

/// Means of the targets' entropies, weighted as the losses are.
fn least_losses(batch: &SparseBatch) -> LeastLosses {
    let mean = |weights: &[f32], entropy_of: &dyn Fn(usize) -> f64| {
        let weights = || weights.iter().map(|weight| f64::from(*weight)).enumerate();
        let sum: f64 = weights().map(|(sample, weight)| weight * entropy_of(sample)).sum();
        sum / weights().map(|(_, weight)| weight).sum::<f64>().max(f64::MIN_POSITIVE)
    };
    LeastLosses {
        policy: mean(&batch.policy_weight, &|sample| entropy(&batch.shares[batch.moves(sample)])),
        wdl: mean(&batch.value_weight, &|sample| entropy(&batch.wdl[sample])),
    }
}

/// Runs [`run::overfit`] on `samples`, all in one batch.
pub fn overfit(
    config: &SparseTrainConfig,
    samples: SparseSamples,
    steps: u64,
    bound: f64,
    curve: &dyn Fn(&OverfitPoint),
) -> Result<OverfitPoint> {
    let config = SparseTrainConfig { batch: samples.len(), ..config.clone() };
    let batch = samples.batch(0..samples.len());
    let held_out = [HeldOutSamples::all("samples", samples)];
    let mut learner = SparseTrainer::new(&config, SparseModel::new(config.shape(), config.seed));
    let task = OverfitTask { config: config.run(), steps, bound, least: least_losses(&batch) };
    Ok(run::overfit(&mut learner, &mut Repeated(batch), &held_out, &task, curve)?)
}

#[cfg(test)]
mod tests {
    use super::super::samples::SparseTargets;
    use super::*;
    use crate::data::samples::Phase;

    #[test]
    fn the_least_losses_are_weighted_as_the_losses_are() {
        let mut samples = SparseSamples::default();
        for (wdl, policy_weight, value_weight) in
            [([0.5, 0.5, 0.0], 1.0, 3.0), ([1.0, 0.0, 0.0], 3.0, 1.0), ([0.0; 3], 0.0, 0.0)]
        {
            let targets = SparseTargets {
                best: 0,
                wdl,
                policy_weight,
                value_weight,
                smoothing: 0.0,
                result: [0.0; 3],
                phase: Phase::Opening,
            };
            let shares: &[f32] = if policy_weight == 3.0 { &[0.5, 0.5] } else { &[1.0, 0.0] };
            samples.push(&[1], [[0, 0], [1, 0]].into_iter(), shares, targets);
        }
        let least = least_losses(&samples.batch(0..3));
        // Three of four of the weight have two equally good moves, or two equally likely results.
        let expected = 0.75 * 2f64.ln();
        assert!((least.policy - expected).abs() < 1e-7 && (least.wdl - expected).abs() < 1e-7, "{least:?}");
        assert_eq!(least_losses(&samples.batch(2..3)), LeastLosses::default());
    }
}
