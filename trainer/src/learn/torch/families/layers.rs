//! Layers in libtorch. Activations are `[batch, channels, 8, 8]`, channels-last, of dtype [`Weights::kind`];
//! normalisations compute in fp32.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::params::{Class, Init, ParamId, ParamLayout, StatId, Weights};
use crate::config::model::resnet::NormKind;
use crate::config::model::{Activation, ResnetConfig};
use tch::{Device, Kind, Tensor};

/// Added to the variance in normalisations.
pub(crate) const EPSILON: f64 = 1e-5;
/// Weight of a batch in BatchNorm's running statistics.
const MOMENTUM: f64 = 0.1;

pub(crate) struct ForwardPass<'a> {
    pub weights: &'a Weights,
    pub train: bool,
    /// Quantisation-aware training if `train` too.
    pub rounding: bool,
}

impl ForwardPass<'_> {
    /// Dropout in training only.
    pub fn dropped(&self, x: Tensor, p: f64) -> Tensor {
        let cut = (256.0 * p).round();
        if !self.train || p == 0.0 {
            x
        } else if x.device() == Device::Cpu && (1.0..256.0).contains(&cut) {
            &x * dropout_mask(&x, cut)
        } else {
            x.dropout(p, true)
        }
    }

    /// In quantisation-aware training, rounds activations to 256 levels with one scale per tensor.
    pub fn rounded(&self, x: Tensor) -> Tensor {
        if !(self.train && self.rounding) {
            return x;
        }
        let step = tch::no_grad(|| {
            let [low, high] = [x.min(), x.max()];
            // Symmetric around zero if there are negative values, as in `quantise`.
            let steps = 255.0 - 128.0 * low.lt(0.0).to_kind(x.kind());
            high.maximum(&-low) / steps
        });
        straight_through(&x, &step)
    }

    /// Weights `[out, …]`. Quantisation-aware training rounds them to −127..127 times one scale per output.
    fn rounded_weight(&self, id: ParamId) -> Tensor {
        let weight = self.weights.get(id);
        if !(self.train && self.rounding) {
            return weight.shallow_clone();
        }
        let inner: Vec<i64> = (1..weight.dim() as i64).collect();
        let step = tch::no_grad(|| weight.abs().amax(inner.as_slice(), true) / 127.0);
        straight_through(weight, &step)
    }
}

/// Seeds libtorch's generator, which is one for all threads. While the guard lives, no other thread seeds it.
pub(crate) fn seed_generator(seed: i64) -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    let guard = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(seed);
    guard
}

/// 0 for `cut` of 256 elements, otherwise the factor that keeps the mean. Eight elements share a 64-bit random number:
/// libtorch's own dropout draws one per element, which took a tenth of a step of `trm`.
fn dropout_mask(x: &Tensor, cut: f64) -> Tensor {
    let _guard = tch::no_grad_guard();
    let elements = x.numel() as i64;
    let words = Tensor::empty([(elements + 7) / 8], (Kind::Int64, x.device()));
    let bytes = words.random_from(i64::MIN, None).view_dtype(Kind::Uint8);
    bytes.narrow(0, 0, elements).view(&x.size()[..]).ge(cut).to_kind(x.kind()) * (256.0 / (256.0 - cut))
}

/// Rounds to multiples of `step`, with a straight-through gradient (Bengio et al. 2013; Jacob et al. 2018 for 8 bits).
fn straight_through(x: &Tensor, step: &Tensor) -> Tensor {
    let moved = tch::no_grad(|| {
        let step = step.clamp_min(1e-12);
        (x / &step).round() * step - x
    });
    x + moved
}

impl Activation {
    pub(crate) fn forward(self, x: &Tensor) -> Tensor {
        match self {
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu("none"),
            Activation::Tanh => x.tanh(),
            Activation::Sigmoid => x.sigmoid(),
        }
    }
}

/// 2D, with `same` padding.
pub(crate) struct Convolution {
    pub weight: ParamId,
    pub bias: Option<ParamId>,
    pub kernel: i64,
}

