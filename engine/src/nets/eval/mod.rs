//! The seam between search and networks: [`Evaluator`], and what its implementations share.
//!
//! An evaluator answers a batch of positions, each with a [`Wdl`] for the side to move and one prior per
//! legal move; a [`SplitEvaluator`] gives either alone. A [`Card`] names a network's schemes, and [`golden`]
//! checks the network against it. A [`CachedEvaluator`] wraps another evaluator, a [`SharedEvaluator`] serves
//! several workers, [`Uniform`] needs no network. [`material`] is a value in centipawns, not an evaluator.

mod error;
mod precision;
mod card;
pub mod golden;
mod cache;
mod uniform;
pub mod hashed;
mod shared;
pub mod material;
mod shown;

use shakmaty::Move;

use crate::chess::position::Game;
pub use crate::chess::wdl::{Wdl, centipawns_of_q, q_of_centipawns, softmax};

pub use cache::{CachedEvaluator, EvalCache};
pub(in crate::nets) use card::parse_golden;
pub use card::{Card, CardError, FORMAT as CARD_FORMAT, Golden, Schemes, ValueScheme};
pub use error::EvalError;
pub use golden::GoldenError;
pub use hashed::HashedEvaluator;
pub use precision::Precision;
pub use shared::SharedEvaluator;
pub use shown::{q_of_shown_centipawns, shown_centipawns};
pub use uniform::Uniform;

#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The position with its history.
    pub game: &'a Game,
    /// The legal moves whose priors are requested, all or some; never empty.
    pub moves: &'a [Move],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For the side to move.
    pub wdl: Wdl,
    /// One per requested move, in the request's order. Their sum is 1.
    pub priors: Vec<f32>,
}

pub trait Evaluator: Send {
    /// The largest batch that `evaluate` takes.
    fn max_batch(&self) -> usize;

    /// One answer per request, in order. An error leaves no partial answers.
    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError>;

    /// The evaluator as one that answers value and policy separately, if it gains by that.
    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        None
    }
}

/// Answers value or policy of one position. A network with separate bodies for the two saves time when a
/// search asks for only one.
pub trait SplitEvaluator: Send {
    /// For the side to move.
    fn value(&mut self, game: &Game) -> Wdl;

    /// Writes the priors of `moves`, all or some of the legal ones: the softmax of the logits divided by
    /// `temperature`, with a sum of 1. Panics unless `priors` is as long as `moves`.
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
