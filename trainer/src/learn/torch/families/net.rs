use anyhow::Result;
use engine::nets::eval::Schemes;
use tch::Tensor;

use super::layers::ForwardPass;
use super::linear::LinearNet;
use super::mlp::Mlp;
use super::params::{ParamLayout, Weights};
use super::resnet::Resnet;
use super::trm::Trm;
use crate::config::ModelConfig;

/// A network's structure. The parameters are in [`Weights`].
pub struct Net {
    config: ModelConfig,
    layout: ParamLayout,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Resnet(Box<Resnet>),
    Mlp(Mlp),
    Linear(LinearNet),
    Trm(Trm),
}

/// A recursive model has an output per step; inference uses the last.
pub struct Output {
    /// Per step `[batch, size]`: logits over the policy scheme, in the compute dtype.
    pub policy: Vec<Tensor>,
    /// Per step `[batch, 3]`: WDL logits for the side to move, in the compute dtype; empty without a value head.
    pub wdl: Vec<Tensor>,
}

impl Output {
    /// `[batch, size]`.
    pub fn last_policy(&self) -> &Tensor {
        self.policy.last().expect("a network has at least one output")
    }

    /// `[batch, 3]`.
    pub fn last_wdl(&self) -> Option<&Tensor> {
        self.wdl.last()
    }
}

impl Net {
    pub fn new(config: &ModelConfig) -> Result<Net> {
        config.check()?;
        let mut layout = ParamLayout::default();
        let l = &mut layout;
        let body = match config {
            ModelConfig::Resnet(config) => Body::Resnet(Box::new(Resnet::new(l, config))),
            ModelConfig::Mlp(config) => Body::Mlp(Mlp::new(l, config)),
            ModelConfig::Linear(_) => Body::Linear(LinearNet::new(l)),
            ModelConfig::Trm(config) => Body::Trm(Trm::new(l, config)),
        };
        Ok(Net { config: config.clone(), layout, body })
    }

    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    pub fn schemes(&self) -> Schemes {
        self.config.schemes()
    }

    pub fn layout(&self) -> &ParamLayout {
        &self.layout
    }

    /// The recursive model, if it uses activation checkpointing.
    pub(crate) fn checkpointed(&self) -> Option<&Trm> {
        match &self.body {
            Body::Trm(trm) => Some(trm).filter(|trm| trm.config.group() < trm.config.steps),
            Body::Resnet(_) | Body::Mlp(_) | Body::Linear(_) => None,
        }
    }

    /// `input` is of any dtype. With `train`, dropout is active, and BatchNorm uses the batch's statistics and updates
    /// the running statistics.
    pub fn forward(&self, weights: &Weights, input: &Tensor, train: bool) -> Output {
        let rounding = matches!(&self.body, Body::Resnet(net) if net.config.rounding);
        let pass = &ForwardPass { weights, train, rounding };
        let input = &input.to_kind(weights.kind());
        match &self.body {
            Body::Resnet(net) => net.forward(pass, input),
            Body::Mlp(net) => net.forward(pass, input),
            Body::Linear(net) => net.forward(pass, input),
            Body::Trm(net) => net.forward(pass, input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::train::TrainPreset;

    fn parameters(preset: TrainPreset) -> i64 {
        let config = preset.parse("{}", &[]).unwrap();
        Net::new(&config.model).unwrap().layout().len()
    }

    #[test]
    fn neuralmateplays_network_has_its_size() {
        assert_eq!(parameters(TrainPreset::Neuralmateplay), 12_455_443);
        assert_eq!(parameters(TrainPreset::NeuralmateplayCpu), 2_391_311);
    }

    #[test]
    fn the_notebooks_networks_have_their_sizes_and_settings() {
        assert_eq!(parameters(TrainPreset::Linear), 1_639_344);
        assert_eq!(parameters(TrainPreset::LinearSgd), 1_639_344);
        let config = TrainPreset::LinearSgd.parse("{}", &[]).unwrap();
        assert_eq!((config.lr, config.momentum, config.weight_decay, config.ema), (0.01, 0.0, 0.0, 0.0));
        assert_eq!(parameters(TrainPreset::LinearHidden), 833 * 256 + 257 * 1968);
        let layers = [(896, 1000), (1000, 1000), (1000, 1000), (1000, 200), (200, 4672)];
        assert_eq!(
            parameters(TrainPreset::Mlp),
            layers.map(|(from, to)| (from + 1) * to).iter().sum::<i64>()
        );
        let config = TrainPreset::Mlp.parse("{}", &[]).unwrap();
        assert_eq!((config.lr, config.momentum, config.nesterov), (1e-3, 0.9, false));
        assert_eq!((config.validation_percent, config.batch, config.epochs), (20, 4, 60.0));
        assert!(parameters(TrainPreset::MlpWide) < 3_000_000);
    }
}
