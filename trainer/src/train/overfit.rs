//! `overfit`: a few positions learnt by heart, to show that a configuration can learn at all.

use super::feed::Feed;
use super::learner::{Learner, TrainReport};
use super::validation::{HeldOut, Measures, validate};
use crate::config::TrainConfig;
use crate::loader::Batch;
use std::collections::HashSet;
use tch::{Device, Kind};

/// Share of the moves that has to be known by heart.
const TOP1: f64 = 0.99;
/// Lines of the curve.
const LINES: u64 = 20;
/// Batches among which different positions are looked for.
const LOOKS: usize = 100;

/// A batch of `samples` positions that all differ: of the same position, two moves can't both be known.
pub fn distinct_positions(feed: &mut dyn Feed, samples: usize) -> Result<Batch, String> {
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
    Err(format!("the games have only {} different positions; ask for fewer --samples", batch.size))
}

/// Where the learning stands.
#[derive(Clone, Copy, Debug)]
pub struct OverfitPoint {
    /// Steps so far.
    pub step: u64,
    lr: f64,
    /// Means over the steps since the last point, as the network trains.
    training: TrainReport,
    /// As the network would play: no dropout, running statistics, no smoothing of labels. The loss of WDL is what
    /// is above the least possible: its targets are no certainties.
    evaluated: Measures,
    /// The least possible loss of WDL.
    wdl_floor: f64,
}

impl OverfitPoint {
    fn learnt(&self, bound: f64) -> bool {
        let known = &self.evaluated;
        known.top1 >= TOP1 && known.policy_loss < bound && known.wdl_loss.is_none_or(|loss| loss < bound)
    }

    /// What to look at if the positions weren't learnt.
    pub fn judge(&self, config: &TrainConfig, bound: f64) -> Option<String> {
        let (seen, known) = (&self.training.measures, &self.evaluated);
        if self.learnt(bound) {
            None
        } else if self.training.skipped > 0 {
            Some(format!(
                "{} of the last steps weren't finite: lower lr ({}), or set precision to fp32",
                self.training.skipped, config.lr
            ))
        } else if seen.top1 >= TOP1 && seen.policy_loss < bound {
            Some("in training it knows them, but not as it would play: look at dropout and at the statistics of the norms, or allow more --steps".into())
        } else if known.top1 >= TOP1 && known.policy_loss < bound {
            Some(format!(
                "it knows the moves, but not who won (WDL loss {:.3} above the least possible): look at value_weight \
                 ({}){} and the value head's size",
                known.wdl_loss.unwrap_or_default(),
                config.value_weight,
                dropouts(config)
            ))
        } else {
            Some(format!(
                "top-1 {:.1} %, policy loss {:.3}: look at lr ({}; lr-finder suggests one), weight_decay ({}), \
                 label_smoothing ({}){} and the network's size; if the loss still falls, allow more --steps",
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

/// A loss of win, draw and loss; a network without a value has none.
fn wdl(loss: Option<f64>) -> String {
    loss.map_or("–".into(), |loss| format!("{loss:.3}"))
}

/// The network's dropouts, as items of a list.
fn dropouts(config: &TrainConfig) -> String {
    config.model.dropouts().iter().map(|(key, share)| format!(", model.{key} ({share})")).collect()
}

/// Steps on `batch` alone until it is known with losses below `bound`, `steps` at most; `curve` is told now and then.
///
/// # Errors
/// One line, if the configuration's numbers don't fit together.
pub fn overfit(
    config: &TrainConfig,
    device: Device,
    batch: &Batch,
    steps: u64,
    bound: f64,
    curve: &dyn Fn(&OverfitPoint),
) -> Result<OverfitPoint, String> {
    let steps = steps.max(1);
    let config = TrainConfig { warmup_steps: config.warmup_steps.min(steps / 10), ..config.clone() };
    let mut learner = Learner::new(&config, device)?;
    let held_out = HeldOut {
        batches: vec![batch.clone()],
        names: (0..=batch.source.iter().copied().max().unwrap_or(0))
            .map(|source| source.to_string())
            .collect(),
    };
    // A known target sums to one, a missing one to nothing.
    let valued: f32 = batch.wdl.iter().sum();
    let wdl_floor = entropy(&batch.wdl) / f64::from(valued.max(1.0));
    let every = steps.div_ceil(LINES);
    let mut step = 0;
    loop {
        let lr = config.learning_rate(step, step as f64 / steps as f64);
        learner.step(std::slice::from_ref(batch), lr);
        step += 1;
        if step % every == 0 || step == steps {
            let weights = learner.weights.copy(device, Kind::Float);
            let mut evaluated = validate(&learner.net, &weights, &held_out, &config).all.measures;
            evaluated.wdl_loss = evaluated.wdl_loss.map(|loss| loss - wdl_floor);
            let point = OverfitPoint { step, lr, training: learner.report(), evaluated, wdl_floor };
            curve(&point);
            if point.learnt(bound) || step == steps {
                return Ok(point);
            }
        }
    }
}

/// The sum of the targets' entropies (nat).
fn entropy(targets: &[f32]) -> f64 {
    targets.iter().map(|p| f64::from(*p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::Origin;

    /// Says the same three positions, one of them twice, again and again.
    struct RepeatedPositions;

    impl Feed for RepeatedPositions {
        fn next_batch(&mut self) -> Result<Batch, String> {
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

        fn again(&mut self, _: &[Origin]) -> Result<Batch, String> {
            unreachable!("nothing is shown again")
        }

        fn position(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
    }

    #[test]
    fn positions_to_learn_differ() {
        let batch = distinct_positions(&mut RepeatedPositions, 3).unwrap();
        assert_eq!((batch.size, &batch.policy[..]), (3, &[1, 2, 3][..]));
        assert_eq!((batch.masks.len(), batch.wdl.len()), (3 * 73, 9));
        assert!(distinct_positions(&mut RepeatedPositions, 4).unwrap_err().contains("only 3"));
    }

    #[test]
    fn the_least_loss_is_the_targets_entropy() {
        assert_eq!(entropy(&[1.0, 0.0, 0.0]), 0.0);
        assert!((entropy(&[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]) - 2.0 * 2f64.ln()).abs() < 1e-9);
    }
}
