//! The keys that every learner's training run has.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;

/// Default share of the game's result in the value target.
pub const VALUE_LAMBDA: f64 = 0.75;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// From `lr` to `min_lr` over `samples` or `minutes`, whichever ends first.
    #[default]
    Cosine,
    Constant,
    Exponential,
    /// `lr`, multiplied by `plateau_factor` after every `plateau_patience` validations in a row without improvement,
    /// down to `min_lr`.
    Plateau,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunConfig {
    pub samples: u64,
    /// 0 for no limit.
    pub minutes: f64,
    pub lr: f64,
    pub min_lr: f64,
    /// Linear warm-up from zero.
    pub warmup_samples: u64,
    /// Samples per optimiser step.
    pub step_samples: u64,
    /// Time constant of the averaged weights in samples.
    pub average_samples: f64,
    /// Fraction of the run, or of its part, from which the average is the arithmetic mean; 1 for never.
    pub swa_from: f64,
    pub schedule: Schedule,
    pub plateau_factor: f64,
    pub plateau_patience: u64,
    /// Weight of the value loss in the validation loss that selects the best checkpoint.
    pub value_weight: f64,
    pub report_every: u64,
    pub validate_every: u64,
    /// 0 for never.
    pub early_stop: u64,
    pub checkpoint_every_s: f64,
}

/// Lengths given in epochs; 0 if given in samples and steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EpochConfig {
    pub epochs: f64,
    pub validate_epochs: f64,
}

impl EpochConfig {
    /// `epoch` and `step_samples` are the samples of an epoch and of an optimiser step.
    pub fn resolve(&self, epoch: f64, step_samples: u64, samples: &mut u64, validate_every: &mut u64) {
        if self.epochs > 0.0 {
            *samples = ((self.epochs * epoch).ceil() as u64).max(1);
        }
        if self.validate_epochs > 0.0 {
            *validate_every = ((self.validate_epochs * epoch / step_samples as f64).ceil() as u64).max(1);
        }
    }

    /// An error names the key.
    pub fn check(&self) -> Result<()> {
        bounds::not_negative(&[("epochs", self.epochs), ("validate_epochs", self.validate_epochs)])
    }
}

impl RunConfig {
    /// Whether the averaged weights differ from the network's: not where a step has as many samples as the average.
    pub fn averages(&self) -> bool {
        self.average_samples > self.step_samples as f64
    }

    /// Completed share of the run, 0 to 1.
    pub fn progress(&self, samples: u64, seconds: f64) -> f64 {
        self.progress_since(0, samples, seconds)
    }

    /// Like [`RunConfig::progress`], but of the part after the first `start` samples.
    pub fn progress_since(&self, start: u64, samples: u64, seconds: f64) -> f64 {
        let by_samples =
            samples.saturating_sub(start) as f64 / self.samples.saturating_sub(start).max(1) as f64;
        let by_time = if self.minutes > 0.0 { seconds / (60.0 * self.minutes) } else { 0.0 };
        by_samples.max(by_time).min(1.0)
    }

    /// `samples` are those before the step, `done` (0 to 1) is the completed share of the run.
    pub fn learning_rate(&self, samples: u64, done: f64) -> f64 {
        let rise = match self.warmup_samples {
            0 => 1.0,
            warmup => ((samples + self.step_samples) as f64 / warmup as f64).min(1.0),
        };
        let done = done.clamp(0.0, 1.0);
        rise * match self.schedule {
            Schedule::Constant | Schedule::Plateau => self.lr,
            Schedule::Cosine => {
                let fall = (1.0 + (std::f64::consts::PI * done).cos()) / 2.0;
                self.min_lr + (self.lr - self.min_lr) * fall
            }
            Schedule::Exponential => self.lr * (self.min_lr / self.lr).powf(done),
        }
    }

    pub fn check(&self) -> Result<()> {
        bounds::positive(&[("lr", self.lr)])?;
        bounds::shares(&[("min_lr", self.min_lr, self.lr), ("plateau_factor", self.plateau_factor, 1.0)])?;
        ensure!(
            self.schedule != Schedule::Exponential || self.min_lr > 0.0,
            "min_lr is 0, must be positive with an exponential schedule"
        );
        for (key, value) in [
            ("samples", self.samples),
            ("report_every", self.report_every),
            ("validate_every", self.validate_every),
            ("plateau_patience", self.plateau_patience),
        ] {
            ensure!(value > 0, "{key} must be at least 1");
        }
        bounds::not_negative(&[
            ("minutes", self.minutes),
            ("checkpoint_every_s", self.checkpoint_every_s),
            ("value_weight", self.value_weight),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_learning_rate_rises_then_falls_to_its_end() {
        let cosine = RunConfig {
            lr: 1.0,
            min_lr: 0.1,
            warmup_samples: 100,
            step_samples: 10,
            samples: 1000,
            ..RunConfig::default()
        };
        assert_eq!((cosine.learning_rate(0, 0.0), cosine.learning_rate(90, 0.0)), (0.1, 1.0));
        assert!((cosine.learning_rate(500, 0.5) - 0.55).abs() < 1e-12);
        assert!((cosine.learning_rate(999, 1.0) - 0.1).abs() < 1e-12);
        let exponential = RunConfig { min_lr: 0.01, schedule: Schedule::Exponential, ..cosine };
        assert!((exponential.learning_rate(500, 0.5) - 0.1).abs() < 1e-12);
        let constant = RunConfig { schedule: Schedule::Constant, warmup_samples: 0, ..cosine };
        assert_eq!((constant.learning_rate(0, 0.0), constant.learning_rate(999, 1.0)), (1.0, 1.0));
    }

    #[test]
    fn a_run_is_done_when_samples_or_minutes_are_used_up() {
        let config = RunConfig { samples: 100, minutes: 1.0, ..RunConfig::default() };
        assert_eq!(config.progress(50, 15.0), 0.5);
        assert_eq!(config.progress(50, 45.0), 0.75);
        assert_eq!(config.progress(50, 90.0), 1.0);
        assert_eq!(config.progress_since(60, 80, 15.0), 0.5, "half of the part");
    }
}
