//! What the tensors of a network file are called, and what its value means.

use ort::session::Session;

use super::card::Value;

/// Whose names and conventions a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tensors {
    /// Our own: `input`, `policy`, and `wdl` where the card promises it.
    Ours,
    /// Those of lc0's own converter (`lc0 leela2onnx`): `/input/planes`, `/output/policy`, and one of two values.
    Lc0(Lc0Value),
}

/// What lc0's converter gives out as the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lc0Value {
    /// `/output/wdl`: probabilities of win, draw, loss.
    Wdl,
    /// `/output/value`: the expected result, −1 to 1.
    Scalar,
}

/// A probability below this one has its logarithm: a softmax must stay finite.
const LEAST: f32 = 1e-30;

impl Tensors {
    /// Told by the input's name.
    pub fn of(session: &Session) -> Tensors {
        let lc0 = Tensors::Lc0(Lc0Value::Wdl);
        let scalar = Tensors::Lc0(Lc0Value::Scalar);
        if session.inputs().iter().all(|input| input.name() != lc0.input()) {
            Tensors::Ours
        } else if session.outputs().iter().any(|output| output.name() == Lc0Value::Scalar.output().0) {
            scalar
        } else {
            lc0
        }
    }

    /// The name of the input.
    pub fn input(self) -> &'static str {
        match self {
            Tensors::Ours => "input",
            Tensors::Lc0(_) => "/input/planes",
        }
    }

    /// The name of the policy's logits.
    pub fn policy(self) -> &'static str {
        match self {
            Tensors::Ours => "policy",
            Tensors::Lc0(_) => "/output/policy",
        }
    }

    /// The name of the value, and how many numbers it has for a position; nothing if the network has none.
    pub fn value(self, value: Value) -> Option<(&'static str, usize)> {
        match (self, value) {
            (_, Value::None) => None,
            (Tensors::Ours, Value::Wdl) => Some(("wdl", 3)),
            (Tensors::Lc0(kind), Value::Wdl) => Some(kind.output()),
        }
    }
}

impl Lc0Value {
    /// The name of the tensor, and how many numbers it has for a position.
    fn output(self) -> (&'static str, usize) {
        match self {
            Lc0Value::Wdl => ("/output/wdl", 3),
            Lc0Value::Scalar => ("/output/value", 1),
        }
    }

    /// `[n, 3]` logits of win, draw and loss for the network's `[n, 3]` or `[n, 1]` values. An expected result
    /// says nothing of draws: there are none then, as in lc0.
    pub fn logits(self, values: &[f32]) -> Vec<f32> {
        let logit = |p: f32| p.max(LEAST).ln();
        match self {
            Lc0Value::Wdl => values.iter().copied().map(logit).collect(),
            Lc0Value::Scalar => {
                values.iter().flat_map(|q| [(1.0 + q) / 2.0, 0.0, (1.0 - q) / 2.0].map(logit)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Wdl;

    #[test]
    fn values_that_are_no_logits_keep_their_meaning() {
        let read = |kind: Lc0Value, values: &[f32]| {
            let logits = kind.logits(values);
            logits.as_chunks::<3>().0.iter().map(|logits| Wdl::from_logits(*logits)).collect::<Vec<_>>()
        };
        let close = |a: Wdl, b: [f32; 3]| {
            let differences = [a.win - b[0], a.draw - b[1], a.loss - b[2]];
            assert!(differences.iter().all(|d| d.abs() < 1e-6), "{a:?} {b:?}");
        };
        close(read(Lc0Value::Wdl, &[0.5, 0.375, 0.125, 0.0, 1.0, 0.0])[0], [0.5, 0.375, 0.125]);
        close(read(Lc0Value::Wdl, &[0.0, 1.0, 0.0])[0], [0.0, 1.0, 0.0]);
        let scalars = read(Lc0Value::Scalar, &[0.5, -1.0]);
        close(scalars[0], [0.75, 0.0, 0.25]);
        close(scalars[1], [0.0, 0.0, 1.0]);
    }
}
