//! The shape of the family `mlp`.

use engine::encoding::{Input, Policy};
use engine::eval::{Schemes, Value};
use serde::{Deserialize, Serialize};

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
