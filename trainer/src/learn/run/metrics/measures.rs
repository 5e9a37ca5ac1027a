//! Measurements of training and validation.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;

/// Means over the samples of a report or validation. NaN (null in JSON) where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Policy cross-entropy (nat).
    pub policy_loss: f64,
    /// WDL cross-entropy (nat) over the samples with a value target; None for a network without a value head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl_loss: Option<f64>,
    /// Share of samples whose move ranks first among the legal moves.
    pub top1: f64,
    /// Share of samples whose move ranks among the first five legal moves.
    pub top5: f64,
}

impl Measures {
    /// Returns policy loss + `value_weight` · WDL loss, leaving out NaN terms; NaN if both are.
    pub fn loss(&self, value_weight: f64) -> f64 {
        let measured = [self.policy_loss, value_weight * self.wdl_loss.unwrap_or(0.0)];
        if measured.iter().all(|loss| loss.is_nan()) {
            return f64::NAN;
        }
        measured.into_iter().filter(|loss| !loss.is_nan()).sum()
    }
}

/// [`Measures`] of one step of a recursive model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepMeasures {
    pub policy_loss: f64,
    pub top1: f64,
    pub top5: f64,
}

/// Measures on held-out samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Validation {
    pub samples: u64,
    #[serde(flatten)]
    pub measures: Measures,
    /// Like `top1`, but among all indices of the policy scheme; None for a network that scores only legal moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_top1: Option<f64>,
    /// Like `top5`, but among all indices of the policy scheme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_top5: Option<f64>,
    /// Per step of a recursive model; empty for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasures>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validations {
    pub all: Validation,
    pub names: Vec<String>,
    /// By source, in the order of `names`.
    pub sources: Vec<Validation>,
    /// By game phase, as in [`Phase::ALL`].
    pub phases: Vec<Validation>,
    /// WDL calibration against game results; None for a network without a value head.
    pub calibration: Option<Calibration>,
}

/// Training metrics since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainReport {
    pub measures: Measures,
    pub steps: u64,
    /// Steps skipped because the loss or the gradient was not finite.
    pub skipped: u64,
}

/// Mean divergence from the reference network over batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyDivergence {
    /// KL divergence of the policy (nat); `None` if it was not measured.
    pub kl: Option<f64>,
    /// Penalty weight per nat; `None` without a penalty.
    pub weight: Option<f64>,
    /// Batches with a non-finite divergence, which the means exclude.
    #[serde(default)]
    pub lost: u64,
}

impl PolicyDivergence {
    /// By game phase, in the order of `Phase::ALL`.
    pub fn reaches(&self, divergence: f64) -> bool {
        self.lost > 0 || self.kl.is_some_and(|kl| kl >= divergence)
    }
}
