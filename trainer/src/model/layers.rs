//! The building blocks: which parameters they own, and their forward pass in libtorch.
//!
//! Activations are `[batch, channels, 8, 8]` with channels last in memory, in the kind of
//! [`Weights::kind`]; normalisations compute in fp32 inside.

use super::params::{Class, Init, Layout, ParamId, StatId, Weights};
use super::resnet::config::{Activation, NormKind, ResnetConfig};
use tch::{Kind, Tensor};

/// Added to a variance before its root is taken.
pub(crate) const EPSILON: f64 = 1e-5;
/// How fast BatchNorm's running statistics follow the batches.
const MOMENTUM: f64 = 0.1;

/// What a forward pass carries along.
pub(crate) struct Pass<'a> {
    pub weights: &'a Weights,
    pub train: bool,
}

impl Activation {
    pub(crate) fn forward(self, x: &Tensor) -> Tensor {
        match self {
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu("none"),
        }
    }
}

/// A convolution over the board, padded to keep its size.
pub(crate) struct Conv {
    pub weight: ParamId,
    pub bias: Option<ParamId>,
    pub kernel: i64,
}

impl Conv {
    pub fn new(layout: &mut Layout, name: &str, shape: [i64; 3], bias: bool, gain: f64) -> Conv {
        let [inputs, outputs, kernel] = shape;
        let deviation = (gain / (inputs * kernel * kernel) as f64).sqrt();
        let dims = [outputs, inputs, kernel, kernel];
        let weight = layout.param(format!("{name}.weight"), Class::Weight, &dims, Init::Normal(deviation));
        let bias =
            bias.then(|| layout.param(format!("{name}.bias"), Class::Bias, &[outputs], Init::Constant(0.0)));
        Conv { weight, bias, kernel }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let padding = self.kernel / 2;
        let bias = self.bias.map(|id| pass.weights.get(id));
        x.conv2d(pass.weights.get(self.weight), bias, 1, padding, 1, 1)
    }
}

/// A fully connected layer.
pub(crate) struct Linear {
    pub weight: ParamId,
    pub bias: ParamId,
}

impl Linear {
    pub fn new(layout: &mut Layout, name: &str, inputs: i64, outputs: i64, gain: f64) -> Linear {
        let init = Init::Normal((gain / inputs as f64).sqrt());
        Linear {
            weight: layout.param(format!("{name}.weight"), Class::Weight, &[outputs, inputs], init),
            bias: layout.param(format!("{name}.bias"), Class::Bias, &[outputs], Init::Constant(0.0)),
        }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        x.linear(pass.weights.get(self.weight), Some(pass.weights.get(self.bias)))
    }
}

/// A normalisation of channels.
pub(crate) struct Norm {
    pub gamma: ParamId,
    pub beta: ParamId,
    pub kind: NormDetail,
}

pub(crate) enum NormDetail {
    Batch { mean: StatId, variance: StatId },
    Group { groups: i64 },
}

