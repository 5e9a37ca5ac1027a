use std::sync::Arc;

use shakmaty::Move;

use crate::chess::position::Game;
use crate::nets::encoding::moves1::{self, Rows};
use crate::nets::encoding::sparse1::{Features, View};
use crate::nets::eval::{Answer, EvalError, Evaluator, Request, SplitEvaluator, Wdl};

use super::integers::{Bytes, LOGIT_STEPS, Lanes, UNITS, Weights};
use super::layers;
use super::simd::{Kernel, Level, PlacedNumbers, Simd};
use super::softmax::{softmax, softmax3};

#[derive(Clone, Debug)]
pub struct SparseEvaluator {
    weights: Arc<Weights>,
    level: Level,
    scratch: Scratch,
}

#[derive(Clone, Debug)]
struct Scratch {
    sums: Vec<Lanes>,
    pairs: PlacedNumbers,
    hidden: Vec<Bytes<u8>>,
    rows: Vec<Rows>,
    logits: Vec<i32>,
    powers: Vec<f32>,
}

/// More than any known position has (218); the buffers could grow.
const MOVES: usize = 256;

impl SparseEvaluator {
    pub(super) fn new(weights: Arc<Weights>, level: Level) -> SparseEvaluator {
        let scratch = Scratch {
            sums: vec![Lanes::ZERO; weights.lanes],
            pairs: PlacedNumbers::new(UNITS * (weights.lanes - weights.policy_lanes)),
            hidden: vec![Bytes([0; 64]); weights.row_bytes],
            rows: vec![Rows::default(); MOVES],
            logits: vec![0; MOVES],
            powers: vec![0.0; MOVES],
        };
        SparseEvaluator { weights, level, scratch }
    }

    pub fn instructions(&self) -> &'static str {
        self.level.name()
    }

    /// Returns the value and writes the priors of `moves`, all or some of the legal ones.
    pub fn evaluate_into(&mut self, game: &Game, moves: &[Move], priors: &mut [f32]) -> Wdl {
        self.ask(game, Question::Both(moves, priors)).expect("the value is asked for")
    }

    fn ask(&mut self, game: &Game, question: Question<'_>) -> Option<Wdl> {
        let SparseEvaluator { weights, level, scratch } = self;
        level.run(Job { weights, scratch, game, question })
    }
}

impl Evaluator for SparseEvaluator {
    fn max_batch(&self) -> usize {
        256
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let answer = |request: &Request<'_>| {
            let mut priors = vec![0.0; request.moves.len()];
            let wdl = self.evaluate_into(request.game, request.moves, &mut priors);
            Answer { wdl, priors }
        };
        Ok(batch.iter().map(answer).collect())
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        Some(self)
    }
}

impl SplitEvaluator for SparseEvaluator {
    /// Takes two fifths of the time of value and policy together.
    fn value(&mut self, game: &Game) -> Wdl {
        self.ask(game, Question::Value).expect("the value is asked for")
    }

    fn policy(&mut self, game: &Game, moves: &[Move], temperature: f32, priors: &mut [f32]) {
        self.ask(game, Question::Policy { moves, temperature, priors });
    }
}

enum Question<'a> {
    Value,
    Policy { moves: &'a [Move], temperature: f32, priors: &'a mut [f32] },
    Both(&'a [Move], &'a mut [f32]),
}

struct Job<'a> {
    weights: &'a Weights,
    scratch: &'a mut Scratch,
    game: &'a Game,
    question: Question<'a>,
}

impl Kernel for Job<'_> {
    type Output = Option<Wdl>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Option<Wdl> {
        let Job { weights, scratch, game, question } = self;
        let view = View::of(game);
        let features = view.features();
        match question {
            Question::Value => Some(value(simd, weights, scratch, &features)),
            Question::Policy { moves, temperature, priors } => {
                policy(simd, weights, scratch, (&view, &features), moves, temperature, priors);
                None
            }
            Question::Both(moves, priors) => {
                policy(simd, weights, scratch, (&view, &features), moves, 1.0, priors);
                Some(value(simd, weights, scratch, &features))
            }
        }
    }
}

#[inline(always)]
fn value<S: Simd>(simd: S, weights: &Weights, scratch: &mut Scratch, features: &Features) -> Wdl {
    let Scratch { sums, pairs, .. } = scratch;
    let sums = &mut sums[weights.policy_lanes..];
    layers::accumulate::<S>(weights, features, weights.policy_lanes, sums);
    layers::squares(sums);
    let [win, draw, loss] = softmax3(layers::value(simd, weights, sums, pairs));
    Wdl { win, draw, loss }
}

#[inline(always)]
fn policy<S: Simd>(
    simd: S,
    weights: &Weights,
    scratch: &mut Scratch,
    (view, features): (&View, &Features),
    moves: &[Move],
    temperature: f32,
    priors: &mut [f32],
) {
    let Scratch { sums, hidden, rows, logits, powers, .. } = scratch;
    if moves.len() > rows.len() {
        let room = moves.len().next_multiple_of(MOVES);
        rows.resize(room, Rows::default());
        logits.resize(room, 0);
        powers.resize(room, 0.0);
    }
    let (rows, logits) = (&mut rows[..moves.len()], &mut logits[..moves.len()]);
    let sums = &mut sums[..weights.policy_lanes];
    moves1::rows(view, moves, rows);
    layers::accumulate::<S>(weights, features, 0, sums);
    layers::hidden(sums, hidden);
    layers::logits(simd, weights, hidden, rows, logits);
    softmax(logits, LOGIT_STEPS * f64::from(temperature), powers, priors);
}
