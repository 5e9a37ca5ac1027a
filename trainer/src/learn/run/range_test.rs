//! The learning-rate range test of `lr-finder` (Smith 2017, "Cyclical Learning Rates for Training Neural Networks",
//! section 3.3).

use anyhow::Result;

use super::{Learner, TrainError, TrainProgress};

/// Decay per step of the exponential moving average of the loss.
const INERTIA: f64 = 0.9;
/// The loss has diverged when its moving average exceeds its minimum by this factor.
const DIVERGED: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeTestStep {
    pub lr: f64,
    pub loss: f64,
    /// Bias-corrected exponential moving average of the losses up to this step.
    pub smooth: f64,
}

/// Trains with a learning rate that rises exponentially from `from` to `to` in `steps` steps, until the loss diverges.
/// `step` makes a step at a learning rate and returns the loss before it, or none if that is not finite.
fn range_test(
    [from, to]: [f64; 2],
    steps: u64,
    step: &mut dyn FnMut(f64) -> Result<Option<f64>>,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let mut trials: Vec<RangeTestStep> = Vec::new();
    let mut mean = 0.0;
    let mut least = f64::INFINITY;
    for number in 0..steps {
        let lr = from * (to / from).powf(number as f64 / (steps - 1) as f64);
        let Some(loss) = step(lr)? else { break };
        mean = INERTIA * mean + (1.0 - INERTIA) * loss;
        let smooth = mean / (1.0 - INERTIA.powi(number as i32 + 1));
        least = least.min(smooth);
        if smooth.is_nan() || smooth > DIVERGED * least {
            break;
        }
        let trial = RangeTestStep { lr, loss, smooth };
        observer(&trial);
        trials.push(trial);
    }
    Ok(trials)
}

/// Runs [`range_test`] with a learner's steps. The loss is policy loss + `value_weight` · WDL loss.
pub fn lr_range_test<L: Learner>(
    learner: &mut L,
    feed: &mut L::Feed,
    value_weight: f64,
    range: [f64; 2],
    steps: u64,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let mut progress = TrainProgress::default();
    let mut step = |lr: f64| {
        match learner.step(feed, lr, &progress, &|_| ()) {
            Ok(samples) => progress.samples += samples,
            Err(TrainError::NotFinite(_)) => return Ok(None),
            Err(TrainError::Failed(error)) => return Err(error),
        }
        progress.step += 1;
        let report = learner.report();
        let loss = report.measures.loss(value_weight);
        Ok((report.skipped == 0 && loss.is_finite()).then_some(loss))
    };
    range_test(range, steps, &mut step, observer)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrSuggestion {
    /// A tenth of the learning rate at the minimum of the smoothed loss.
    pub lr: f64,
    /// The learning rate at which the loss fell fastest.
    pub steepest: f64,
}

impl LrSuggestion {
    /// Returns none if the loss never fell.
    pub fn of(trials: &[RangeTestStep]) -> Option<LrSuggestion> {
        let least = trials.iter().min_by(|a, b| a.smooth.total_cmp(&b.smooth))?;
        // The slope over a tenth of the test, without its start, where the average still fluctuates with every batch.
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

    #[test]
    fn the_rate_rises_until_the_loss_diverges() {
        let mut rates = Vec::new();
        let mut step = |lr: f64| {
            rates.push(lr);
            Ok(Some(if lr > 0.05 { 1000.0 } else { 2.0 - lr }))
        };
        let trials = range_test([1e-4, 1.0], 9, &mut step, &|_| {}).unwrap();
        assert!((rates[1] / rates[0] - 10f64.sqrt()).abs() < 1e-6, "{rates:?}");
        assert_eq!((trials.len(), rates.len()), (6, 7), "{rates:?}");
        assert_eq!(range_test([0.1, 1.0], 3, &mut |_| Ok(None), &|_| {}).unwrap(), []);
    }
}
