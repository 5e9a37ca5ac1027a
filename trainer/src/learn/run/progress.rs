//! The progress of a run, and the time left that follows from it.

use serde::{Deserialize, Serialize};

use super::metrics::TrainSummary;
use crate::config::RunConfig;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainProgress {
    pub step: u64,
    pub samples: u64,
    /// Seconds of training and validation, without loading games.
    pub time_s: f64,
    /// Steps that were skipped because they were not finite.
    pub skipped: u64,
    /// Best validation loss so far: policy loss + value weight · WDL loss.
    pub best: Option<f64>,
    /// In validations.
    pub since_best: u64,
    /// The step of the last validation.
    pub validated: u64,
    pub plateau: Plateau,
    /// Whether the run began with trained weights, from which the averaged weights continue.
    pub trained: bool,
    /// Steps in the arithmetic average of the weights, plus one; 0 while the average is exponential.
    pub swa_steps: u64,
    /// Samples at which the current [part](super::Run::begin_part) of the run began.
    pub part: u64,
    /// Means over the steps of the current part.
    pub summary: TrainSummary,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plateau {
    /// Factor on the learning rate.
    pub factor: f64,
    /// Validations without improvement since the factor last changed.
    pub waited: u64,
}

impl Default for Plateau {
    fn default() -> Plateau {
        Plateau { factor: 1.0, waited: 0 }
    }
}

impl Plateau {
    pub fn update(&mut self, is_best: bool, config: &RunConfig) {
        self.waited = if is_best { 0 } else { self.waited + 1 };
        if self.waited >= config.plateau_patience {
            let least = config.min_lr / config.lr;
            *self = Plateau { factor: (self.factor * config.plateau_factor).max(least), waited: 0 };
        }
    }
}

impl TrainProgress {
    /// Returns whether the loss is the best so far, which a loss that is not finite never is.
    pub fn note_validation(&mut self, loss: f64) -> bool {
        let best = self.best.filter(|best| best.is_finite());
        let is_best = loss.is_finite() && best.is_none_or(|best| loss < best);
        self.best = if is_best { Some(loss) } else { best };
        self.since_best = if is_best { 0 } else { self.since_best + 1 };
        is_best
    }

    /// `rate` is in samples per second.
    pub fn seconds_left(&self, config: &RunConfig, rate: f64) -> f64 {
        let by_samples = config.samples.saturating_sub(self.samples) as f64 / rate.max(1e-9);
        let by_time = if config.minutes > 0.0 { 60.0 * config.minutes - self.time_s } else { f64::INFINITY };
        by_samples.min(by_time).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_ends_with_samples_or_minutes() {
        let config = RunConfig { samples: 1000, minutes: 2.0, ..RunConfig::default() };
        let at = |samples, time_s| TrainProgress { samples, time_s, ..TrainProgress::default() };
        assert_eq!(at(400, 30.0).seconds_left(&config, 10.0), 60.0);
        assert_eq!(at(400, 30.0).seconds_left(&config, 1.0), 90.0);
        assert_eq!(at(400, 130.0).seconds_left(&config, 1.0), 0.0, "the last step took longer");
        let endless = RunConfig { minutes: 0.0, ..config };
        assert_eq!(at(400, 130.0).seconds_left(&endless, 1.0), 600.0);
    }

    #[test]
    fn a_loss_that_is_not_finite_is_never_the_best() {
        let mut progress = TrainProgress::default();
        assert!(!progress.note_validation(f64::NAN));
        assert_eq!((progress.best, progress.since_best), (None, 1));
        assert!(progress.note_validation(2.0));
        assert!(!progress.note_validation(f64::NAN));
        assert!(!progress.note_validation(f64::NEG_INFINITY));
        assert!(progress.note_validation(1.5));
        progress.best = Some(f64::NAN);
        assert!(progress.note_validation(3.0), "from a checkpoint of an earlier version");
    }
}
