//! Muon (Jordan et al. 2024): the momentum of each matrix is replaced by the nearest orthogonal matrix, so
//! that all of its directions are learnt at the same pace. Scaled to the size of AdamW's steps (Liu et al.
//! 2025, "Muon is scalable"), so that learning rate and weight decay mean the same for both.

use crate::model::Layout;
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Size of an AdamW step's elements, as a share of the learning rate (Liu et al. 2025, section 2.2).
const ADAM_RMS: f64 = 0.2;
/// Rounds of Newton and Schulz's iteration, and its coefficients (Jordan et al. 2024): five bring singular
/// values between 0.001 and 1 to about 0.7 to 1.2.
const ROUNDS: usize = 5;
const QUINTIC: [f64; 3] = [3.4445, -4.7750, 2.0315];

/// The matrices at the head of the flat tensor, by shape: those of one shape are treated in one go.
pub struct Matrices {
    by_shape: BTreeMap<[i64; 2], Vec<i64>>,
    len: i64,
}

impl Matrices {
    /// The matrices inside the network of `layout`.
    pub fn new(layout: &Layout) -> Matrices {
        let mut by_shape: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        let mut len = 0;
        for (offset, shape) in layout.matrices() {
            by_shape.entry(shape).or_default().push(offset);
            len += shape[0] * shape[1];
        }
        Matrices { by_shape, len }
    }

    /// How many leading elements of the flat tensor they are.
    pub fn len(&self) -> i64 {
        self.len
    }

    /// Brings their part of the momentum `first` up to date and returns their step, `[len]`, for a learning
    /// rate of one. `done` is 0 if the gradient is to be ignored.
    pub fn update(&self, first: &Tensor, gradient: &Tensor, done: &Tensor, momentum: f64) -> Tensor {
        let gradient = gradient.narrow(0, 0, self.len);
        let mut mean = first.narrow(0, 0, self.len);
        _ = mean.lerp_tensor_(&gradient, &(done * (1.0 - momentum)));
        let ahead = gradient.lerp(&mean, momentum);
        let update = ahead.empty_like();
        for (&[rows, columns], offsets) in &self.by_shape {
            let pieces: Vec<Tensor> =
                offsets.iter().map(|&at| ahead.narrow(0, at, rows * columns).view([rows, columns])).collect();
            let step =
                orthogonal(&Tensor::stack(&pieces, 0)) * (ADAM_RMS * (rows.max(columns) as f64).sqrt());
            for (i, &at) in offsets.iter().enumerate() {
                update.narrow(0, at, rows * columns).copy_(&step.get(i as i64).reshape([-1]));
            }
        }
        update
    }
}

/// `[n, rows, columns]`: about the nearest (semi-)orthogonal matrix to each.
fn orthogonal(matrices: &Tensor) -> Tensor {
    let [a, b, c] = QUINTIC;
    let is_tall = matrices.size()[1] > matrices.size()[2];
    let turned = |x: &Tensor| if is_tall { x.transpose(1, 2) } else { x.shallow_clone() };
    let x = turned(matrices);
    let norm = x.square().sum_dim_intlist([1i64, 2].as_slice(), true, Kind::Float).sqrt();
    let mut x = x / (norm + 1e-7);
    for _ in 0..ROUNDS {
        let square = x.bmm(&x.transpose(1, 2));
        let polynomial = &square * b + square.bmm(&square) * c;
        x = &x * a + polynomial.bmm(&x);
    }
    turned(&x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    #[test]
    fn every_direction_gets_the_same_weight() {
        // Singular values 5, 1 and 0.1 along turned axes, whatever the scale.
        let turn = |angle: f64| {
            let (sin, cos) = (angle.sin() as f32, angle.cos() as f32);
            Tensor::from_slice(&[cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0]).view([3, 3])
        };
        let values = Tensor::from_slice(&[5f32, 1.0, 0.1]).diag(0);
        let square = turn(0.3).matmul(&values).matmul(&turn(1.1));
        let wide = Tensor::cat(&[square, Tensor::zeros([3, 2], (Kind::Float, Device::Cpu))], 1);
        for scale in [1e-4, 1.0, 100.0] {
            for tall in [false, true] {
                let matrix = &wide * scale;
                let matrix = if tall { matrix.tr() } else { matrix };
                let x = orthogonal(&matrix.unsqueeze(0)).get(0);
                let gram = if tall { x.tr().matmul(&x) } else { x.matmul(&x.tr()) };
                let gram = Vec::<f32>::try_from(gram.reshape([-1])).unwrap();
                for (i, value) in gram.iter().enumerate() {
                    let expected = if i % 4 == 0 { 0.45..1.5 } else { -0.3..0.3 };
                    assert!(expected.contains(value), "{gram:?}");
                }
            }
        }
    }
}
