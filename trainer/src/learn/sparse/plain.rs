//! A sparse network for one position, in fp64 straight from the definition: the reference for faster forms.

use engine::chess::position::Game;
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use engine::nets::eval::softmax;

use super::network::SparseModel;
use super::tensor::SparseTensor;

/// Logits or probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseAnswer {
    /// One per move.
    pub policy: Vec<f32>,
    /// For the side to move.
    pub wdl: [f32; 3],
}

fn clip(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}

/// `bias + Σ table[row]` over `rows`.
fn sums(table: &SparseTensor, bias: &[f32], rows: &[u16]) -> Vec<f64> {
    let at = |column: usize| {
        let sum: f64 = rows.iter().map(|row| f64::from(table.get(usize::from(*row), column))).sum();
        f64::from(bias[column]) + sum
    };
    (0..table.width).map(at).collect()
}

/// `bias + x · matrix`
fn product(x: &[f64], matrix: &SparseTensor, bias: &[f32]) -> Vec<f64> {
    let at = |column: usize| {
        let products = x.iter().enumerate().map(|(row, x)| x * f64::from(matrix.get(row, column)));
        f64::from(bias[column]) + products.sum::<f64>()
    };
    (0..matrix.width).map(at).collect()
}

impl SparseModel {
    /// `policy` is in the order of [`Game::legal_moves`].
    pub fn probabilities(&self, game: &Game) -> SparseAnswer {
        let (view, legal) = (View::of(game), game.legal_moves());
        let mut rows = vec![Rows::default(); legal.len()];
        moves1::rows(&view, &legal, &mut rows);
        let rows: Vec<[u16; 2]> = rows.iter().map(|rows| [rows.a, rows.b]).collect();
        let mut answer = self.evaluate(&view.features(), &rows);
        softmax(&mut answer.policy);
        softmax(&mut answer.wdl);
        answer
    }

    /// Returns logits. `moves` are pairs of rows.
    pub fn evaluate(&self, features: &[u16], moves: &[[u16; 2]]) -> SparseAnswer {
        let body = sums(&self.policy_embedding, &self.policy_bias.w, features);
        let (left, right) = body.split_at(self.shape.half());
        let hidden: Vec<f64> = left.iter().zip(right).map(|(l, r)| clip(*l) * clip(*r)).collect();
        let logit = |[a, b]: &[u16; 2]| {
            let (a, b) = (usize::from(*a), usize::from(*b));
            let row = |i: usize| f64::from(self.rows_a.get(a, i)) + f64::from(self.rows_b.get(b, i));
            let product: f64 = hidden.iter().enumerate().map(|(i, h)| h * row(i)).sum();
            (product + f64::from(self.row_bias_a.w[a]) + f64::from(self.row_bias_b.w[b])) as f32
        };
        let square = |x: Vec<f64>| -> Vec<f64> { x.into_iter().map(|x| clip(x) * clip(x)).collect() };
        let body = square(sums(&self.value_embedding, &self.value_bias.w, features));
        let units = square(product(&body, &self.value_l1_weight, &self.value_l1_bias.w));
        let wdl = product(&units, &self.value_out_weight, &self.value_out_bias.w);
        SparseAnswer {
            policy: moves.iter().map(logit).collect(),
            wdl: std::array::from_fn(|k| wdl[k] as f32),
        }
    }
}