impl Convolution {
    pub fn new(layout: &mut ParamLayout, name: &str, shape: [i64; 3], bias: bool, gain: f64) -> Convolution {
        let [inputs, outputs, kernel] = shape;
        let deviation = (gain / (inputs * kernel * kernel) as f64).sqrt();
        let dims = [outputs, inputs, kernel, kernel];
        let weight = layout.param(format!("{name}.weight"), Class::Weight, &dims, Init::Normal(deviation));
        let bias =
            bias.then(|| layout.param(format!("{name}.bias"), Class::Bias, &[outputs], Init::Constant(0.0)));
        Convolution { weight, bias, kernel }
    }

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let padding = self.kernel / 2;
        let bias = self.bias.map(|id| pass.weights.get(id));
        x.conv2d(&pass.rounded_weight(self.weight), bias, 1, padding, 1, 1)
    }
}

pub(crate) struct Linear {
    pub weight: ParamId,
    pub bias: ParamId,
}

impl Linear {
    pub fn new(layout: &mut ParamLayout, name: &str, inputs: i64, outputs: i64, gain: f64) -> Linear {
        let init = Init::Normal((gain / inputs as f64).sqrt());
        Linear {
            weight: layout.param(format!("{name}.weight"), Class::Weight, &[outputs, inputs], init),
            bias: layout.param(format!("{name}.bias"), Class::Bias, &[outputs], Init::Constant(0.0)),
        }
    }

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        x.linear(pass.weights.get(self.weight), Some(pass.weights.get(self.bias)))
    }
}

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
    pub fn new(
        layout: &mut ParamLayout,
        name: &str,
        channels: i64,
        config: &ResnetConfig,
        gamma: f64,
    ) -> Norm {
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

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
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

pub(crate) struct ConvNorm {
    pub conv: Convolution,
    pub norm: Norm,
}

impl ConvNorm {
    pub fn new(
        layout: &mut ParamLayout,
        name: &str,
        shape: [i64; 3],
        config: &ResnetConfig,
        gamma: f64,
    ) -> ConvNorm {
        ConvNorm {
            conv: Convolution::new(layout, &format!("{name}.conv"), shape, false, 2.0),
            norm: Norm::new(layout, &format!("{name}.norm"), shape[1], config, gamma),
        }
    }

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        self.norm.forward(pass, &self.conv.forward(pass, x))
    }
}

/// Hu et al. 2018.
pub(crate) struct SqueezeExcitation {
    pub reduce: Linear,
    pub expand: Linear,
    pub activation: Activation,
}

impl SqueezeExcitation {
    pub fn new(
        layout: &mut ParamLayout,
        name: &str,
        channels: i64,
        hidden: i64,
        activation: Activation,
    ) -> SqueezeExcitation {
        SqueezeExcitation {
            activation,
            reduce: Linear::new(layout, &format!("{name}.reduce"), channels, hidden, 2.0),
            expand: Linear::new(layout, &format!("{name}.expand"), hidden, channels, 1.0),
        }
    }

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let means = pass.rounded(x.mean_dim([2i64, 3].as_slice(), false, None::<Kind>));
        let hidden = self.activation.forward(&self.reduce.forward(pass, &means));
        let gate = self.expand.forward(pass, &hidden).sigmoid();
        x * gate.unsqueeze(-1).unsqueeze(-1)
    }
}

/// Over the channels of each token.
pub(crate) struct LayerNorm {
    pub gamma: ParamId,
    pub beta: ParamId,
}

impl LayerNorm {
    pub fn new(layout: &mut ParamLayout, name: &str, channels: i64) -> LayerNorm {
        let mut param = |part: &str, start: f64| {
            layout.param(format!("{name}.{part}"), Class::Norm, &[channels], Init::Constant(start))
        };
        LayerNorm { gamma: param("gamma", 1.0), beta: param("beta", 0.0) }
    }

    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let (gamma, beta) = (pass.weights.get(self.gamma), pass.weights.get(self.beta));
        let normed = |x: &Tensor| x.layer_norm(gamma.size(), Some(gamma), Some(beta), EPSILON, true);
        // libtorch's CPU kernel computes in fp32 internally.
        if x.device().is_cuda() { normed(&x.to_kind(Kind::Float)).to_kind(x.kind()) } else { normed(x) }
    }
}

