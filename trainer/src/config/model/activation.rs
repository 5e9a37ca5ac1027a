use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(x, 0)`
    #[default]
    Relu,
    /// Exact form with the error function: `x · Φ(x)`.
    Gelu,
    Tanh,
    /// `1 / (1 + e^−x)`
    Sigmoid,
}
