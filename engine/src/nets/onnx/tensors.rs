use ort::session::Session;

use crate::nets::eval::ValueScheme;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorNames {
    /// `input`, `policy`, and `wdl` if the card names a value.
    Ours,
    /// From `lc0 leela2onnx`: `/input/planes`, `/output/policy` and a value.
    Lc0(Lc0Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lc0Value {
    /// `/output/wdl`: probabilities of win, draw and loss.
    Wdl,
    /// `/output/value`: the expected result, −1 to 1.
    Scalar,
}

const MIN_PROBABILITY: f32 = 1e-30;

impl TensorNames {
    pub fn of(session: &Session) -> TensorNames {
        let lc0 = TensorNames::Lc0(Lc0Value::Wdl);
        let scalar = TensorNames::Lc0(Lc0Value::Scalar);
        if session.inputs().iter().all(|input| input.name() != lc0.input()) {
            TensorNames::Ours
        } else if session.outputs().iter().any(|output| output.name() == Lc0Value::Scalar.output().0) {
            scalar
        } else {
            lc0
        }
    }

    pub fn input(self) -> &'static str {
        match self {
            TensorNames::Ours => "input",
            TensorNames::Lc0(_) => "/input/planes",
        }
    }

    pub fn policy(self) -> &'static str {
        match self {
            TensorNames::Ours => "policy",
            TensorNames::Lc0(_) => "/output/policy",
        }
    }

    /// Name and floats per position of the value output.
    pub fn value(self, value: ValueScheme) -> Option<(&'static str, usize)> {
        match (self, value) {
            (_, ValueScheme::None) => None,
            (TensorNames::Ours, ValueScheme::Wdl) => Some(("wdl", 3)),
            (TensorNames::Lc0(kind), ValueScheme::Wdl) => Some(kind.output()),
        }
    }
}

impl Lc0Value {
    fn output(self) -> (&'static str, usize) {
        match self {
            Lc0Value::Wdl => ("/output/wdl", 3),
            Lc0Value::Scalar => ("/output/value", 1),
        }
    }

    /// Returns `[n, 3]` logits of win, draw and loss from `[n, 3]` or `[n, 1]` values. An expected result alone gets
    /// draw probability 0, as in lc0.
    pub fn logits(self, values: &[f32]) -> Vec<f32> {
        let logit = |p: f32| p.max(MIN_PROBABILITY).ln();
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
    use crate::nets::eval::Wdl;

    #[test]
    fn values_become_logits_of_the_same_probabilities() {
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
