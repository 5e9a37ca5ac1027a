//! Evaluators without a network: uniform answers, and pseudo-random ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shakmaty::Move;

use super::{Answer, EvalError, Evaluator, Request, SplitEvaluator, Uniform, Wdl};
use crate::chess::position::{Game, PackedMove};

/// [`Uniform`] as a [`SplitEvaluator`].
#[derive(Clone, Copy, Debug, Default)]
struct SplitUniform;

impl Evaluator for SplitUniform {
    fn max_batch(&self) -> usize {
        Uniform.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        Uniform.evaluate(batch)
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        Some(self)
    }
}

impl SplitEvaluator for SplitUniform {
    fn value(&mut self, _: &Game) -> Wdl {
        Wdl::DRAW
    }

    fn policy(&mut self, _: &Game, moves: &[Move], _: f32, priors: &mut [f32]) {
        priors.fill(1.0 / moves.len() as f32);
    }
}

/// Pseudo-random answers, the same on every machine: integers from the position's hash, each divided once by their sum.
/// IEEE 754 division is exact to the bit, a network's kernels are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashedEvaluator;

/// Stafford's mix13, the finaliser of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Evaluator for HashedEvaluator {
    fn max_batch(&self) -> usize {
        256
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        Ok(batch.iter().map(answer).collect())
    }
}

fn answer(request: &Request<'_>) -> Answer {
    let position = mix(request.game.hash());
    let weights = request.moves.iter().map(|&m| weight(position ^ u64::from(PackedMove::new(m).0)));
    let priors = shares(&weights.collect::<Vec<_>>());
    let wdl = shares(&[1, 2, 3].map(|side| weight(position.rotate_left(20 * side))));
    Answer { wdl: Wdl { win: wdl[0], draw: wdl[1], loss: wdl[2] }, priors }
}

fn weight(seed: u64) -> u16 {
    (mix(seed) >> 56) as u16 + 1
}

fn shares(weights: &[u16]) -> Vec<f32> {
    // Sums far below 2^24 are exact as floats.
    let sum: u32 = weights.iter().copied().map(u32::from).sum();
    weights.iter().map(|&weight| f32::from(weight) / sum as f32).collect()
}

/// Counts the nodes on the paths from the root to evaluated positions.
pub struct CountingEvaluator<E> {
    inner: E,
    nodes: Arc<AtomicU64>,
}

impl<E> CountingEvaluator<E> {
    pub fn new(inner: E, nodes: Arc<AtomicU64>) -> CountingEvaluator<E> {
        CountingEvaluator { inner, nodes }
    }
}

impl<E: Evaluator> CountingEvaluator<E> {
    fn count(&self, game: &Game) {
        self.nodes.fetch_add(game.ply() as u64 + 1, Ordering::Relaxed);
    }

    fn split_inner(&mut self) -> &mut dyn SplitEvaluator {
        self.inner.split().expect("asked only if it is there")
    }
}

impl<E: Evaluator> Evaluator for CountingEvaluator<E> {
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        batch.iter().for_each(|request| self.count(request.game));
        self.inner.evaluate(batch)
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        self.inner.split()?;
        Some(self)
    }
}

impl<E: Evaluator> SplitEvaluator for CountingEvaluator<E> {
    fn value(&mut self, game: &Game) -> Wdl {
        self.count(game);
        self.split_inner().value(game)
    }

    fn policy(&mut self, game: &Game, moves: &[Move], temperature: f32, priors: &mut [f32]) {
        self.split_inner().policy(game, moves, temperature, priors);
    }
}

/// The evaluators of `bench`'s signature: [`Uniform`] as a [`SplitEvaluator`], and [`HashedEvaluator`] for batches.
pub fn signature_evaluators(nodes: &Arc<AtomicU64>) -> [Box<dyn Evaluator>; 2] {
    [
        Box::new(CountingEvaluator::new(SplitUniform, Arc::clone(nodes))),
        Box::new(CountingEvaluator::new(HashedEvaluator, Arc::clone(nodes))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn hashed(game: &Game) -> Answer {
        let moves = game.legal_moves();
        HashedEvaluator.evaluate(&[Request { game, moves: &moves }]).unwrap().remove(0)
    }

    #[test]
    fn answers_are_distributions_and_differ_between_positions() {
        let start = Game::new();
        let mut next = start.clone();
        next.play(start.legal_moves()[0]);
        for game in [&start, &next] {
            let answer = hashed(game);
            assert_eq!(answer.priors.len(), game.legal_moves().len());
            assert!((answer.priors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!((answer.wdl.win + answer.wdl.draw + answer.wdl.loss - 1.0).abs() < 1e-5);
            assert_eq!(hashed(game), answer);
        }
        assert_ne!(hashed(&start).wdl, hashed(&next).wdl);
    }

    /// If this fails, all recorded signatures are invalid.
    #[test]
    fn the_initial_positions_answer_is_known() {
        let wdl = hashed(&Game::new()).wdl;
        let found = [wdl.win, wdl.draw, wdl.loss];
        assert_eq!(found, [26.0, 81.0, 76.0].map(|weight: f32| weight / 183.0));
    }
}
