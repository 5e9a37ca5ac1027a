//! `overfit`: tests that a configuration can learn at all, by overfitting a few positions.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tch::{Device, Kind};

use super::feed::Feed;
use super::learner::Learner;
use super::validation::{HeldOut, validate};
use crate::config::TrainConfig;
use crate::data::loader::Batch;
use crate::learn::run::metrics::{Measures, TrainReport};

/// Top-1 accuracy that counts as overfitted.
const TOP1: f64 = 0.99;
/// Least number of points of the learning curve.
const LINES: u64 = 20;
/// Longest time between two points.
const SILENCE: Duration = Duration::from_secs(8);
/// Most batches to search for distinct positions.
const LOOKS: usize = 100;

/// Returns `samples` distinct positions, because two moves of the same position could not both be learnt.
pub fn distinct_positions(feed: &mut dyn Feed, samples: usize) -> Result<Batch> {
    let mut seen = HashSet::new();
    let mut batch = Batch::default();
    for _ in 0..LOOKS {
        let next = feed.next_batch()?;
        for row in 0..next.size {
            let masks = next.row_of(&next.masks, row).to_vec();
            let scalars: Vec<u32> = next.row_of(&next.scalars, row).iter().map(|x| x.to_bits()).collect();
            if batch.size < samples && seen.insert((masks, scalars)) {
                batch.push(&next, row);
            }
        }
        if batch.size == samples {
            return Ok(batch);
        }
    }
    bail!("the games have only {} distinct positions: use fewer --samples", batch.size)
}

#[derive(Clone, Copy, Debug)]
pub struct OverfitPoint {
    pub step: u64,
    lr: f64,
    /// Means over the steps since the last point, in training mode.
    training: TrainReport,
    /// Measures in inference mode: no dropout, running statistics, no label smoothing. The WDL loss is the excess over
    /// `wdl_floor`.
    evaluated: Measures,
    /// The minimum of the WDL loss: the entropy of the targets, or 0 for a scalar value.
    wdl_floor: f64,
}

impl OverfitPoint {
    fn is_overfitted(&self, bound: f64) -> bool {
        let known = &self.evaluated;
        known.top1 >= TOP1 && known.policy_loss < bound && known.wdl_loss.is_none_or(|loss| loss < bound)
    }

    /// Returns what to change, or none if the positions are overfitted.
    pub fn advice(&self, config: &TrainConfig, bound: f64) -> Option<String> {
        let (seen, known) = (&self.training.measures, &self.evaluated);
        if self.is_overfitted(bound) {
            None
        } else if self.training.skipped > 0 {
            Some(format!(
                "{} of the last steps were not finite: lower lr ({}), or set precision to fp32",
                self.training.skipped, config.lr
            ))
        } else if seen.top1 >= TOP1 && seen.policy_loss < bound {
            Some("the positions are overfitted in training mode but not in inference mode: check dropout and BatchNorm's running statistics, or increase --steps".into())
        } else if known.top1 >= TOP1 && known.policy_loss < bound {
            Some(format!(
                "the policy is overfitted, but not the value (WDL loss {:.3} above its minimum): check value_weight ({}){} and \
                 the size of the value head",
                known.wdl_loss.unwrap_or_default(),
                config.value_weight,
                dropouts(config)
            ))
        } else {
            Some(format!(
                "top-1 {:.1} %, policy loss {:.3}: check lr ({}; lr-finder suggests one), weight_decay ({}), \
                 label_smoothing ({}){} and the network's size; if the loss is still falling, increase --steps",
                100.0 * known.top1,
                known.policy_loss,
                config.lr,
                config.weight_decay,
                config.label_smoothing,
                dropouts(config)
            ))
        }
    }
}

impl std::fmt::Display for OverfitPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, b) = (&self.training.measures, &self.evaluated);
        write!(
            f,
            "{:6}  {:8.2e}  {:6.3}  {:>6}  {:4.0}% |            {:6.3}  {:>6}  {:4.0}%",
            self.step,
            self.lr,
            a.policy_loss,
            wdl(a.wdl_loss.map(|loss| loss - self.wdl_floor)),
            100.0 * a.top1,
            b.policy_loss,
            wdl(b.wdl_loss),
            100.0 * b.top1
        )
    }
}

