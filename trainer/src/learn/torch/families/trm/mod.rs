//! The family `trm` (ChessTRM): a small transformer applied recursively.
//!
//! The tokens `x` are the 64 squares, the latent state `z` has a token per square, and `y` is the answer token. A step
//! applies the transformer to `y` and `x + z` and updates `y` and `z`. After every step the heads read `y`, and a loss
//! term applies (deep supervision).

mod backward;

use super::layers::{Attention, ForwardPass, LayerNorm, Linear};
use super::net::Output;
use super::params::{Class, Init, ParamId, ParamLayout, Weights};
use engine::nets::encoding::{planes19, uci1968};
use tch::Tensor;

use crate::config::model::TrmConfig;

/// Features per square.
pub(crate) const PLANES: i64 = planes19::PLANES as i64;
pub(crate) const POLICY: i64 = uci1968::SIZE as i64;
pub(crate) const SQUARES: i64 = 64;

pub(crate) struct Trm {
    pub(crate) config: TrmConfig,
    pub(crate) embed: Linear,
    /// `[64, width]`: position embeddings.
    pub(crate) positions: ParamId,
    /// `[1, width]`: the initial `y`.
    pub(crate) first_answer: ParamId,
    pub(crate) layers: Vec<TransformerLayer>,
    pub(crate) norm: LayerNorm,
    pub(crate) gate: Linear,
    /// Width to rank, before `policy` if that is a factor.
    pub(crate) policy_basis: Option<Linear>,
    pub(crate) policy: Linear,
    pub(crate) wdl: Linear,
}

pub(crate) struct TransformerLayer {
    pub attention: Attention,
    pub norm: LayerNorm,
    pub hidden: Linear,
    pub out: Linear,
}

#[derive(Debug)]
pub(crate) struct StepState {
    /// Answer token, `[n, 1, width]`.
    pub y: Tensor,
    /// Latent state, `[n, 64, width]`, one token per square.
    pub z: Tensor,
}

#[derive(Debug)]
pub(crate) struct StepAnswer {
    /// `[n, 1968]`: logits over `uci1968m/1`, in the compute dtype.
    pub policy: Tensor,
    /// `[n, 3]`: WDL logits for the side to move, in the compute dtype.
    pub wdl: Tensor,
}

impl Trm {
    pub fn new(layout: &mut ParamLayout, config: &TrmConfig) -> Trm {
        let (l, width) = (layout, config.width);
        let embed = Linear::new(l, "embed", PLANES, width, 1.0);
        let learnt = |l: &mut ParamLayout, name: &str, rows: i64, deviation: f64| {
            // Embeddings have no weight decay.
            l.param(name.to_owned(), Class::Bias, &[rows, width], Init::Normal(deviation))
        };
        let rank = Some(config.policy_rank).filter(|rank| *rank > 0);
        Trm {
            embed,
            positions: learnt(l, "positions", SQUARES, 0.5),
            // Small relative to the first step's update. Otherwise the initial outputs would hardly depend on the
            // position.
            first_answer: learnt(l, "first_answer", 1, 0.02),
            layers: (0..config.layers).map(|index| TransformerLayer::new(l, index, config)).collect(),
            norm: LayerNorm::new(l, "norm", width),
            gate: Linear::new(l, "gate", width, width, 0.1),
            policy_basis: rank.map(|rank| Linear::new(l, "policy_basis", width, rank, 1.0)),
            policy: Linear::new(l, "policy", rank.unwrap_or(width), POLICY, 0.1),
            wdl: Linear::new(l, "wdl", width, 3, 0.1),
            config: config.clone(),
        }
    }

    pub fn initial_state(&self, weights: &Weights, n: i64) -> StepState {
        let width = self.config.width;
        StepState {
            y: weights.get(self.first_answer).expand([n, 1, width], true),
            z: Tensor::zeros([n, SQUARES, width], (weights.kind(), weights.device())),
        }
    }

    /// `[n, 19, 8, 8]` to `[n, 64, width]`: embeddings of the squares' features and positions.
    fn embed(&self, pass: &ForwardPass, planes: &Tensor) -> Tensor {
        let squares = planes.flatten(2, 3).transpose(1, 2).to_kind(pass.weights.kind());
        self.embed.forward(pass, &squares) + pass.weights.get(self.positions)
    }

    /// `x` is `[n, 64, width]`.
    fn step(&self, pass: &ForwardPass, x: &Tensor, state: &StepState) -> StepState {
        let mut tokens = Tensor::cat(&[&state.y, &(x + &state.z)], 1);
        for layer in &self.layers {
            tokens = layer.forward(pass, &tokens, self.config.dropout);
        }
        let tokens = self.norm.forward(pass, &tokens);
        let proposed = tokens.narrow(1, 1, SQUARES);
        let gate = self.gate.forward(pass, &proposed).sigmoid();
        // The gate interpolates, so that the state stays bounded for any number of steps.
        StepState { y: tokens.narrow(1, 0, 1), z: state.z.lerp_tensor(&proposed, &gate) }
    }

    fn answer(&self, pass: &ForwardPass, state: &StepState) -> StepAnswer {
        let y = state.y.squeeze_dim(1);
        let wdl = self.wdl.forward(pass, &y);
        let y = self.policy_basis.iter().fold(y, |y, basis| basis.forward(pass, &y));
        StepAnswer { policy: self.policy.forward(pass, &y), wdl }
    }

    pub fn forward(&self, pass: &ForwardPass, planes: &Tensor) -> Output {
        self.forward_steps(pass, planes, self.config.steps)
    }

    fn forward_steps(&self, pass: &ForwardPass, planes: &Tensor, steps: usize) -> Output {
        let x = self.embed(pass, planes);
        let mut state = self.initial_state(pass.weights, planes.size()[0]);
        let step = |_| {
            state = self.step(pass, &x, &state);
            let answer = self.answer(pass, &state);
            (answer.policy, answer.wdl)
        };
        let (policy, wdl) = (0..steps).map(step).unzip();
        Output { policy, wdl }
    }
}

impl TransformerLayer {
    fn new(layout: &mut ParamLayout, index: i64, config: &TrmConfig) -> TransformerLayer {
        let name = |part: &str| format!("layers.{index}.{part}");
        let (width, hidden) = (config.width, config.width * config.expansion);
        TransformerLayer {
            attention: Attention::new(layout, &name("attention"), width, config.heads, 1.0),
            norm: LayerNorm::new(layout, &name("norm"), width),
            hidden: Linear::new(layout, &name("hidden"), width, hidden, 2.0),
            out: Linear::new(layout, &name("out"), hidden, width, 1.0),
        }
    }

    fn forward(&self, pass: &ForwardPass, tokens: &Tensor, dropout: f64) -> Tensor {
        let tokens = tokens + pass.dropped(self.attention.residual(pass, tokens), dropout);
        let hidden = self.hidden.forward(pass, &self.norm.forward(pass, &tokens)).gelu("none");
        &tokens + pass.dropped(self.out.forward(pass, &hidden), dropout)
    }
}

#[cfg(test)]
mod tests;