/// All tensors are `[batch, heads, n, width]`.
fn attend(query: &Tensor, key: &Tensor, value: &Tensor) -> Tensor {
    if query.device().is_cuda() {
        let none = None::<Tensor>;
        return Tensor::scaled_dot_product_attention(query, key, value, none, 0.0, false, None, false);
    }
    // libtorch's CPU implementation is slower: it multiplies each head of each sample separately.
    let scale = (query.size()[3] as f64).sqrt().recip();
    let scores = (query * scale).matmul(&key.transpose(2, 3));
    scores.softmax(-1, query.kind()).matmul(value)
}

pub(crate) struct Attention {
    pub norm: LayerNorm,
    pub qkv: Linear,
    pub out: Linear,
    pub heads: i64,
}

impl Attention {
    /// `gain` is the initial ratio of output variance to input variance.
    pub fn new(layout: &mut ParamLayout, name: &str, channels: i64, heads: i64, gain: f64) -> Attention {
        Attention {
            norm: LayerNorm::new(layout, &format!("{name}.norm"), channels),
            qkv: Linear::new(layout, &format!("{name}.qkv"), channels, 3 * channels, 1.0),
            out: Linear::new(layout, &format!("{name}.out"), channels, channels, gain),
            heads,
        }
    }

    /// `x` is `[batch, channels, 8, 8]`, a token per square.
    pub fn forward(&self, pass: &ForwardPass, x: &Tensor) -> Tensor {
        let (batch, channels) = (x.size()[0], x.size()[1]);
        // A view, because memory is channels-last: [batch, squares, channels].
        let tokens = x.permute([0, 2, 3, 1]).reshape([batch, 64, channels]);
        let tokens = &tokens + self.residual(pass, &tokens);
        tokens.view([batch, 8, 8, channels]).permute([0, 3, 1, 2])
    }

