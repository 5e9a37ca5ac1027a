//! The family `mlp`: fully connected layers with ReLU from 14 planes to the moves of gym-chess, and, if wanted,
//! to win, draw and loss.

use super::layers::{Linear, Pass};
use super::net::Output;
use super::params::Layout;
use engine::encoding::{Input, Policy};
use engine::eval::{Schemes, Value};
use serde::{Deserialize, Serialize};
use tch::Tensor;

/// What it sees.
pub const INPUT: Input = Input::Planes14;
/// What its moves are.
pub const POLICY: Policy = Policy::Gym4672;

/// The shape of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MlpConfig {
    /// Units of each hidden layer.
    pub hidden: Vec<i64>,
    /// Whether the last hidden layer also answers win, draw and loss; without, the network has a policy only.
    pub value: bool,
}

impl Default for MlpConfig {
    fn default() -> Self {
        MlpConfig { hidden: vec![1000, 1000, 1000, 200], value: true }
    }
}

impl MlpConfig {
    /// What the network sees and answers.
    pub fn schemes(&self) -> Schemes {
        Schemes { input: INPUT, policy: POLICY, value: if self.value { Value::Wdl } else { Value::None } }
    }

    /// Checks that the numbers fit together.
    ///
    /// # Errors
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        if self.hidden.is_empty() {
            return Err("model.hidden is empty: family linear has no hidden layer".into());
        }
        match self.hidden.iter().find(|units| **units < 1) {
            Some(units) => Err(format!("model.hidden holds {units}, must be at least 1")),
            None => Ok(()),
        }
    }
}

/// The layers.
pub(crate) struct Mlp {
    pub hidden: Vec<Linear>,
    pub policy: Linear,
    pub value: Option<Linear>,
}

impl Mlp {
    pub fn new(layout: &mut Layout, config: &MlpConfig) -> Mlp {
        let mut width = INPUT.size() as i64;
        let mut hidden = Vec::new();
        for (i, &units) in config.hidden.iter().enumerate() {
            hidden.push(Linear::new(layout, &format!("hidden.{i}"), width, units, 2.0));
            width = units;
        }
        Mlp {
            hidden,
            policy: Linear::new(layout, "policy", width, POLICY.size() as i64, 0.1),
            value: config.value.then(|| Linear::new(layout, "value", width, 3, 0.1)),
        }
    }

    /// Answers for `planes` `[batch, 14, 8, 8]`.
    pub fn forward(&self, pass: &Pass, planes: &Tensor) -> Output {
        let flat = planes.flatten(1, -1);
        let x = self.hidden.iter().fold(flat, |x, layer| layer.forward(pass, &x).relu());
        let wdl = self.value.iter().map(|layer| layer.forward(pass, &x)).collect();
        Output { policy: vec![self.policy.forward(pass, &x)], wdl }
    }
}
