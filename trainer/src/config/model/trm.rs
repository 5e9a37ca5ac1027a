//! What a recursive model looks like.

use engine::encoding::{Input, Policy};
use engine::eval::{Schemes, Value};
use serde::{Deserialize, Serialize};

/// What a recursive model sees and answers.
pub const SCHEMES: Schemes = Schemes { input: Input::Planes19, policy: Policy::Uci1968m, value: Value::Wdl };

/// How much each step counts in the loss, of steps 1 to T; the weights are divided by their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepWeights {
    /// `t / T`: early steps may think aloud, the last has to be right.
    #[default]
    Linear,
    /// All alike: every step is an answer to stop at.
    Uniform,
    /// `0.8^(t − 1)`: the first step matters most.
    Decaying,
}

/// The factor from step to step of [`StepWeights::Decaying`].
const DECAY: f64 = 0.8;

impl StepWeights {
    /// The weights of `steps` steps; they sum to one.
    pub fn of(self, steps: usize) -> Vec<f64> {
        let weight = |step: usize| match self {
            StepWeights::Linear => (step + 1) as f64 / steps as f64,
            StepWeights::Uniform => 1.0,
            StepWeights::Decaying => DECAY.powi(i32::try_from(step).unwrap_or(i32::MAX)),
        };
        let sum: f64 = (0..steps).map(weight).sum();
        (0..steps).map(|step| weight(step) / sum).collect()
    }
}

/// The shape of a recursive model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrmConfig {
    /// Numbers of each token.
    pub width: i64,
    /// Heads of the attention; they divide `width`.
    pub heads: i64,
    /// Layers of the one transformer that every step is made of.
    pub layers: i64,
    /// Hidden units of a layer's perceptron, as a multiple of `width`.
    pub expansion: i64,
    /// Dropout of what each half of a layer adds, in training.
    pub dropout: f64,
    /// Steps, each with a loss of its own.
    pub steps: usize,
    /// How much each counts.
    pub step_weights: StepWeights,
    /// Steps whose inner values are kept for the way back; of all others only `y` and `z` between such groups are kept,
    /// and the rest is computed again. 0 keeps everything: no time is lost, and memory grows with the steps. The
    /// gradient is the same.
    pub kept_steps: usize,
}

impl Default for TrmConfig {
    fn default() -> Self {
        TrmConfig {
            width: 256,
            heads: 8,
            layers: 2,
            expansion: 4,
            dropout: 0.1,
            steps: 16,
            step_weights: StepWeights::Linear,
            kept_steps: 1,
        }
    }
}

impl TrmConfig {
    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        let positive = [
            ("width", self.width),
            ("heads", self.heads),
            ("layers", self.layers),
            ("expansion", self.expansion),
        ];
        for (key, value) in positive {
            if value < 1 {
                return Err(format!("model.{key} is {value}, must be at least 1"));
            }
        }
        if self.width % self.heads != 0 {
            return Err(format!("model.heads {} does not divide width {}", self.heads, self.width));
        }
        if !(1..=engine::eval::MAX_STEPS).contains(&self.steps) {
            let most = engine::eval::MAX_STEPS;
            return Err(format!("model.steps is {}, must be 1 to {most}", self.steps));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(format!("model.dropout is {}, must be at least 0 and below 1", self.dropout));
        }
        Ok(())
    }

    /// Steps of each group that is kept at once: all of them together where everything is kept.
    pub fn group(&self) -> usize {
        if self.kept_steps == 0 { self.steps } else { self.kept_steps.min(self.steps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_steps_sum_to_one_and_lean_as_they_are_called() {
        let linear = StepWeights::Linear.of(4);
        assert_eq!(linear, [0.1, 0.2, 0.3, 0.4]);
        assert_eq!(StepWeights::Uniform.of(4), [0.25; 4]);
        let decaying = StepWeights::Decaying.of(3);
        assert!((decaying.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(
            (decaying[1] / decaying[0] - 0.8).abs() < 1e-12
                && (decaying[2] / decaying[1] - 0.8).abs() < 1e-12
        );
        assert_eq!(StepWeights::Linear.of(1), [1.0]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        assert!(TrmConfig::default().check().is_ok());
        for (text, key) in [
            (r#"{"width": 100}"#, "heads"),
            (r#"{"steps": 0}"#, "steps"),
            (r#"{"steps": 257}"#, "steps"),
            (r#"{"dropout": 1.0}"#, "dropout"),
            (r#"{"layers": 0}"#, "layers"),
        ] {
            let config: TrmConfig = serde_json::from_str(text).unwrap();
            assert!(config.check().unwrap_err().contains(key), "{text}");
        }
        assert!(serde_json::from_str::<TrmConfig>(r#"{"depth": 3}"#).is_err());
    }
}