fn wdl(loss: Option<f64>) -> String {
    loss.map_or("–".into(), |loss| format!("{loss:.3}"))
}

fn dropouts(config: &TrainConfig) -> String {
    config.model.dropouts().iter().map(|(key, share)| format!(", model.{key} ({share})")).collect()
}

/// Trains on `batch` alone for `steps` steps, or until its losses are below `bound` (nats) and its top-1 accuracy
/// reaches `TOP1`. Calls `curve` with about 20 points of the learning curve, more if steps are slow, and returns the
/// last.
pub fn overfit(
    config: &TrainConfig,
    device: Device,
    batch: &Batch,
    steps: u64,
    bound: f64,
    curve: &dyn Fn(&OverfitPoint),
) -> Result<OverfitPoint> {
    let steps = steps.max(1);
    let config = TrainConfig { warmup_steps: config.warmup_steps.min(steps / 10), ..config.clone() };
    let mut learner = Learner::new(&config, device)?;
    let held_out = HeldOut {
        batches: vec![batch.clone()],
        names: (0..=batch.source.iter().copied().max().unwrap_or(0))
            .map(|source| source.to_string())
            .collect(),
    };
    // A target sums to 1, or to 0 where it is missing.
    let valued: f32 = batch.wdl.iter().sum();
    let scalar = config.model.has_scalar_value();
    let wdl_floor = if scalar { 0.0 } else { entropy(&batch.wdl) / f64::from(valued.max(1.0)) };
    let every = steps.div_ceil(LINES);
    let mut step = 0;
    let mut said = Instant::now();
    loop {
        let lr = config.learning_rate(step, step as f64 / steps as f64);
        learner.step(std::slice::from_ref(batch), lr);
        step += 1;
        if step % every == 0 || step == steps || said.elapsed() >= SILENCE {
            said = Instant::now();
            let weights = learner.weights.copy(device, Kind::Float);
            let mut evaluated = validate(&learner.net, &weights, &held_out, &config).all.measures;
            evaluated.wdl_loss = evaluated.wdl_loss.map(|loss| loss - wdl_floor);
            let point = OverfitPoint { step, lr, training: learner.report(), evaluated, wdl_floor };
            curve(&point);
            if point.is_overfitted(bound) || step == steps {
                return Ok(point);
            }
        }
    }
}

/// Sums the entropies in nats.
fn entropy(targets: &[f32]) -> f64 {
    targets.iter().map(|p| f64::from(*p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::loader::Origin;

    struct RepeatedPositions;

    impl Feed for RepeatedPositions {
        fn next_batch(&mut self) -> Result<Batch> {
            let mut batch = Batch { size: 4, ..Batch::default() };
            for position in [1u64, 2, 1, 3] {
                batch.masks.extend([position; 73]);
                batch.scalars.extend([0.5; 3]);
                batch.legal.extend([position; 73]);
                batch.policy.push(position as u16);
                batch.wdl.extend([0.0, 1.0, 0.0]);
                batch.results.extend([0.0, 1.0, 0.0]);
                batch.source.push(0);
                batch.draw.push(position);
                batch.tactical.push(false);
                batch.phase.push(0);
            }
            Ok(batch)
        }

        fn again(&mut self, _: &[Origin]) -> Result<Batch> {
            unreachable!("no replay")
        }

        fn position(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
    }

    #[test]
    fn positions_are_distinct() {
        let batch = distinct_positions(&mut RepeatedPositions, 3).unwrap();
        assert_eq!((batch.size, &batch.policy[..]), (3, &[1, 2, 3][..]));
        assert_eq!((batch.masks.len(), batch.wdl.len()), (3 * 73, 9));
        assert!(distinct_positions(&mut RepeatedPositions, 4).unwrap_err().to_string().contains("only 3"));
    }

    #[test]
    fn the_minimal_loss_is_the_targets_entropy() {
        assert_eq!(entropy(&[1.0, 0.0, 0.0]), 0.0);
        assert!((entropy(&[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]) - 2.0 * 2f64.ln()).abs() < 1e-9);
    }
}
