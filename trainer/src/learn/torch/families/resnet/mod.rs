//! The family `resnet`: a residual tower with a policy head and a value head.

use super::layers::{Attention, ConvNorm, Convolution, ForwardPass, Linear, SqueezeExcitation};
use super::net::Output;
use super::params::ParamLayout;
use crate::config::model::resnet::{PolicyHead, ValueHead};
use crate::config::model::{Activation, ResnetConfig};
use engine::nets::encoding::{az4672, planes72};
use tch::Tensor;

const INPUT_PLANES: i64 = planes72::PLANES as i64;
const MOVE_TYPES: i64 = az4672::TYPES as i64;
const POLICY: i64 = az4672::SIZE as i64;

/// Maps a scalar value `v` to WDL logits, each `v · factor + offset`. Their softmax is a win with `(1 + tanh v) / 2`,
/// otherwise a loss, and almost never a draw.
pub(crate) const SCALAR_WDL: [(f32, f32); 3] = [(1.0, 0.0), (0.0, -20.0), (-1.0, 0.0)];

pub(crate) struct Resnet {
    pub config: ResnetConfig,
    pub stem: ConvNorm,
    pub blocks: Vec<ResidualBlock>,
    pub policy: PolicyHeadLayers,
    pub value: ValueHeadLayers,
}

pub(crate) struct ResidualBlock {
    pub first: ConvNorm,
    pub second: ConvNorm,
    pub squeeze: Option<SqueezeExcitation>,
    pub attention: Option<Attention>,
}

pub(crate) enum PolicyHeadLayers {
    Conv { hidden: ConvNorm, out: Convolution },
    Dense { hidden: ConvNorm, out: Linear },
}

pub(crate) struct ValueHeadLayers {
    pub squeeze: ConvNorm,
    pub hidden: Linear,
    pub out: Linear,
}

impl Resnet {
    pub fn new(l: &mut ParamLayout, config: &ResnetConfig) -> Resnet {
        let c = config.filters;
        let stem = ConvNorm::new(l, "stem", [INPUT_PLANES, c, 3], config, 1.0);
        let blocks = (0..config.blocks).map(|i| ResidualBlock::new(l, i, config)).collect();
        let policy = match config.policy_head {
            PolicyHead::Conv => PolicyHeadLayers::Conv {
                hidden: ConvNorm::new(l, "policy.hidden", [c, c, 3], config, 1.0),
                out: Convolution::new(l, "policy.out", [c, MOVE_TYPES, 1], true, 0.1),
            },
            PolicyHead::Dense => PolicyHeadLayers::Dense {
                hidden: ConvNorm::new(l, "policy.hidden", [c, config.policy_channels, 1], config, 1.0),
                out: Linear::new(l, "policy.out", 64 * config.policy_channels, POLICY, 0.1),
            },
        };
        let outputs = match config.value_head {
            ValueHead::Wdl => 3,
            ValueHead::Scalar => 1,
        };
        let value = ValueHeadLayers {
            squeeze: ConvNorm::new(l, "value.squeeze", [c, config.value_channels, 1], config, 1.0),
            hidden: Linear::new(l, "value.hidden", 64 * config.value_channels, config.value_hidden, 2.0),
            out: Linear::new(l, "value.out", config.value_hidden, outputs, 0.1),
        };
        Resnet { config: config.clone(), stem, blocks, policy, value }
    }

    /// `planes` is `[batch, 72, 8, 8]`.
    pub fn forward(&self, pass: &ForwardPass, planes: &Tensor) -> Output {
        let act = self.config.activation;
        let channels_last = planes.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        let mut x = pass.rounded(act.forward(&self.stem.forward(pass, &channels_last)));
        for block in &self.blocks {
            x = block.forward(pass, act, &x);
        }
        Output { policy: vec![self.policy(pass, &x)], wdl: vec![self.wdl(pass, &x)] }
    }

    fn policy(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let act = self.config.activation;
        let dropout = self.config.policy_dropout;
        match &self.policy {
            PolicyHeadLayers::Conv { hidden, out } => {
                let hidden = pass.rounded(act.forward(&hidden.forward(pass, x)));
                let hidden = pass.dropped(hidden, dropout);
                // A view, because memory is channels-last: index = square · 73 + type.
                out.forward(pass, &hidden).permute([0, 2, 3, 1]).reshape([-1, POLICY])
            }
            PolicyHeadLayers::Dense { hidden, out } => {
                let hidden = act.forward(&hidden.forward(pass, x)).flatten(1, -1);
                out.forward(pass, &pass.dropped(hidden, dropout))
            }
        }
    }

    fn wdl(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let act = self.config.activation;
        // `quantise` leaves the value head in floating point.
        let pass = &ForwardPass { rounding: false, ..*pass };
        let squeezed = act.forward(&self.value.squeeze.forward(pass, x)).flatten(1, -1);
        let hidden = act.forward(&self.value.hidden.forward(pass, &squeezed));
        let out = self.value.out.forward(pass, &pass.dropped(hidden, self.config.value_dropout));
        match self.config.value_head {
            ValueHead::Wdl => out,
            ValueHead::Scalar => {
                let of = |numbers: [f32; 3]| {
                    Tensor::from_slice(&numbers).to_device(out.device()).to_kind(out.kind())
                };
                &out * of(SCALAR_WDL.map(|(factor, _)| factor)) + of(SCALAR_WDL.map(|(_, offset)| offset))
            }
        }
    }
}

impl ResidualBlock {
    fn new(layout: &mut ParamLayout, index: i64, config: &ResnetConfig) -> ResidualBlock {
        let c = config.filters;
        let name = |part: &str| format!("blocks.{index}.{part}");
        let attends = index >= config.blocks - config.attention_blocks;
        ResidualBlock {
            first: ConvNorm::new(layout, &name("first"), [c, c, 3], config, 1.0),
            // The scale is zero, so that the block starts as the identity.
            second: ConvNorm::new(layout, &name("second"), [c, c, 3], config, 0.0),
            squeeze: (config.se_ratio > 0).then(|| {
                let hidden = c / config.se_ratio;
                SqueezeExcitation::new(layout, &name("squeeze"), c, hidden, config.se_activation)
            }),
            attention: attends.then(|| {
                // The gain is small, so that the attention starts almost as the identity.
                Attention::new(layout, &name("attention"), c, config.attention_heads, 0.01)
            }),
        }
    }

    fn forward(&self, pass: &ForwardPass, act: Activation, x: &Tensor) -> Tensor {
        let y = pass.rounded(act.forward(&self.first.forward(pass, x)));
        let mut y = pass.rounded(self.second.forward(pass, &y));
        if let Some(squeeze) = &self.squeeze {
            y = pass.rounded(squeeze.forward(pass, &y));
        }
        let y = pass.rounded(act.forward(&(y + x)));
        match &self.attention {
            Some(attention) => attention.forward(pass, &y),
            None => y,
        }
    }
}
