//! What training and validation measure.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;

/// Means over the samples of a report or validation: NaN, in JSON null, where nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Cross-entropy of the policy (nat).
    pub policy_loss: f64,
    /// Cross-entropy of win, draw, loss (nat), over the samples with a value target; none for a network without a
    /// value head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl_loss: Option<f64>,
    /// Top-1 accuracy: share of samples whose move is ranked first among legal moves.
    pub top1: f64,
    /// Top-5 accuracy: share of samples whose move is ranked among the first five legal moves.
    pub top5: f64,
}

impl Measures {
    /// Policy loss + `value_weight` · WDL loss, as far as they were measured.
    pub fn loss(&self, value_weight: f64) -> f64 {
        let measured = [self.policy_loss, value_weight * self.wdl_loss.unwrap_or(0.0)];
        if measured.iter().all(|loss| loss.is_nan()) {
            return f64::NAN;
        }
        measured.into_iter().filter(|loss| !loss.is_nan()).sum()
    }
}

/// The measures of one step of a recursive model, as in [`Measures`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepMeasures {
    /// Cross-entropy of the policy (nat).
    pub policy_loss: f64,
    /// Top-1 accuracy: share of samples whose move is ranked first among legal moves.
    pub top1: f64,
    /// Top-5 accuracy: share of samples whose move is ranked among the first five legal moves.
    pub top5: f64,
}

/// Measures on a set of held-out samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Validation {
    /// Number of samples.
    pub samples: u64,
    /// Means over the samples.
    #[serde(flatten)]
    pub measures: Measures,
    /// Like `top1`, but among all indices of the policy scheme; none for a network that answers for legal moves alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_top1: Option<f64>,
    /// Like `top5`, but among all indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_top5: Option<f64>,
    /// For a recursive model, the measures of each step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasures>,
}

/// Measures on all held-out samples and on parts of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validations {
    /// All samples.
    pub all: Validation,
    /// The sources' names.
    pub names: Vec<String>,
    /// Each source.
    pub sources: Vec<Validation>,
    /// Each phase of the game, as in [`Phase::ALL`].
    pub phases: Vec<Validation>,
    /// Calibration of win, draw and loss against the games' results; none for a network without a value head.
    pub calibration: Option<Calibration>,
}

/// Training metrics since the last report.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrainReport {
    /// Means over the batches.
    pub measures: Measures,
    /// Number of steps.
    pub steps: u64,
    /// Number of these steps that were skipped because loss or gradient was not finite.
    pub skipped: u64,
}

/// Mean divergence from the reference over batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyDivergence {
    /// Kullback–Leibler divergence of the policy (nat).
    pub kl: f64,
    /// Weight of the penalty (per nat).
    pub weight: f64,
    /// Number of batches with a divergence that is not finite; they are excluded from the means.
    #[serde(default)]
    pub lost: u64,
}

impl PolicyDivergence {
    /// Whether the divergence is at least `divergence`, or was not finite for some batch.
    pub fn reaches(&self, divergence: f64) -> bool {
        self.lost > 0 || self.kl >= divergence
    }
}
