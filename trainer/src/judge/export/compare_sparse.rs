use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::eval::{Evaluator, Request};

use crate::learn::sparse::SparseModel;

/// Limit for probabilities; the engine computes in integers.
pub const INTEGER_TOLERANCE: f32 = 0.03;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SparseDifference {
    pub policy: f32,
    /// Largest over P(win), P(draw) and P(loss).
    pub wdl: f32,
}

impl SparseDifference {
    pub fn worst(self) -> f32 {
        self.policy.max(self.wdl)
    }
}

pub fn compare_sparse(
    model: &SparseModel,
    evaluator: &mut dyn Evaluator,
    positions: &[Game],
) -> Result<SparseDifference> {
    let mut worst = SparseDifference::default();
    for batch in positions.chunks(evaluator.max_batch().max(1)) {
        let legal: Vec<_> = batch.iter().map(Game::legal_moves).collect();
        let requests: Vec<Request<'_>> =
            batch.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
        for (game, answer) in batch.iter().zip(evaluator.evaluate(&requests)?) {
            let expected = model.probabilities(game);
            let wdl = [answer.wdl.win, answer.wdl.draw, answer.wdl.loss];
            widen(&mut worst.policy, &answer.priors, &expected.policy);
            widen(&mut worst.wdl, &wdl, &expected.wdl);
        }
    }
    Ok(worst)
}

fn widen(worst: &mut f32, ours: &[f32], theirs: &[f32]) {
    for (a, b) in ours.iter().zip(theirs) {
        let difference = (a - b).abs();
        // NaN counts as infinite.
        *worst = worst.max(if difference.is_nan() { f32::INFINITY } else { difference });
    }
}

#[cfg(test)]
mod tests {
    use engine::nets::onnx::OnnxSparseEvaluator;
    use engine::nets::sparse::SparseNetwork;

    use super::*;
    use crate::judge::export::{OnnxStorage, TOLERANCE, built_in_positions, sparse_onnx};
    use crate::learn::sparse::SparseShape;

    /// Rows are as large as after training, so that priors differ.
    fn model(seed: u64) -> SparseModel {
        let shape = SparseShape { policy: 256, value: 128, ..SparseShape::STANDARD };
        let mut model = SparseModel::new(shape, seed);
        model.rows_a.w.iter_mut().chain(&mut model.rows_b.w).for_each(|w| *w *= 6.0);
        model
    }

    #[test]
    fn onnx_runtime_and_the_engines_kernels_give_the_models_answers() {
        // Rounding hurts random weights more than trained ones.
        const RANDOM: f32 = 2.5 * INTEGER_TOLERANCE;
        let (mut model, positions) = (model(5), built_in_positions(200));
        model.value_embedding.w[7] = 0.6; // needs 16 bits
        let file = sparse_onnx("test", &model, "{}", OnnxStorage::Float);
        let mut reference = OnnxSparseEvaluator::open(&file, 16).unwrap();
        assert_eq!((reference.precision(), reference.max_batch()), ("fp32", 16));
        let exact = compare_sparse(&model, &mut reference, &positions).unwrap();
        assert!(exact.worst() <= TOLERANCE && exact.worst() > 0.0, "{exact:?}");
        let network = SparseNetwork::read(&file).unwrap();
        let native = compare_sparse(&model, &mut network.evaluator(), &positions).unwrap();
        assert!(native.worst() <= RANDOM && native.worst() > exact.worst(), "{native:?}");

        let file = sparse_onnx("test", &model, "{}", OnnxStorage::Integer);
        let mut rounded = OnnxSparseEvaluator::open(&file, 64).unwrap();
        let difference = compare_sparse(&model, &mut rounded, &positions).unwrap();
        assert!(rounded.precision() == "int8" && difference.worst() <= RANDOM, "{difference:?}");
        let other = compare_sparse(&self::model(6), &mut rounded, &positions).unwrap();
        assert!(other.worst() > 2.0 * RANDOM, "{other:?}");
    }
}
