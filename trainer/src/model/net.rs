//! A network of any family: its structure, and what it answers.

use super::layers::ForwardPass;
use super::linear::LinearNet;
use super::mlp::Mlp;
use super::params::{ParamLayout, Weights};
use super::resnet::Resnet;
use super::trm::Trm;
use crate::config::ModelConfig;
use engine::eval::Schemes;
use tch::Tensor;

/// A network's structure; its numbers are in [`Weights`].
pub struct Net {
    config: ModelConfig,
    layout: ParamLayout,
    pub(crate) body: Body,
}

/// The structure, by family.
pub(crate) enum Body {
    Resnet(Box<Resnet>),
    Mlp(Mlp),
    Linear(LinearNet),
    Trm(Trm),
}

/// What a network answers; more than once if it thinks in steps, the last one counts in play.
pub struct Output {
    /// Of each step `[batch, size]`: logits over the policy's scheme, in the kind of the computation.
    pub policy: Vec<Tensor>,
    /// Of each step `[batch, 3]`: logits of win, draw, loss for the mover, in the kind of the computation; none at
    /// all of a network without a value.
    pub wdl: Vec<Tensor>,
}

impl Output {
    /// `[batch, size]`: the last logits of the policy.
    ///
    /// # Panics
    ///
    /// If there is no answer, which no network gives.
    pub fn last_policy(&self) -> &Tensor {
        self.policy.last().expect("a network answers")
    }

    /// `[batch, 3]`: the last logits of win, draw, loss, if the network has a value.
    pub fn last_wdl(&self) -> Option<&Tensor> {
        self.wdl.last()
    }
}

impl Net {
    /// Lays out the network that `config` describes.
    ///
    /// # Errors
    /// One line, if numbers of `config` don't fit together.
    pub fn new(config: &ModelConfig) -> Result<Net, String> {
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

    /// What the network was made from.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// What it sees and answers.
    pub fn schemes(&self) -> Schemes {
        self.config.schemes()
    }

    /// Where its parameters lie.
    pub fn layout(&self) -> &ParamLayout {
        &self.layout
    }

    /// The network, if its gradient is to be taken in groups of steps, because all of them need too much memory.
    pub(crate) fn in_groups(&self) -> Option<&Trm> {
        match &self.body {
            Body::Trm(trm) => Some(trm).filter(|trm| trm.config.group() < trm.config.steps),
            Body::Resnet(_) | Body::Mlp(_) | Body::Linear(_) => None,
        }
    }

    /// Answers for `input` `[batch]` + the shape of the input's scheme, of any kind. With `train`, BatchNorm uses
    /// the batch's statistics (and updates the running ones) and dropout is active.
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
