use anyhow::{Result, bail, ensure};
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Schemes, ValueScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activation::Activation;

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
    /// Channels of each 3x3 convolution between the planes and the hidden layers; none if empty.
    pub convolutions: Vec<i64>,
    /// Units per hidden layer, from input to output.
    pub hidden: Vec<i64>,
    /// After every convolution and hidden layer.
    pub activation: Activation,
    /// Whether there is a WDL value head. Otherwise the network is policy-only.
    pub value: bool,
}

impl Default for MlpConfig {
    fn default() -> Self {
        MlpConfig {
            encoding: MlpEncoding::Gym,
            convolutions: Vec::new(),
            hidden: vec![1000, 1000, 1000, 200],
            activation: Activation::Relu,
            value: true,
        }
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
        ensure!(
            self.convolutions.is_empty() || self.encoding == MlpEncoding::Gym,
            "model.convolutions needs the planes of model.encoding \"gym\": \"squares\" has a row of numbers"
        );
        for (key, sizes) in [("convolutions", &self.convolutions), ("hidden", &self.hidden)] {
            if let Some(size) = sizes.iter().find(|size| **size < 1) {
                bail!("model.{key} contains {size}, must be at least 1");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_layer_is_named() {
        assert!(MlpConfig::default().check().is_ok());
        for (text, key) in [
            (r#"{"hidden": []}"#, "hidden"),
            (r#"{"hidden": [8, 0]}"#, "hidden"),
            (r#"{"convolutions": [0]}"#, "convolutions"),
            (r#"{"convolutions": [8], "encoding": "squares"}"#, "squares"),
        ] {
            let config: MlpConfig = serde_json::from_str(text).unwrap();
            let error = config.check().unwrap_err().to_string();
            assert!(error.starts_with("model.") && error.contains(key), "{text}: {error}");
        }
        let error = serde_json::from_str::<MlpConfig>(r#"{"activation": "swish"}"#).unwrap_err().to_string();
        assert!(error.contains("`swish`") && error.contains("`sigmoid`"), "{error}");
    }
}
