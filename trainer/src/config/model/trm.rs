use anyhow::{Result, bail};
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Schemes, ValueScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const SCHEMES: Schemes =
    Schemes { input: Input::Planes19, policy: Policy::Uci1968m, value: ValueScheme::Wdl };

/// Loss weights of the recursion steps t = 1 to T, scaled to sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepWeights {
    /// `t / T`: the last step counts most.
    #[default]
    Linear,
    Uniform,
    /// `0.8^(t − 1)`: the first step counts most.
    Decaying,
}

const DECAY: f64 = 0.8;

impl StepWeights {
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrmConfig {
    /// Channels per token.
    pub width: i64,
    /// Must divide `width`.
    pub heads: i64,
    /// Transformer layers, shared by all steps.
    pub layers: i64,
    /// Feed-forward hidden units as a multiple of `width`.
    pub expansion: i64,
    /// Width of a layer between `y` and the logits, which makes their matrix a product of two of this rank; 0 for one
    /// matrix.
    pub policy_rank: i64,
    /// On the residual branches (attention and feed-forward).
    pub dropout: f64,
    /// Recursion steps, each with its own loss term (deep supervision).
    pub steps: usize,
    /// How the steps of thinking are weighted in the loss.
    pub step_weights: StepWeights,
    /// Activation checkpointing: the backward pass holds the activations of this many steps and recomputes the others.
    /// 0 stores all: fastest, with memory proportional to the steps. The gradient is the same.
    pub kept_steps: usize,
}

impl Default for TrmConfig {
    fn default() -> Self {
        TrmConfig {
            width: 256,
            heads: 8,
            layers: 2,
            expansion: 4,
            policy_rank: 0,
            dropout: 0.1,
            steps: 16,
            step_weights: StepWeights::Linear,
            kept_steps: 1,
        }
    }
}

impl TrmConfig {
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("width", self.width),
            ("heads", self.heads),
            ("layers", self.layers),
            ("expansion", self.expansion),
        ];
        for (key, value) in positive {
            if value < 1 {
                bail!("model.{key} is {value}, must be at least 1");
            }
        }
        if self.width % self.heads != 0 {
            bail!("model.heads {} does not divide width {}", self.heads, self.width);
        }
        if !(0..=self.width).contains(&self.policy_rank) {
            bail!("model.policy_rank is {}, must be 0 to width, {}", self.policy_rank, self.width);
        }
        if !(1..=engine::nets::onnx::MAX_STEPS).contains(&self.steps) {
            let most = engine::nets::onnx::MAX_STEPS;
            bail!("model.steps is {}, must be 1 to {most}", self.steps);
        }
        if !(0.0..1.0).contains(&self.dropout) {
            bail!("model.dropout is {}, must be at least 0 and below 1", self.dropout);
        }
        Ok(())
    }

    pub fn group(&self) -> usize {
        if self.kept_steps == 0 { self.steps } else { self.kept_steps.min(self.steps) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_weights_sum_to_one() {
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
    fn an_invalid_value_is_named() {
        assert!(TrmConfig::default().check().is_ok());
        for (text, key) in [
            (r#"{"width": 100}"#, "heads"),
            (r#"{"steps": 0}"#, "steps"),
            (r#"{"steps": 257}"#, "steps"),
            (r#"{"dropout": 1.0}"#, "dropout"),
            (r#"{"layers": 0}"#, "layers"),
            (r#"{"policy_rank": -1}"#, "policy_rank"),
            (r#"{"policy_rank": 257}"#, "policy_rank"),
        ] {
            let config: TrmConfig = serde_json::from_str(text).unwrap();
            assert!(config.check().unwrap_err().to_string().contains(key), "{text}");
        }
        assert!(serde_json::from_str::<TrmConfig>(r#"{"depth": 3}"#).is_err());
    }
}
