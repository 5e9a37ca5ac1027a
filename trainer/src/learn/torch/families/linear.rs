//! The family `linear`: softmax regression from the pieces on the squares to every UCI move.
//!
//! The input lacks side to move, castling and en-passant rights. As moves are identified by their squares, White's and
//! Black's moves are different outputs.

use super::layers::{ForwardPass, Linear};
use super::net::Output;
use super::params::ParamLayout;
use tch::Tensor;

use crate::config::model::linear::SCHEMES;

pub(crate) struct LinearNet {
    pub out: Linear,
}

impl LinearNet {
    pub fn new(layout: &mut ParamLayout) -> LinearNet {
        let [inputs, outputs] = [SCHEMES.input.size(), SCHEMES.policy.size()].map(|n| n as i64);
        LinearNet { out: Linear::new(layout, "out", inputs, outputs, 0.1) }
    }

    pub fn forward(&self, pass: &ForwardPass, input: &Tensor) -> Output {
        Output { policy: vec![self.out.forward(pass, input)], wdl: Vec::new() }
    }
}