impl Norm {
    pub fn new(layout: &mut Layout, name: &str, channels: i64, config: &ResnetConfig, gamma: f64) -> Norm {
        let kind = match config.norm {
            NormKind::Batch => NormDetail::Batch {
                mean: layout.stat(format!("{name}.mean"), &[channels], 0.0),
                variance: layout.stat(format!("{name}.variance"), &[channels], 1.0),
            },
            NormKind::Group => NormDetail::Group { groups: gcd(config.groups, channels) },
        };
        let gamma = Init::Constant(gamma);
        Norm {
            gamma: layout.param(format!("{name}.gamma"), Class::Norm, &[channels], gamma),
            beta: layout.param(format!("{name}.beta"), Class::Norm, &[channels], Init::Constant(0.0)),
            kind,
        }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let gamma = Some(pass.weights.get(self.gamma));
        let beta = Some(pass.weights.get(self.beta));
        match self.kind {
            NormDetail::Batch { mean, variance } => {
                let mean = Some(pass.weights.stat(mean));
                let variance = Some(pass.weights.stat(variance));
                x.batch_norm(gamma, beta, mean, variance, pass.train, MOMENTUM, EPSILON, true)
            }
            NormDetail::Group { groups } => {
                x.to_kind(Kind::Float).group_norm(groups, gamma, beta, EPSILON, true).to_kind(x.kind())
            }
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A convolution without bias and the normalisation of its outputs.
pub(crate) struct ConvNorm {
    pub conv: Conv,
    pub norm: Norm,
}

impl ConvNorm {
    pub fn new(
        layout: &mut Layout,
        name: &str,
        shape: [i64; 3],
        config: &ResnetConfig,
        gamma: f64,
    ) -> ConvNorm {
        ConvNorm {
            conv: Conv::new(layout, &format!("{name}.conv"), shape, false, 2.0),
            norm: Norm::new(layout, &format!("{name}.norm"), shape[1], config, gamma),
        }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        self.norm.forward(pass, &self.conv.forward(pass, x))
    }
}

/// Squeeze-and-excitation: each channel is scaled by a gate computed from all channels' means.
pub(crate) struct Squeeze {
    pub reduce: Linear,
    pub expand: Linear,
}

impl Squeeze {
    pub fn new(layout: &mut Layout, name: &str, channels: i64, hidden: i64) -> Squeeze {
        Squeeze {
            reduce: Linear::new(layout, &format!("{name}.reduce"), channels, hidden, 2.0),
            expand: Linear::new(layout, &format!("{name}.expand"), hidden, channels, 1.0),
        }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let means = x.mean_dim([2i64, 3].as_slice(), false, None::<Kind>);
        let gate = self.expand.forward(pass, &self.reduce.forward(pass, &means).relu()).sigmoid();
        x * gate.unsqueeze(-1).unsqueeze(-1)
    }
}

/// Multi-head self-attention over the 64 squares, added to its input. The input is normalised over
/// its channels first.
pub(crate) struct Attention {
    pub gamma: ParamId,
    pub beta: ParamId,
    pub qkv: Linear,
    pub out: Linear,
    pub heads: i64,
}

impl Attention {
    pub fn new(layout: &mut Layout, name: &str, channels: i64, heads: i64) -> Attention {
        let one = Init::Constant(1.0);
        let zero = Init::Constant(0.0);
        Attention {
            gamma: layout.param(format!("{name}.norm.gamma"), Class::Norm, &[channels], one),
            beta: layout.param(format!("{name}.norm.beta"), Class::Norm, &[channels], zero),
            qkv: Linear::new(layout, &format!("{name}.qkv"), channels, 3 * channels, 1.0),
            // Small, so that at first the block passes its input on almost unchanged.
            out: Linear::new(layout, &format!("{name}.out"), channels, channels, 0.01),
            heads,
        }
    }

    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let (batch, channels) = (x.size()[0], x.size()[1]);
        // Channels lie last, so this is a view: [batch, squares, channels].
        let tokens = x.permute([0, 2, 3, 1]).reshape([batch, 64, channels]);
        let gamma = Some(pass.weights.get(self.gamma));
        let beta = Some(pass.weights.get(self.beta));
        let normed = tokens.to_kind(Kind::Float).layer_norm([channels], gamma, beta, EPSILON, true);
        let qkv = self.qkv.forward(pass, &normed.to_kind(x.kind()));
        let qkv = qkv.view([batch, 64, 3, self.heads, channels / self.heads]).permute([2, 0, 3, 1, 4]);
        let mixed = Tensor::scaled_dot_product_attention(
            &qkv.get(0),
            &qkv.get(1),
            &qkv.get(2),
            None::<Tensor>,
            0.0,
            false,
            None,
            false,
        );
        let mixed = mixed.transpose(1, 2).reshape([batch, 64, channels]);
        let tokens = tokens + self.out.forward(pass, &mixed);
        tokens.view([batch, 8, 8, channels]).permute([0, 3, 1, 2])
    }
}
