//! The seam [`Evaluator`] and what every implementation shares.
//!
//! An evaluator answers for a batch of positions: a [`Wdl`] for the side to move and one prior per
//! legal move; a [`SplitEvaluator`] answers for either alone. [`Card`] says which schemes a network uses, [`golden`] checks a network against its card,
//! [`CachedEvaluator`] caches the answers of another evaluator, a [`SharedEvaluator`] answers for several workers, and [`Uniform`] needs no network at all.
//! [`material`] is not an evaluator but a value in centipawns, from material and piece squares.

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
pub use card::{Card, CardError, FORMAT as CARD_FORMAT, Golden, Schemes, ValueScheme};
pub use error::EvalError;
pub use golden::GoldenError;
pub use hashed::HashedEvaluator;
pub use precision::Precision;
pub use shared::SharedEvaluator;
pub use shown::{q_of_shown_centipawns, shown_centipawns};
pub use uniform::Uniform;

/// One position to be evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The position with its history.
    pub game: &'a Game,
    /// The legal moves for which priors are requested, all or some; never empty.
    pub moves: &'a [Move],
}

/// The evaluation of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For the side to move.
    pub wdl: Wdl,
    /// One probability per requested move, in the request's order; they sum to one.
    pub priors: Vec<f32>,
}

/// Evaluates positions in batches.
pub trait Evaluator: Send {
    /// The largest batch that [`Evaluator::evaluate`] takes.
    fn max_batch(&self) -> usize;

    /// One answer per request, in order.
    ///
    /// # Errors
    ///
    /// If the batch cannot be evaluated; there are no partial answers.
    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError>;

    /// The evaluator as one that answers value and policy apart, if it gains by that.
    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        None
    }
}

/// Answers one question about one position at a time, each at once: a network with separate bodies for value and
/// policy, of which a search asks for less.
pub trait SplitEvaluator: Send {
    /// The value for the side to move.
    fn value(&mut self, game: &Game) -> Wdl;

    /// Writes the priors of `moves`, all or some of the legal ones: the softmax of the logits divided by `temperature`. Their
    /// sum is 1.
    ///
    /// # Panics
    ///
    /// Unless there is a prior for each move.
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
