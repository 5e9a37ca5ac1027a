use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Schemes, ValueScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const SCHEMES: Schemes =
    Schemes { input: Input::Onehot832, policy: Policy::Uci1968, value: ValueScheme::None };

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {}
