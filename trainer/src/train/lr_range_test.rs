//! The learning-rate range test of `lr-finder` (Smith 2017, "Cyclical Learning Rates for Training Neural Networks",
//! section 3.3).

use anyhow::Result;
use tch::Device;

use super::feed::Feed;
use super::learner::Learner;
use crate::config::TrainConfig;

/// Decay per step of the exponential moving average of the loss.
const INERTIA: f64 = 0.9;
/// The loss has diverged when its moving average exceeds its minimum by this factor.
const DIVERGED: f64 = 4.0;

/// One step of a range test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeTestStep {
    /// Its learning rate.
    pub lr: f64,
    /// The loss before the step.
    pub loss: f64,
    /// The bias-corrected exponential moving average of the losses up to this one.
    pub smooth: f64,
}

/// Trains with a learning rate that rises exponentially from `from` to `to` in `steps` steps, until the loss diverges.
/// `observer` is called after each step.
///
/// # Errors
/// The configuration is invalid, or the feed fails.
pub fn range_test(
    config: &TrainConfig,
    device: Device,
    feed: &mut dyn Feed,
    [from, to]: [f64; 2],
    steps: u64,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let mut learner = Learner::new(config, device)?;
    let mut trials: Vec<RangeTestStep> = Vec::new();
    let mut mean = 0.0;
    let mut least = f64::INFINITY;
    for step in 0..steps {
        let lr = from * (to / from).powf(step as f64 / (steps - 1) as f64);
        learner.step(&[feed.next_batch()?], lr);
        let report = learner.report();
        let loss = report.measures.loss(config.value_weight);
        mean = INERTIA * mean + (1.0 - INERTIA) * loss;
        let smooth = mean / (1.0 - INERTIA.powi(step as i32 + 1));
        least = least.min(smooth);
        if report.skipped > 0 || smooth.is_nan() || smooth > DIVERGED * least {
            break;
        }
        let trial = RangeTestStep { lr, loss, smooth };
        observer(&trial);
        trials.push(trial);
    }
    Ok(trials)
}

/// The result of a range test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrSuggestion {
    /// A tenth of the learning rate at the minimum of the smoothed loss.
    pub lr: f64,
    /// The learning rate at which the loss fell fastest.
    pub steepest: f64,
}

impl LrSuggestion {
    /// The suggestion of a range test; none if the loss never fell.
    pub fn of(trials: &[RangeTestStep]) -> Option<LrSuggestion> {
        let least = trials.iter().min_by(|a, b| a.smooth.total_cmp(&b.smooth))?;
        // The slope over a tenth of the test; without its start, where the average still fluctuates with every batch.
        let reach = (trials.len() / 10).max(1);
        let slope = |part: &[RangeTestStep]| {
            (part[reach].smooth - part[0].smooth) / (part[reach].lr / part[0].lr).ln()
        };
        let parts = trials.windows(reach + 1).skip(reach);
        let steepest = parts.min_by(|a, b| slope(a).total_cmp(&slope(b)))?;
        let middle = steepest[reach.div_ceil(2)].lr;
        (slope(steepest) < 0.0).then_some(LrSuggestion { lr: least.lr / 10.0, steepest: middle })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggestion_is_a_tenth_of_the_best_rate() {
        let losses = [5.0, 5.0, 4.8, 3.0, 2.0, 1.9, 2.5, 6.0];
        let trial =
            |(i, loss): (i32, &f64)| RangeTestStep { lr: 10f64.powi(i - 6), loss: *loss, smooth: *loss };
        let trials: Vec<RangeTestStep> = (0..).zip(&losses).map(trial).collect();
        let found = LrSuggestion::of(&trials).unwrap();
        assert!((found.lr / 1e-2 - 1.0).abs() < 1e-9, "the least is at 0.1: {found:?}");
        assert!((found.steepest / 1e-3 - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!(LrSuggestion::of(&trials[..2]), None, "no suggestion if the loss did not fall");
        assert_eq!(LrSuggestion::of(&[]), None);
    }
}
