//! The family `mlp`: a multi-layer perceptron with ReLU, in gym-chess's encodings or the linear model's.

use super::layers::{ForwardPass, Linear};
use super::net::Output;
use super::params::ParamLayout;
use tch::Tensor;

use crate::config::model::MlpConfig;

pub(crate) struct Mlp {
    pub hidden: Vec<Linear>,
    pub policy: Linear,
    pub value: Option<Linear>,
}

impl Mlp {
    pub fn new(layout: &mut ParamLayout, config: &MlpConfig) -> Mlp {
        let schemes = config.schemes();
        let mut width = schemes.input.size() as i64;
        let mut hidden = Vec::new();
        for (i, &units) in config.hidden.iter().enumerate() {
            hidden.push(Linear::new(layout, &format!("hidden.{i}"), width, units, 2.0));
            width = units;
        }
        Mlp {
            hidden,
            policy: Linear::new(layout, "policy", width, schemes.policy.size() as i64, 0.1),
            value: config.value.then(|| Linear::new(layout, "value", width, 3, 0.1)),
        }
    }

    /// `input` is `[batch, 14, 8, 8]` or `[batch, 832]`.
    pub fn forward(&self, pass: &ForwardPass, input: &Tensor) -> Output {
        let flat = input.flatten(1, -1);
        let x = self.hidden.iter().fold(flat, |x, layer| layer.forward(pass, &x).relu());
        let wdl = self.value.iter().map(|layer| layer.forward(pass, &x)).collect();
        Output { policy: vec![self.policy.forward(pass, &x)], wdl }
    }
}
