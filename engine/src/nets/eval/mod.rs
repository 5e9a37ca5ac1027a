//! The interface between search and networks.
//!
//! An [`Evaluator`] answers a batch of positions, each with a [`Wdl`] for the side to move and one prior per legal
//! move; a [`SplitEvaluator`] gives either alone. A [`Card`] names a network's schemes and holds the golden answers
//! that [`golden`] checks.

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
