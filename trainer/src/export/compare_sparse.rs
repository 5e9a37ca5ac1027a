//! Comparison of a network file of the family `sparse` with the checkpoint that it was exported from.

use anyhow::Result;
use engine::eval::{Evaluator, Request};
use engine::position::Game;

use crate::sparse::SparseModel;

/// The largest difference of a probability that the engine's integers may cause.
pub const INTEGER_TOLERANCE: f32 = 0.02;

/// The largest differences of probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SparseDifference {
    /// Of a legal move.
    pub policy: f32,
    /// Of win, draw or loss.
    pub wdl: f32,
}

impl SparseDifference {
    /// The larger of the two.
    pub fn worst(self) -> f32 {
        self.policy.max(self.wdl)
    }
}

/// Compares what `evaluator` answers for `positions` with what `model` computes in fp32.
///
/// # Errors
///
/// If the evaluator fails.
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
