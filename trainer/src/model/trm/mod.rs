//! ChessTRM, the recursive model: one small transformer, used again and again.
//!
//! A position's 64 squares are tokens `x`; `z` is a scratchpad of a token a square, `y` a token that is the answer so
//! far. A step of the transformer sees `y` and `x + z`, and gives the next `y` and `z`. The answer is read off `y` after
//! every step, and every step is taught (deep supervision).

mod backward;

use super::layers::{Attention, ForwardPass, LayerNorm, Linear};
use super::net::Output;
use super::params::{Class, Init, ParamId, ParamLayout, Weights};
use engine::encoding::{planes19, uci1968};
use tch::Tensor;

use crate::config::model::TrmConfig;

/// Planes of the input: what is known of a square.
pub(crate) const PLANES: i64 = planes19::PLANES as i64;
/// Logits of the policy.
pub(crate) const POLICY: i64 = uci1968::SIZE as i64;
/// Squares.
pub(crate) const SQUARES: i64 = 64;

/// A recursive model's structure; its numbers are in [`Weights`].
pub(crate) struct Trm {
    pub(crate) config: TrmConfig,
    pub(crate) embed: Linear,
    /// `[64, width]`
    pub(crate) positions: ParamId,
    /// `[1, width]`: `y` before the first step.
    pub(crate) first_answer: ParamId,
    pub(crate) layers: Vec<TransformerLayer>,
    pub(crate) norm: LayerNorm,
    pub(crate) gate: Linear,
    pub(crate) policy: Linear,
    pub(crate) wdl: Linear,
}

/// A layer of the transformer, normalised before each half.
pub(crate) struct TransformerLayer {
    pub attention: Attention,
    pub norm: LayerNorm,
    pub hidden: Linear,
    pub out: Linear,
}

/// What goes from step to step.
#[derive(Debug)]
pub(crate) struct StepState {
    /// `[n, 1, width]`
    pub y: Tensor,
    /// `[n, 64, width]`
    pub z: Tensor,
}

/// What one step says.
#[derive(Debug)]
pub(crate) struct StepAnswer {
    /// `[n, 1968]` logits over `uci1968m/1`, in the kind of the computation.
    pub policy: Tensor,
    /// `[n, 3]` logits of win, draw, loss for the mover, in the kind of the computation.
    pub wdl: Tensor,
}

impl Trm {
    /// Lays out the network that `config` describes.
    pub fn new(layout: &mut ParamLayout, config: &TrmConfig) -> Trm {
        let (l, width) = (layout, config.width);
        let embed = Linear::new(l, "embed", PLANES, width, 1.0);
        let learnt = |l: &mut ParamLayout, name: &str, rows: i64, deviation: f64| {
            // Not weights of a matrix product: they don't decay.
            l.param(name.to_owned(), Class::Bias, &[rows, width], Init::Normal(deviation))
        };
        Trm {
            embed,
            positions: learnt(l, "positions", SQUARES, 0.5),
            // Small beside what the first step gathers: else the answer is at first nearly the same for all positions.
            first_answer: learnt(l, "first_answer", 1, 0.02),
            layers: (0..config.layers).map(|index| TransformerLayer::new(l, index, config)).collect(),
            norm: LayerNorm::new(l, "norm", width),
            gate: Linear::new(l, "gate", width, width, 0.1),
            policy: Linear::new(l, "policy", width, POLICY, 0.1),
            wdl: Linear::new(l, "wdl", width, 3, 0.1),
            config: config.clone(),
        }
    }

    /// What the first step of `n` positions takes.
    pub fn initial_state(&self, weights: &Weights, n: i64) -> StepState {
        let width = self.config.width;
        StepState {
            y: weights.get(self.first_answer).expand([n, 1, width], true),
            z: Tensor::zeros([n, SQUARES, width], (weights.kind(), weights.device())),
        }
    }

    /// `[n, 64, width]`: what stands on the squares of `planes` `[n, 19, 8, 8]`, and where they are.
    fn embed(&self, pass: &ForwardPass, planes: &Tensor) -> Tensor {
        let squares = planes.flatten(2, 3).transpose(1, 2).to_kind(pass.weights.kind());
        self.embed.forward(pass, &squares) + pass.weights.get(self.positions)
    }

    /// One step: what is state after `state` of the positions `x` `[n, 64, width]`.
    fn step(&self, pass: &ForwardPass, x: &Tensor, state: &StepState) -> StepState {
        let mut tokens = Tensor::cat(&[&state.y, &(x + &state.z)], 1);
        for layer in &self.layers {
            tokens = layer.forward(pass, &tokens, self.config.dropout);
        }
        let tokens = self.norm.forward(pass, &tokens);
        let proposed = tokens.narrow(1, 1, SQUARES);
        let gate = self.gate.forward(pass, &proposed).sigmoid();
        // Between what was and what is proposed, so that no number of steps makes it grow.
        StepState { y: tokens.narrow(1, 0, 1), z: state.z.lerp_tensor(&proposed, &gate) }
    }

    /// What an answer says.
    fn answer(&self, pass: &ForwardPass, state: &StepState) -> StepAnswer {
        let y = state.y.squeeze_dim(1);
        StepAnswer { policy: self.policy.forward(pass, &y), wdl: self.wdl.forward(pass, &y) }
    }

    /// What each of the steps that it is trained with says of `planes` `[n, 19, 8, 8]`.
    pub fn forward(&self, pass: &ForwardPass, planes: &Tensor) -> Output {
        self.forward_steps(pass, planes, self.config.steps)
    }

    /// What each of `steps` steps says.
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
        let tokens = tokens + pass.dropped(self.attention.added(pass, tokens), dropout);
        let hidden = self.hidden.forward(pass, &self.norm.forward(pass, &tokens)).gelu("none");
        &tokens + pass.dropped(self.out.forward(pass, &hidden), dropout)
    }
}

#[cfg(test)]
mod tests;
