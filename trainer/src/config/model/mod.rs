pub mod activation;
pub mod linear;
pub mod mlp;
pub mod resnet;
pub mod trm;

pub use activation::Activation;
pub use linear::LinearConfig;
pub use mlp::MlpConfig;
pub use resnet::ResnetConfig;
pub use trm::{StepWeights, TrmConfig};

use engine::nets::eval::Schemes;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A network's architecture. The JSON key `family` selects the variant (default `resnet`), which owns the other keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "family", rename_all = "lowercase", try_from = "Map<String, Value>")]
pub enum ModelConfig {
    /// Residual tower with squeeze-and-excitation, as in lc0.
    Resnet(ResnetConfig),
    /// Fully connected hidden layers, which convolutions may precede.
    Mlp(MlpConfig),
    /// Softmax regression: a matrix and a bias.
    Linear(LinearConfig),
    /// A small transformer applied recursively.
    Trm(TrmConfig),
}

impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig::Resnet(ResnetConfig::default())
    }
}

impl TryFrom<Map<String, Value>> for ModelConfig {
    type Error = String;

    fn try_from(mut keys: Map<String, Value>) -> Result<ModelConfig, String> {
        let family = keys.remove("family").unwrap_or_else(|| "resnet".into());
        match family.as_str() {
            Some("resnet") => read(keys).map(ModelConfig::Resnet),
            Some("mlp") => read(keys).map(ModelConfig::Mlp),
            Some("linear") => read(keys).map(ModelConfig::Linear),
            Some("trm") => read(keys).map(ModelConfig::Trm),
            _ => Err(format!(
                "model.family is {family}, must be \"sparse\", \"resnet\", \"mlp\", \"linear\" or \"trm\""
            )),
        }
    }
}

fn read<T: DeserializeOwned>(keys: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(keys)).map_err(|error| format!("model: {error}"))
}

impl ModelConfig {
    pub fn family(&self) -> &'static str {
        match self {
            ModelConfig::Resnet(_) => "resnet",
            ModelConfig::Mlp(_) => "mlp",
            ModelConfig::Linear(_) => "linear",
            ModelConfig::Trm(_) => "trm",
        }
    }

    pub fn schemes(&self) -> Schemes {
        match self {
            ModelConfig::Resnet(_) => resnet::SCHEMES,
            ModelConfig::Mlp(config) => config.schemes(),
            ModelConfig::Linear(_) => linear::SCHEMES,
            ModelConfig::Trm(_) => trm::SCHEMES,
        }
    }

    /// Takes `rounding` from `other`. Such training-only options change neither shapes nor inference.
    pub fn trained_as(mut self, other: &ModelConfig) -> ModelConfig {
        if let (ModelConfig::Resnet(own), ModelConfig::Resnet(other)) = (&mut self, other) {
            own.rounding = other.rounding;
        }
        self
    }

    pub fn check(&self) -> anyhow::Result<()> {
        match self {
            ModelConfig::Resnet(config) => config.check(),
            ModelConfig::Mlp(config) => config.check(),
            ModelConfig::Linear(_) => Ok(()),
            ModelConfig::Trm(config) => config.check(),
        }
    }

    /// Loss weight of each recursion step, in the order of the model's `Output::policy`.
    pub fn step_weights(&self) -> Vec<f64> {
        match self {
            ModelConfig::Resnet(_) | ModelConfig::Mlp(_) | ModelConfig::Linear(_) => vec![1.0],
            ModelConfig::Trm(config) => config.step_weights.of(config.steps),
        }
    }

    pub fn has_scalar_value(&self) -> bool {
        matches!(self, ModelConfig::Resnet(config) if config.value_head == resnet::ValueHead::Scalar)
    }

    pub fn dropouts(&self) -> Vec<(&'static str, f64)> {
        match self {
            ModelConfig::Resnet(config) => {
                vec![("policy_dropout", config.policy_dropout), ("value_dropout", config.value_dropout)]
            }
            ModelConfig::Mlp(_) | ModelConfig::Linear(_) => Vec::new(),
            ModelConfig::Trm(config) => vec![("dropout", config.dropout)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ModelConfig, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        let error = parse(r#"{"filter": 64}"#).unwrap_err();
        assert!(error.contains("unknown field `filter`"), "{error}");
        let error = parse(r#"{"family": "linear", "filters": 64}"#).unwrap_err();
        assert!(error.contains("unknown field `filters`"), "{error}");
        let error = parse(r#"{"family": "lstm"}"#).unwrap_err();
        assert!(error.contains("\"lstm\"") && error.contains("\"mlp\""), "{error}");
    }

    #[test]
    fn training_options_do_not_change_the_architecture() {
        let shipped = parse(r#"{"filters": 96, "rounding": true}"#).unwrap();
        let plain = shipped.trained_as(&parse(r#"{"filters": 8}"#).unwrap());
        assert_eq!(plain, parse(r#"{"filters": 96}"#).unwrap());
        let linear = parse(r#"{"family": "linear"}"#).unwrap();
        assert_eq!((linear.clone().trained_as(&plain), plain.clone().trained_as(&linear)), (linear, plain));
    }

    #[test]
    fn a_configuration_reads_back_the_same_and_defaults_to_resnet() {
        assert_eq!(parse("{}").unwrap(), ModelConfig::default());
        for text in [
            r#"{"family": "resnet", "filters": 96}"#,
            r#"{"family": "mlp", "hidden": [7, 5]}"#,
            r#"{"family": "linear"}"#,
            r#"{"family": "trm", "width": 64}"#,
        ] {
            let config = parse(text).unwrap();
            assert!(text.contains(config.family()));
            assert_eq!(parse(&serde_json::to_string(&config).unwrap()).unwrap(), config);
        }
    }
}
