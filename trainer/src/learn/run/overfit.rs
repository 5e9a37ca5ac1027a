//! `overfit`: tests that a configuration can learn at all, by overfitting a few positions.

use std::fmt;
use std::time::{Duration, Instant};

use super::metrics::{Measures, TrainReport};
use super::{AverageUpdate, Learner, TrainError, TrainProgress};
use crate::config::RunConfig;

/// Top-1 accuracy that counts as overfitted.
const TOP1: f64 = 0.99;
/// Least number of points of the learning curve.
const LINES: u64 = 20;
/// Longest time between two points.
const SILENCE: Duration = Duration::from_secs(8);

/// Least losses that the targets allow, in nats: their mean entropies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeastLosses {
    pub policy: f64,
    /// 0 for a scalar value.
    pub wdl: f64,
}

impl LeastLosses {
    fn taken_from(&self, measures: Measures) -> Measures {
        Measures {
            policy_loss: measures.policy_loss - self.policy,
            wdl_loss: measures.wdl_loss.map(|loss| loss - self.wdl),
            ..measures
        }
    }
}

/// Sums `−p · ln p`, in nats.
pub fn entropy(probabilities: &[f32]) -> f64 {
    probabilities.iter().map(|p| f64::from(*p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum()
}

/// The keys of a configuration that decide whether it can overfit, with their values.
pub trait OverfitKeys {
    fn of_policy(&self) -> Vec<(String, f64)>;

    fn of_value(&self) -> Vec<(String, f64)>;
}

fn listed(keys: &[(String, f64)]) -> String {
    keys.iter().map(|(key, value)| format!("{key} ({value}), ")).collect()
}

/// All losses are above their least values.
#[derive(Clone, Copy, Debug)]
pub struct OverfitPoint {
    pub step: u64,
    lr: f64,
    /// Means over the steps since the last point, in training mode.
    training: TrainReport,
    /// In inference mode: no dropout, running statistics, no label smoothing where a learner has them.
    evaluated: Measures,
}

impl OverfitPoint {
    /// Whether policy and value are learnt. One that was not measured, because no target has a weight, is.
    fn learnt(measures: &Measures, bound: f64) -> [bool; 2] {
        let Measures { policy_loss, wdl_loss, top1, .. } = *measures;
        let policy = top1.is_nan() || (top1 >= TOP1 && policy_loss < bound);
        [policy, wdl_loss.is_none_or(|loss| loss < bound)]
    }

    pub fn is_overfitted(&self, bound: f64) -> bool {
        OverfitPoint::learnt(&self.evaluated, bound) == [true, true]
    }

    /// Returns what to change, or none if the positions are overfitted.
    pub fn advice(&self, config: &impl OverfitKeys, bound: f64) -> Option<String> {
        let known = &self.evaluated;
        let [knows_policy, knows_value] = OverfitPoint::learnt(known, bound);
        let [learnt_policy, _] = OverfitPoint::learnt(&self.training.measures, bound);
        if knows_policy && knows_value {
            return None;
        }
        let (lr, keys) = (self.lr, listed(&config.of_policy()));
        Some(if self.training.skipped > 0 {
            let skipped = self.training.skipped;
            format!(
                "{skipped} of the last steps were not finite: lower lr (now {lr:.1e}), or set precision to fp32"
            )
        } else if knows_policy {
            format!(
                "the policy is overfitted, but not the value (WDL loss {:.3} above its minimum): check {}the size of \
                 the value head",
                known.wdl_loss.unwrap_or_default(),
                listed(&config.of_value())
            )
        } else if learnt_policy {
            "the positions are overfitted in training mode but not in inference mode: check dropout and BatchNorm's \
             running statistics, or increase --steps"
                .into()
        } else {
            format!(
                "top-1 {:.1} %, policy loss {:.3} above its minimum: check {keys}the network's size (lr-finder \
                 suggests an lr); if the loss is still falling, increase --steps",
                100.0 * known.top1,
                known.policy_loss
            )
        })
    }

    /// The heading of the lines that points print.
    pub const HEADING: &str = "  step        lr  policy     wdl  top-1 | evaluated: policy     wdl  top-1";
}

impl fmt::Display for OverfitPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |measures: &Measures| {
            let Measures { policy_loss, wdl_loss, top1, .. } = measures;
            let wdl = wdl_loss.map_or("–".into(), |loss| format!("{loss:.3}"));
            format!("{policy_loss:6.3}  {wdl:>6}  {:4.0}%", 100.0 * top1)
        };
        let (training, evaluated) = (part(&self.training.measures), part(&self.evaluated));
        write!(f, "{:6}  {:8.2e}  {training} |            {evaluated}", self.step, self.lr)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct OverfitTask {
    /// One step takes all positions.
    pub config: RunConfig,
    /// Maximum number of steps, which the learning-rate schedule spans.
    pub steps: u64,
    /// Bound on the losses above their least values, in nats.
    pub bound: f64,
    pub least: LeastLosses,
}

/// Trains on the batch that `feed` repeats and `held_out` contains until it is overfitted. Calls `curve` with about 20
/// points of the learning curve, more if steps are slow, and returns the last.
pub fn overfit<L: Learner>(
    learner: &mut L,
    feed: &mut L::Feed,
    held_out: &L::HeldOut,
    task: &OverfitTask,
    curve: &dyn Fn(&OverfitPoint),
) -> Result<OverfitPoint, TrainError> {
    let OverfitTask { config, bound, least, .. } = task;
    let steps = task.steps.max(1);
    let warmup_samples = config.warmup_samples.min(steps.saturating_mul(config.step_samples) / 10);
    let schedule = RunConfig { warmup_samples, ..*config };
    let every = steps.div_ceil(LINES);
    let mut progress = TrainProgress::default();
    let mut said = Instant::now();
    loop {
        let lr = schedule.learning_rate(progress.samples, progress.step as f64 / steps as f64);
        progress.samples += learner.step(feed, lr, &progress, &|_| ())?;
        progress.step += 1;
        let step = progress.step;
        if step.is_multiple_of(every) || step == steps || said.elapsed() >= SILENCE {
            said = Instant::now();
            // The network itself is judged, not an average.
            learner.average(AverageUpdate::Same);
            let mut training = learner.report();
            training.measures = least.taken_from(training.measures);
            let evaluated = least.taken_from(learner.validate(held_out).all.measures);
            let point = OverfitPoint { step, lr, training, evaluated };
            curve(&point);
            if point.is_overfitted(*bound) || step == steps {
                return Ok(point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Keys;

    impl OverfitKeys for Keys {
        fn of_policy(&self) -> Vec<(String, f64)> {
            vec![("lr".into(), 0.5), ("decay".into(), 0.0)]
        }

        fn of_value(&self) -> Vec<(String, f64)> {
            vec![("value_weight".into(), 2.0)]
        }
    }

    #[test]
    fn the_minimal_loss_is_the_targets_entropy() {
        assert_eq!(entropy(&[1.0, 0.0, 0.0]), 0.0);
        assert!((entropy(&[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]) - 2.0 * 2f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn the_advice_names_the_keys_of_what_was_not_learnt() {
        let learnt = Measures { policy_loss: 0.01, wdl_loss: Some(0.01), top1: 1.0, top5: 1.0 };
        let wrong = Measures { policy_loss: 2.0, top1: 0.4, ..learnt };
        let advice = |training: Measures, evaluated: Measures, skipped: u64| {
            let training = TrainReport { measures: training, steps: 20, skipped };
            OverfitPoint { step: 100, lr: 0.5, training, evaluated }.advice(&Keys, 0.1)
        };
        assert_eq!(advice(wrong, learnt, 0), None);
        let says = |advice: Option<String>, part: &str| {
            assert!(advice.as_ref().is_some_and(|text| text.contains(part)), "{advice:?}, expected {part}");
        };
        says(
            advice(wrong, wrong, 0),
            "top-1 40.0 %, policy loss 2.000 above its minimum: check lr (0.5), decay (0),",
        );
        says(advice(learnt, wrong, 0), "in training mode but not in inference mode");
        says(advice(wrong, wrong, 3), "3 of the last steps were not finite");
        let valueless = Measures { wdl_loss: Some(0.5), ..learnt };
        says(
            advice(learnt, valueless, 0),
            "not the value (WDL loss 0.500 above its minimum): check value_weight (2)",
        );
        // Where no target has a policy, the value alone counts.
        let no_policy = Measures { policy_loss: f64::NAN, top1: f64::NAN, top5: f64::NAN, ..learnt };
        assert_eq!(advice(no_policy, no_policy, 0), None);
        let diverged = Measures { policy_loss: f64::NAN, top1: 0.0, ..learnt };
        says(advice(diverged, diverged, 0), "top-1 0.0 %");
    }
}
