//! The shape of the family `linear`.

use engine::encoding::{Input, Policy};
use engine::eval::{Schemes, Value};
use serde::{Deserialize, Serialize};

/// What it sees and answers.
pub const SCHEMES: Schemes = Schemes { input: Input::Onehot832, policy: Policy::Uci1968, value: Value::None };

/// The shape of the matrix, about which there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearConfig {}
