//! The learning rate over the samples of a run.

use serde::{Deserialize, Serialize};

use crate::config::{RateDecay, SparseTrainConfig};

/// The learning rate as a function of the samples seen: a linear warm-up, then a decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateSchedule {
    /// The rate after the warm-up.
    pub peak: f32,
    /// What is left of it at the end, as a fraction, above 0 for [`RateDecay::Exponential`].
    pub floor: f32,
    /// Samples of warm-up.
    pub warm_up: u64,
    /// Samples of the whole run; afterwards the rate stays.
    pub samples: u64,
    /// How it falls between the two.
    pub decay: RateDecay,
}

impl RateSchedule {
    /// The learning rate after `seen` samples and `elapsed`, a share, of the run's time; 0 if that is not bounded.
    pub fn rate(&self, seen: u64, elapsed: f64) -> f32 {
        if seen < self.warm_up {
            return self.peak * (seen + 1) as f32 / self.warm_up as f32;
        }
        let span = self.samples.saturating_sub(self.warm_up).max(1);
        let progress = ((seen - self.warm_up) as f64 / span as f64).max(elapsed).min(1.0);
        let floor = f64::from(self.floor);
        let factor = match self.decay {
            RateDecay::Constant => 1.0,
            RateDecay::Cosine => {
                floor + (1.0 - floor) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            RateDecay::Exponential => floor.powf(progress),
        };
        self.peak * factor as f32
    }
}

impl SparseTrainConfig {
    /// The learning rate over the run.
    pub fn schedule(&self) -> RateSchedule {
        RateSchedule {
            peak: self.lr as f32,
            floor: (self.min_lr / self.lr) as f32,
            warm_up: self.warmup_samples,
            samples: self.samples,
            decay: self.schedule,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_warms_up_and_decays() {
        let cosine =
            RateSchedule { peak: 1.0, floor: 0.1, warm_up: 100, samples: 1100, decay: RateDecay::Cosine };
        assert!((cosine.rate(49, 0.0) - 0.5).abs() < 1e-6);
        assert!((cosine.rate(100, 0.0) - 1.0).abs() < 1e-6);
        assert!((cosine.rate(600, 0.0) - 0.55).abs() < 1e-6);
        assert!((cosine.rate(1100, 0.0) - 0.1).abs() < 1e-6 && (cosine.rate(9999, 0.0) - 0.1).abs() < 1e-6);
        assert!((cosine.rate(100, 0.5) - 0.55).abs() < 1e-6, "half of the time");
        let exponential = RateSchedule { floor: 0.01, decay: RateDecay::Exponential, ..cosine };
        assert!((exponential.rate(600, 0.0) - 0.1).abs() < 1e-6);
        let constant = RateSchedule { decay: RateDecay::Constant, warm_up: 0, ..cosine };
        assert_eq!((constant.rate(0, 0.0), constant.rate(5000, 0.0)), (1.0, 1.0));
    }
}
