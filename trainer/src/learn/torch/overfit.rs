//! `overfit` in libtorch.

use std::collections::HashSet;

use anyhow::{Result, bail};
use tch::Device;

use super::learner::Learner;
use super::validation::HeldOut;
use crate::config::{TacticalReplay, TrainConfig};
use crate::data::loader::Batch;
use crate::learn::run::{self, Feed, LeastLosses, OverfitKeys, OverfitPoint, OverfitTask, Repeated, entropy};

/// Most batches to search for distinct positions.
const LOOKS: usize = 100;

/// Returns `samples` distinct positions, because two moves of the same position could not both be learnt.
pub fn distinct_positions(feed: &mut dyn Feed<Batch = Batch>, samples: usize) -> Result<Batch> {
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

impl OverfitKeys for TrainConfig {
    fn of_policy(&self) -> Vec<(String, f64)> {
        let keys =
            [("lr", self.lr), ("weight_decay", self.weight_decay), ("label_smoothing", self.label_smoothing)];
        keys.map(|(key, value)| (key.to_owned(), value)).into_iter().chain(dropouts(self)).collect()
    }

    fn of_value(&self) -> Vec<(String, f64)> {
        [("value_weight".to_owned(), self.value_weight)].into_iter().chain(dropouts(self)).collect()
    }
}

fn dropouts(config: &TrainConfig) -> impl Iterator<Item = (String, f64)> {
    config.model.dropouts().into_iter().map(|(key, share)| (format!("model.{key}"), share))
}

/// Means of the targets' entropies. A value target sums to 1, or to 0 where it is missing.
fn least_losses(batch: &Batch, config: &TrainConfig) -> LeastLosses {
    let valued: f32 = batch.wdl.iter().sum();
    let wdl = entropy(&batch.wdl) / f64::from(valued.max(1.0));
    LeastLosses {
        policy: entropy(&batch.shares.shares) / batch.size.max(1) as f64,
        wdl: if config.model.has_scalar_value() { 0.0 } else { wdl },
    }
}

/// Runs [`run::overfit`] on `batch`.
pub fn overfit(
    config: &TrainConfig,
    device: Device,
    batch: &Batch,
    steps: u64,
    bound: f64,
    curve: &dyn Fn(&OverfitPoint),
) -> Result<OverfitPoint> {
    let config = TrainConfig {
        batch: batch.size,
        accumulation: 1,
        tactical_replay: TacticalReplay::default(),
        ..config.clone()
    };
    let mut learner = Learner::new(&config, device)?;
    let held_out = HeldOut {
        batches: vec![batch.clone()],
        names: (0..=batch.source.iter().copied().max().unwrap_or(0))
            .map(|source| source.to_string())
            .collect(),
    };
    let task = OverfitTask { config: config.run(), steps, bound, least: least_losses(batch, &config) };
    Ok(run::overfit(&mut learner, &mut Repeated(batch.clone()), &held_out, &task, curve)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::nets::encoding::PolicyIndex;
    struct RepeatedPositions;

    impl Feed for RepeatedPositions {
        type Batch = Batch;

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
    fn a_policy_of_several_moves_has_a_least_loss() {
        let mut batch = RepeatedPositions.next_batch().unwrap();
        // Two moves each for half of the positions, equally good.
        for shares in [&[(3, 0.5), (4, 0.5)][..], &[], &[(5, 0.5), (6, 0.5)], &[]] {
            let shares: Vec<_> = shares.iter().map(|(index, share)| (PolicyIndex(*index), *share)).collect();
            batch.shares.push(&shares);
        }
        let least = least_losses(&batch, &TrainConfig::default());
        assert!((least.policy - 0.5 * 2f64.ln()).abs() < 1e-7 && least.wdl == 0.0, "{least:?}");
    }
}
