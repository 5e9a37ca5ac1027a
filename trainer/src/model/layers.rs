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

impl Pass<'_> {
    /// `x` with dropout, in training.
    pub fn dropped(&self, x: Tensor, p: f64) -> Tensor {
        if self.train && p > 0.0 { x.dropout(p, true) } else { x }
    }
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

/// Each token normalised over its channels, scaled and shifted.
pub(crate) struct LayerNorm {
    pub gamma: ParamId,
    pub beta: ParamId,
}

impl LayerNorm {
    pub fn new(layout: &mut Layout, name: &str, channels: i64) -> LayerNorm {
        let mut param = |part: &str, start: f64| {
            layout.param(format!("{name}.{part}"), Class::Norm, &[channels], Init::Constant(start))
        };
        LayerNorm { gamma: param("gamma", 1.0), beta: param("beta", 0.0) }
    }

    /// `[…, channels]`, computed in fp32.
    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let (gamma, beta) = (pass.weights.get(self.gamma), pass.weights.get(self.beta));
        let normed = |x: &Tensor| x.layer_norm(gamma.size(), Some(gamma), Some(beta), EPSILON, true);
        // On a CPU libtorch does so itself.
        if x.device().is_cuda() { normed(&x.to_kind(Kind::Float)).to_kind(x.kind()) } else { normed(x) }
    }
}

/// `[batch, heads, n, width]`: the mean of the values that each query's keys point at.
fn attend(query: &Tensor, key: &Tensor, value: &Tensor) -> Tensor {
    if query.device().is_cuda() {
        let none = None::<Tensor>;
        return Tensor::scaled_dot_product_attention(query, key, value, none, 0.0, false, None, false);
    }
    // On a CPU libtorch's own takes a product for every head of every sample, each with its set-up.
    let scale = (query.size()[3] as f64).sqrt().recip();
    let scores = (query * scale).matmul(&key.transpose(2, 3));
    scores.softmax(-1, query.kind()).matmul(value)
}

/// Multi-head self-attention over tokens, the squares for example. The tokens are normalised over
/// their channels first.
pub(crate) struct Attention {
    pub norm: LayerNorm,
    pub qkv: Linear,
    pub out: Linear,
    pub heads: i64,
}

impl Attention {
    /// `gain` is the variance of what it gives, at first, by that of what it takes in.
    pub fn new(layout: &mut Layout, name: &str, channels: i64, heads: i64, gain: f64) -> Attention {
        Attention {
            norm: LayerNorm::new(layout, &format!("{name}.norm"), channels),
            qkv: Linear::new(layout, &format!("{name}.qkv"), channels, 3 * channels, 1.0),
            out: Linear::new(layout, &format!("{name}.out"), channels, channels, gain),
            heads,
        }
    }

    /// What is added to a board `[batch, channels, 8, 8]`, and the board.
    pub fn forward(&self, pass: &Pass, x: &Tensor) -> Tensor {
        let (batch, channels) = (x.size()[0], x.size()[1]);
        // Channels lie last, so this is a view: [batch, squares, channels].
        let tokens = x.permute([0, 2, 3, 1]).reshape([batch, 64, channels]);
        let tokens = &tokens + self.added(pass, &tokens);
        tokens.view([batch, 8, 8, channels]).permute([0, 3, 1, 2])
    }

    /// What is to be added to `tokens` `[batch, n, channels]`.
    pub fn added(&self, pass: &Pass, tokens: &Tensor) -> Tensor {
        let [batch, n, channels] = tokens.size()[..] else { panic!("tokens have three axes") };
        let qkv = self.qkv.forward(pass, &self.norm.forward(pass, tokens));
        let qkv = qkv.view([batch, n, 3, self.heads, channels / self.heads]).permute([2, 0, 3, 1, 4]);
        let [query, key, value] = &qkv.unbind(0)[..] else { panic!("three of them") };
        let mixed = attend(query, key, value);
        self.out.forward(pass, &mixed.transpose(1, 2).reshape([batch, n, channels]))
    }
}
