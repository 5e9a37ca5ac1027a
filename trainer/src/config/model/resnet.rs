use anyhow::{Result, bail};
use engine::nets::encoding::{Input, Policy};
use engine::nets::eval::{Schemes, ValueScheme};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activation::Activation;

pub const SCHEMES: Schemes =
    Schemes { input: Input::Planes72, policy: Policy::Az4672, value: ValueScheme::Wdl };

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NormKind {
    /// Fastest at inference, because export folds it into the convolution.
    #[default]
    Batch,
    Group,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyHead {
    /// 3x3 and 1x1 convolution to 73 move types per square.
    #[default]
    Conv,
    /// 1x1 convolution to [`ResnetConfig::policy_channels`], then one fully connected layer.
    Dense,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValueHead {
    /// WDL logits, trained with cross-entropy.
    #[default]
    Wdl,
    /// A number v. The loss is the squared error of tanh v against win minus loss, as in AlphaZero. The network file
    /// has equivalent WDL logits (v, −20, −v), whose draw probability is about 0.
    Scalar,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResnetConfig {
    /// Channels of the tower.
    pub filters: i64,
    /// Residual blocks.
    pub blocks: i64,
    /// Squeeze-and-excitation with `filters / se_ratio` hidden channels; 0 for none.
    pub se_ratio: i64,
    /// Normalisation; `batch` is the fastest at inference.
    pub norm: NormKind,
    /// Groups of [`NormKind::Group`]. In a head: the greatest common divisor of this and its channels.
    pub groups: i64,
    /// In tower and heads.
    pub activation: Activation,
    /// Inside squeeze-and-excitation.
    pub se_activation: Activation,
    /// Self-attention over the 64 squares follows each of the last `attention_blocks` blocks.
    pub attention_blocks: i64,
    /// Must divide `filters`.
    pub attention_heads: i64,
    /// `conv` ends with 73 move types per square, `dense` with a fully connected layer.
    pub policy_head: PolicyHead,
    /// Only for [`PolicyHead::Dense`].
    pub policy_channels: i64,
    /// Before the last layer of the policy head.
    pub policy_dropout: f64,
    /// Win, draw and loss (`wdl`), or one number, as in AlphaZero (`scalar`).
    pub value_head: ValueHead,
    /// Channels before the value head's fully connected layers.
    pub value_channels: i64,
    /// Hidden units of the value head.
    pub value_hidden: i64,
    /// Before the last layer of the value head.
    pub value_dropout: f64,
    /// Quantisation-aware training: the forward pass rounds everything that `quantise` will store in 8 bits.
    pub rounding: bool,
}

impl Default for ResnetConfig {
    fn default() -> Self {
        ResnetConfig {
            filters: 64,
            blocks: 6,
            se_ratio: 8,
            norm: NormKind::Batch,
            groups: 8,
            activation: Activation::Relu,
            se_activation: Activation::Relu,
            attention_blocks: 0,
            attention_heads: 4,
            policy_head: PolicyHead::Conv,
            policy_channels: 32,
            policy_dropout: 0.0,
            value_head: ValueHead::Wdl,
            value_channels: 8,
            value_hidden: 128,
            value_dropout: 0.0,
            rounding: false,
        }
    }
}

impl ResnetConfig {
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("filters", self.filters),
            ("blocks", self.blocks),
            ("groups", self.groups),
            ("attention_heads", self.attention_heads),
            ("policy_channels", self.policy_channels),
            ("value_channels", self.value_channels),
            ("value_hidden", self.value_hidden),
        ];
        for (key, value) in positive {
            if value < 1 {
                bail!("model.{key} is {value}, must be at least 1");
            }
        }
        if self.se_ratio < 0 || (self.se_ratio > 0 && self.filters % self.se_ratio != 0) {
            bail!("model.se_ratio {} does not divide filters {}", self.se_ratio, self.filters);
        }
        if !(0..=self.blocks).contains(&self.attention_blocks) {
            bail!("model.attention_blocks is {}, must be 0 to {}", self.attention_blocks, self.blocks);
        }
        if self.attention_blocks > 0 && self.filters % self.attention_heads != 0 {
            bail!("model.attention_heads {} does not divide filters {}", self.attention_heads, self.filters);
        }
        if self.norm == NormKind::Group && self.filters % self.groups != 0 {
            bail!("model.groups {} does not divide filters {}", self.groups, self.filters);
        }
        for (key, p) in [("policy_dropout", self.policy_dropout), ("value_dropout", self.value_dropout)] {
            if !(0.0..1.0).contains(&p) {
                bail!("model.{key} is {p}, must be at least 0 and below 1");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_value_is_named() {
        let config = ResnetConfig { se_ratio: 7, ..ResnetConfig::default() };
        assert!(config.check().unwrap_err().to_string().contains("se_ratio"));
        assert!(ResnetConfig::default().check().is_ok());
    }
}
