use anyhow::{Result, bail, ensure};
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Schemes, ValueScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MlpEncoding {
    /// As in gym-chess: `planes14/1` and `gym4672/1`.
    #[default]
    Gym,
    /// As in the linear model: `onehot832/1` and `uci1968/1`.
    Squares,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MlpConfig {
    /// Of positions and moves: as in gym-chess, or as in the linear model (`squares`).
    pub encoding: MlpEncoding,
    /// Units per hidden layer, from input to output.
    pub hidden: Vec<i64>,
    /// Whether there is a WDL value head. Otherwise the network is policy-only.
    pub value: bool,
}

impl Default for MlpConfig {
    fn default() -> Self {
        MlpConfig { encoding: MlpEncoding::Gym, hidden: vec![1000, 1000, 1000, 200], value: true }
    }
}

impl MlpConfig {
    pub fn schemes(&self) -> Schemes {
        let (input, policy) = match self.encoding {
            MlpEncoding::Gym => (Input::Planes14, Policy::Gym4672),
            MlpEncoding::Squares => (Input::Onehot832, Policy::Uci1968),
        };
        Schemes { input, policy, value: if self.value { ValueScheme::Wdl } else { ValueScheme::None } }
    }

    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.hidden.is_empty(),
            "model.hidden is empty: use the family \"linear\" for no hidden layer"
        );
        if let Some(units) = self.hidden.iter().find(|units| **units < 1) {
            bail!("model.hidden contains {units}, must be at least 1");
        }
        Ok(())
    }
}
