//! What a search asks of a network.

use shakmaty::Move;

use super::error::EvalError;
use crate::chess::position::Game;
use crate::chess::wdl::Wdl;

#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub game: &'a Game,
    /// The legal moves whose priors are requested, all or some; never empty.
    pub moves: &'a [Move],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub wdl: Wdl,
    /// One per requested move, in order; they sum to 1.
    pub priors: Vec<f32>,
}

pub trait Evaluator: Send {
    fn max_batch(&self) -> usize;

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError>;

    /// Returns the split interface if separate answers save time.
    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        None
    }
}

/// Gives value or policy alone, which saves time for networks with separate bodies.
pub trait SplitEvaluator: Send {
    /// For the side to move.
    fn value(&mut self, game: &Game) -> Wdl;

    /// Writes the softmax of logits / `temperature` over `moves`, all or some of the legal ones.
    fn policy(&mut self, game: &Game, moves: &[Move], temperature: f32, priors: &mut [f32]);
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn max_batch(&self) -> usize {
        (**self).max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        (**self).evaluate(batch)
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        (**self).split()
    }
}
