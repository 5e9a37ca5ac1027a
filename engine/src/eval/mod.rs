//! The seam [`Evaluator`] and what stands behind it.
//!
//! An evaluator answers for a batch of positions: a [`Wdl`] for the side to move and one prior per
//! legal move. [`Network`] is a checked network file and makes evaluators that run it in ONNX
//! Runtime; [`Pair`] is one network in two precisions and chooses the faster; [`Uniform`] knows nothing and needs nothing.
//! A file that holds one step of a network that thinks in steps is repeated as [`Thinking`] says.
//! [`lesson`] is no evaluator but a value in centipawns, from material and squares alone.

mod cache;
mod card;
mod runtime;
mod tensors;
/// The classical players' value of a position.
pub mod lesson;
mod thinking;
mod session;
mod precision;
mod verdicts;
mod network;
mod pair;
mod uniform;

use std::fmt;

use shakmaty::Move;

use crate::position::Game;

pub use cache::{Cached, EvalCache};
pub use card::{Card, CardError, FORMAT as CARD_FORMAT, Golden, Schemes, Value};
pub use network::{NetError, Network};
pub use pair::{Chosen, Pair};
pub use precision::{Precision, Timing};
pub use runtime::RuntimeError;
pub use session::{Logits, OnnxEvaluator, Session};
pub use thinking::{MAX_STEPS, Thinking};
pub use uniform::Uniform;
pub use verdicts::Verdicts;

/// Probabilities of win, draw and loss for the side to move; they sum to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// Probability that the mover wins.
    pub win: f32,
    /// Probability of a draw.
    pub draw: f32,
    /// Probability that the mover loses.
    pub loss: f32,
}

impl Wdl {
    /// A certain win of the mover.
    pub const WIN: Wdl = Wdl { win: 1.0, draw: 0.0, loss: 0.0 };
    /// A certain draw.
    pub const DRAW: Wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
    /// A certain loss of the mover.
    pub const LOSS: Wdl = Wdl { win: 0.0, draw: 0.0, loss: 1.0 };

    /// The expected result, −1 (lost) to 1 (won).
    pub fn q(self) -> f32 {
        self.win - self.loss
    }

    /// What a value of so many centipawns for the mover means, where no more is known: the expected result `q` of
    /// [`q_of_centipawns`], shared out as if each half of the point were won by itself with a chance of `(1 + q) / 2`:
    /// win `(1 + q)² / 4`, draw `(1 − q²) / 2`, loss `(1 − q)² / 4`.
    pub fn of_centipawns(centipawns: i32) -> Wdl {
        let q = q_of_centipawns(centipawns);
        let both = |q: f32| (1.0 + q) * (1.0 + q) / 4.0;
        Wdl { win: both(q), draw: (1.0 - q * q) / 2.0, loss: both(-q) }
    }

    /// The same position seen by the other side.
    pub fn flipped(self) -> Wdl {
        Wdl { win: self.loss, draw: self.draw, loss: self.win }
    }

    /// The softmax of a network's three logits (win, draw, loss).
    pub fn from_logits(logits: [f32; 3]) -> Wdl {
        let mut p = logits;
        softmax(&mut p);
        Wdl { win: p[0], draw: p[1], loss: p[2] }
    }
}

/// One position to be evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The position and its past.
    pub game: &'a Game,
    /// The legal moves that priors are wanted for, all or some; never empty.
    pub moves: &'a [Move],
}

/// What an evaluator says of one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For the side to move.
    pub wdl: Wdl,
    /// One probability per legal move, in the request's order; they sum to one.
    pub priors: Vec<f32>,
}

/// Why a batch could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(pub String);

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "evaluation failed: {}", self.0)
    }
}

impl std::error::Error for EvalError {}

/// Evaluates positions in batches.
pub trait Evaluator: Send {
    /// The largest batch that [`Evaluator::evaluate`] takes.
    fn max_batch(&self) -> usize;

    /// One answer per request, in order.
    ///
    /// # Errors
    ///
    /// If the batch can't be evaluated; then none of its answers is known.
    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError>;
}

impl<E: Evaluator + ?Sized> Evaluator for Box<E> {
    fn max_batch(&self) -> usize {
        (**self).max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        (**self).evaluate(batch)
    }
}

/// Leela's curve between expected results and centipawns: `90 · tan(1.5637541897 · q)`.
const CURVE: (f32, f32) = (90.0, 1.563_754_2);

/// Centipawns of an expected result, −1 to 1, by Leela's curve.
pub fn centipawns_of_q(q: f32) -> i32 {
    (CURVE.0 * (CURVE.1 * q.clamp(-1.0, 1.0)).tan()).round() as i32
}

/// The expected result, −1 to 1, of so many centipawns: [`centipawns_of_q`] backwards.
pub fn q_of_centipawns(centipawns: i32) -> f32 {
    ((centipawns as f32 / CURVE.0).atan() / CURVE.1).clamp(-1.0, 1.0)
}

/// Turns logits into probabilities in place.
pub fn softmax(logits: &mut [f32]) {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in logits.iter_mut() {
        *x = (*x - max).exp();
        sum += *x;
    }
    logits.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_of_logarithms_gives_the_shares() {
        let mut logits = [1f32.ln(), 2f32.ln() + 50.0, 5f32.ln()];
        logits[1] -= 50.0;
        softmax(&mut logits);
        for (got, want) in logits.iter().zip([0.125, 0.25, 0.625]) {
            assert!((got - want).abs() < 1e-5);
        }
    }

    #[test]
    fn centipawns_and_expected_results_are_two_names_of_the_same() {
        for centipawns in [-1200, -310, -35, 0, 1, 100, 900, 5000] {
            let there_and_back = centipawns_of_q(q_of_centipawns(centipawns));
            // Far out a rounding error of q is many centipawns.
            assert!((there_and_back - centipawns).abs() <= centipawns.abs() / 500, "{there_and_back}");
            assert_eq!(Wdl::of_centipawns(centipawns), Wdl::of_centipawns(-centipawns).flipped());
        }
        assert!((q_of_centipawns(90) - std::f32::consts::FRAC_PI_4 / 1.563_754_2).abs() < 1e-6);
        assert_eq!(q_of_centipawns(i32::MAX), 1.0);
    }

    #[test]
    fn flipping_twice_changes_nothing() {
        let wdl = Wdl::from_logits([2.0, 1.0, -1.0]);
        assert_eq!(wdl.flipped().flipped(), wdl);
        assert_eq!(wdl.flipped().q(), -wdl.q());
    }
}
