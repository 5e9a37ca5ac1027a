//! The family `mlp`: a multi-layer perceptron in gym-chess's encodings or the linear model's, with convolutions before
//! it if wanted.

use super::layers::{Convolution, ForwardPass, Linear};
use super::net::Output;
use super::params::ParamLayout;
use tch::Tensor;

use crate::config::model::{Activation, MlpConfig};

pub(crate) struct Mlp {
    pub convolutions: Vec<Convolution>,
    pub hidden: Vec<Linear>,
    pub activation: Activation,
    pub policy: Linear,
    pub value: Option<Linear>,
}

impl Mlp {
    pub fn new(layout: &mut ParamLayout, config: &MlpConfig) -> Mlp {
        let schemes = config.schemes();
        let mut planes = schemes.input.shape()[0] as i64;
        let mut convolutions = Vec::new();
        for (i, &channels) in config.convolutions.iter().enumerate() {
            let shape = [planes, channels, 3];
            convolutions.push(Convolution::new(layout, &format!("convolutions.{i}"), shape, true, 2.0));
            planes = channels;
        }
        let mut width = if convolutions.is_empty() { schemes.input.size() as i64 } else { 64 * planes };
        let mut hidden = Vec::new();
        for (i, &units) in config.hidden.iter().enumerate() {
            hidden.push(Linear::new(layout, &format!("hidden.{i}"), width, units, 2.0));
            width = units;
        }
        Mlp {
            convolutions,
            hidden,
            activation: config.activation,
            policy: Linear::new(layout, "policy", width, schemes.policy.size() as i64, 0.1),
            value: config.value.then(|| Linear::new(layout, "value", width, 3, 0.1)),
        }
    }

    /// `input` is `[batch, 14, 8, 8]` or `[batch, 832]`.
    pub fn forward(&self, pass: &ForwardPass, input: &Tensor) -> Output {
        let act = self.activation;
        let planes = input.shallow_clone();
        let planes = self.convolutions.iter().fold(planes, |x, layer| act.forward(&layer.forward(pass, &x)));
        let flat = planes.flatten(1, -1);
        let x = self.hidden.iter().fold(flat, |x, layer| act.forward(&layer.forward(pass, &x)));
        let wdl = self.value.iter().map(|layer| layer.forward(pass, &x)).collect();
        Output { policy: vec![self.policy.forward(pass, &x)], wdl }
    }
}
