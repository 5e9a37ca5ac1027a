//! The family `linear`: a single matrix from what stands on each square to every UCI move, with a bias.
//!
//! Softmax regression: 832 · 1968 + 1968 = 1,639,344 numbers. It sees neither who moves nor any right, and names moves
//! by their squares, so that White's and Black's moves are different outputs.

use super::layers::{ForwardPass, Linear};
use super::net::Output;
use super::params::ParamLayout;
use tch::Tensor;

use crate::config::model::linear::SCHEMES;

/// The matrix.
pub(crate) struct LinearNet {
    pub out: Linear,
}

impl LinearNet {
    pub fn new(layout: &mut ParamLayout) -> LinearNet {
        let [inputs, outputs] = [SCHEMES.input.size(), SCHEMES.policy.size()].map(|n| n as i64);
        LinearNet { out: Linear::new(layout, "out", inputs, outputs, 0.1) }
    }

    /// Answers for `input` `[batch, 832]`.
    pub fn forward(&self, pass: &ForwardPass, input: &Tensor) -> Output {
        Output { policy: vec![self.out.forward(pass, input)], wdl: Vec::new() }
    }
}