    /// `[batch, n, channels]` to the same shape.
    pub fn residual(&self, pass: &ForwardPass, tokens: &Tensor) -> Tensor {
        let [batch, n, channels] = tokens.size()[..] else { panic!("tokens have three axes") };
        let qkv = self.qkv.forward(pass, &self.norm.forward(pass, tokens));
        let qkv = qkv.view([batch, n, 3, self.heads, channels / self.heads]).permute([2, 0, 3, 1, 4]);
        let [query, key, value] = &qkv.unbind(0)[..] else { panic!("query, key and value") };
        let mixed = attend(query, key, value);
        self.out.forward(pass, &mixed.transpose(1, 2).reshape([batch, n, channels]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::learn::torch::families::net::Net;
    use tch::Device;

    /// Largest distance from a multiple of `step`, in steps.
    fn rounding_error(tensor: &Tensor, step: f64) -> f64 {
        let steps = tensor / step;
        (&steps - steps.round()).abs().max().double_value(&[])
    }

    #[test]
    fn activations_are_rounded_in_training_with_an_unchanged_gradient() {
        let net = Net::new(&ModelConfig::default()).unwrap();
        let weights = &Weights::new(net.layout(), Device::Cpu, Kind::Float, 1);
        let rounds = ForwardPass { weights, train: true, rounding: true };
        // The range is 0 to 255 steps without negative values, otherwise −127 to 127.
        let positive = Tensor::from_slice(&[0.0f32, 0.4, 100.3, 255.0]);
        assert_eq!(rounds.rounded(positive.copy()), Tensor::from_slice(&[0.0f32, 0.0, 100.0, 255.0]));
        let signed = Tensor::from_slice(&[-254.0f32, -0.9, 1.1, 100.3]);
        assert_eq!(rounds.rounded(signed.copy()), Tensor::from_slice(&[-254.0f32, 0.0, 2.0, 100.0]));
        assert_eq!(
            rounds.rounded(Tensor::zeros([3], (Kind::Float, Device::Cpu))).max().double_value(&[]),
            0.0
        );
        for pass in [ForwardPass { rounding: false, ..rounds }, ForwardPass { train: false, ..rounds }] {
            assert_eq!(pass.rounded(signed.copy()), signed);
        }
        let x = signed.set_requires_grad(true);
        let factors = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 4.0]);
        (rounds.rounded(x.shallow_clone()) * &factors).sum(Kind::Float).backward();
        assert_eq!(x.grad(), factors);
    }

    #[test]
    fn weights_are_rounded_with_one_scale_per_output() {
        let mut layout = ParamLayout::default();
        let conv = Convolution::new(&mut layout, "conv", [5, 2, 3], false, 1.0);
        let weights = &Weights::new(&layout, Device::Cpu, Kind::Float, 1);
        let rounded = ForwardPass { weights, train: true, rounding: true }.rounded_weight(conv.weight);
        for output in 0..2 {
            let (before, after) = (weights.get(conv.weight).get(output), rounded.get(output));
            let step = before.abs().max().double_value(&[]) / 127.0;
            assert!(rounding_error(&before, step) > 0.3 && rounding_error(&after, step) < 1e-3);
            assert!((before - after).abs().max().double_value(&[]) <= 0.5001 * step);
        }
    }

    #[test]
    fn rounding_affects_training_only() {
        let config = |rounding: bool| -> ModelConfig {
            serde_json::from_value(serde_json::json!({ "filters": 8, "blocks": 1, "rounding": rounding }))
                .unwrap()
        };
        let nets = [false, true].map(|rounding| Net::new(&config(rounding)).unwrap());
        let weights = Weights::new(nets[0].layout(), Device::Cpu, Kind::Float, 1);
        let _generator = seed_generator(1);
        let input = Tensor::rand([4, 72, 8, 8], (Kind::Float, Device::Cpu));
        let answers = |train: bool| {
            nets.each_ref().map(|net| net.forward(&weights, &input, train).last_policy().copy())
        };
        let [plain, rounding] = answers(false);
        assert_eq!(plain, rounding);
        let [plain, rounding] = answers(true);
        let difference = (plain - rounding).abs().max().double_value(&[]);
        assert!(difference > 1e-5, "{difference}");
    }

    #[test]
    fn dropout_keeps_the_mean_and_repeats_with_its_seed() {
        let x = Tensor::ones([100, 1001], (Kind::Float, Device::Cpu));
        let again = |seed| {
            let _generator = seed_generator(seed);
            &x * dropout_mask(&x, 77.0)
        };
        let dropped = again(3);
        // 77 of 256 are zero, the others 256/179. Bounds are five standard deviations (0.0014 each).
        let zeros = dropped.eq(0.0).to_kind(Kind::Float).mean(Kind::Float).double_value(&[]);
        assert!((zeros - 77.0 / 256.0).abs() < 0.0075, "{zeros}");
        assert!((dropped.mean(Kind::Float).double_value(&[]) - 1.0).abs() < 0.011);
        assert!((dropped.max().double_value(&[]) - 256.0 / 179.0).abs() < 1e-6);
        // Every byte of a word, including the top byte, gives the same share of zeros.
        let generator = seed_generator(5);
        let columns = dropout_mask(&Tensor::ones([20_000, 8], (Kind::Float, Device::Cpu)), 77.0);
        let shares = columns.eq(0.0).to_kind(Kind::Float).mean_dim([0i64].as_slice(), false, Kind::Float);
        assert!((shares - 77.0 / 256.0).abs().max().double_value(&[]) < 0.017);
        drop(generator);
        assert!(again(3).equal(&dropped) && !again(4).equal(&dropped));
    }
}
