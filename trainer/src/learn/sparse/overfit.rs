//! `overfit` for this family: tests that a configuration can learn at all, by overfitting a few positions.

use std::fmt;
use std::time::{Duration, Instant};

use super::learner::SparseLearner;
use super::network::SparseModel;
use super::pass::SparsePass;
use super::samples::SparseBatch;
use crate::config::SparseTrainConfig;
use crate::learn::run::metrics::Measures;

/// Top-1 accuracy that counts as overfitted.
const TOP1: f64 = 0.99;
/// Least number of points of the learning curve.
const LINES: u64 = 20;
/// Longest time between two points.
const SILENCE: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug)]
pub struct SparseOverfitPoint {
    pub step: u64,
    lr: f32,
    /// Both losses are relative to their minimum, the entropy of the targets.
    measures: Measures,
}

impl SparseOverfitPoint {
    /// `bound` is in nats.
    pub fn is_overfitted(&self, bound: f64) -> bool {
        let Measures { policy_loss, wdl_loss, top1, .. } = self.measures;
        top1 >= TOP1 && policy_loss < bound && wdl_loss.is_none_or(|loss| loss < bound)
    }

    pub fn advice(&self, config: &SparseTrainConfig) -> String {
        let Measures { policy_loss, wdl_loss, top1, .. } = self.measures;
        format!(
            "top-1 {:.1} %, policy loss {policy_loss:.3}, WDL loss {:.3} above their minima: check lr ({}; lr-finder \
             suggests one), adam.weight_decay ({}) and the network's size; if the loss is still falling, increase --steps",
            100.0 * top1,
            wdl_loss.unwrap_or_default(),
            config.lr,
            config.adam.weight_decay
        )
    }
}

impl fmt::Display for SparseOverfitPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measures { policy_loss, wdl_loss, top1, .. } = self.measures;
        let wdl = wdl_loss.map_or("–".into(), |loss| format!("{loss:.3}"));
        write!(f, "{:6}  {:8.2e}  {policy_loss:6.3}  {wdl:>6}  {:4.0}%", self.step, self.lr, 100.0 * top1)
    }
}

/// Sum of `−p · ln p` in nats.
fn entropy<'a>(probabilities: impl Iterator<Item = &'a f32>) -> f64 {
    probabilities.map(|p| f64::from(*p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

/// Trains on `batch` alone until it is overfitted, for at most `steps` steps, which the learning-rate schedule spans.
/// Calls `curve` with about 20 points of the learning curve and returns the last.
pub fn overfit(
    config: &SparseTrainConfig,
    batch: &SparseBatch,
    steps: u64,
    bound: f64,
    curve: &dyn Fn(&SparseOverfitPoint),
) -> SparseOverfitPoint {
    let (steps, size) = (steps.max(1), batch.len() as u64);
    let warmup_samples = config.warmup_samples.min(steps * size / 10);
    let schedule = SparseTrainConfig { samples: steps * size, warmup_samples, ..config.clone() }.run();
    let network = SparseModel::new(config.shape(), config.seed);
    let mut learner = SparseLearner::new(network, config.adam, config.thread_count());
    let mut pass = SparsePass::default();
    let policy_floor = entropy(batch.shares.iter()) / size as f64;
    let valued = batch.value_weight.iter().filter(|weight| **weight > 0.0).count();
    let wdl_floor = entropy(batch.wdl.as_flattened().iter()) / valued.max(1) as f64;
    let every = steps.div_ceil(LINES);
    let mut step = 0;
    let mut said = Instant::now();
    loop {
        let lr = schedule.learning_rate(step * size, step as f64 / steps as f64) as f32;
        learner.step(batch, lr);
        step += 1;
        if step % every == 0 || step == steps || said.elapsed() >= SILENCE {
            said = Instant::now();
            let tally = pass.run(&learner.network, batch, false, learner.threads).0;
            let mut measures = tally.measures();
            measures.policy_loss -= policy_floor;
            measures.wdl_loss = measures.wdl_loss.map(|loss| loss - wdl_floor);
            let point = SparseOverfitPoint { step, lr, measures };
            curve(&point);
            if point.is_overfitted(bound) || step == steps {
                return point;
            }
        }
    }
}
