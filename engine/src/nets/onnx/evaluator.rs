use shakmaty::{Move, MoveList};

use super::recurrence::{RecurrentState, StepLimits, StepProbabilities, retain_rows};
use super::session::{Logits, OnnxSession};
use crate::chess::position::Game;
use crate::nets::encoding::Policy;
use crate::nets::eval::{Answer, EvalError, Evaluator, Request, Schemes, Wdl, material, softmax};

pub struct OnnxEvaluator {
    session: OnnxSession,
    max_batch: usize,
    limits: StepLimits,
    input: Vec<f32>,
}

impl OnnxEvaluator {
    /// `limits` is for recurrent networks.
    pub(super) fn new(session: OnnxSession, max_batch: usize, limits: StepLimits) -> OnnxEvaluator {
        let input = Vec::with_capacity(max_batch * session.schemes().input.size());
        OnnxEvaluator { session, max_batch, limits, input }
    }

    pub(super) fn into_session(self) -> OnnxSession {
        self.session
    }

    fn max_steps(&self) -> usize {
        match (self.session.step_card(), self.limits.steps) {
            (None, _) => 1,
            (Some(card), 0) => card.steps,
            (Some(_), steps) => steps,
        }
    }

    /// Runs a recurrent network step by step on `batch`, whose tensors are in `self.input`. Settled positions leave the
    /// batch to save time: positions do not affect one another.
    fn run_steps(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let schemes = self.session.schemes();
        let (steps, epsilon) = (self.max_steps(), self.limits.epsilon);
        let may_settle = epsilon > 0.0 && steps > 1;
        // Settling depends on all legal moves, even if only some priors are requested.
        let legal: Vec<MoveList> =
            batch.iter().filter(|_| may_settle).map(|request| request.game.legal_moves()).collect();
        let mut previous: Vec<Option<StepProbabilities>> = vec![None; batch.len()];
        let mut answers: Vec<Option<Answer>> = vec![None; batch.len()];
        let mut open: Vec<usize> = (0..batch.len()).collect();
        let mut state = self.session.initial_state(&self.input);
        for step in 1..=steps {
            let read = |logits: Logits<'_>| {
                for (row, &index) in open.iter().enumerate() {
                    let output = logits.position(row, schemes);
                    let settled = may_settle && {
                        let now = output.probabilities(&batch[index], &legal[index]);
                        let settled =
                            previous[index].as_ref().is_some_and(|before| now.settled(before, epsilon));
                        previous[index] = Some(now);
                        settled
                    };
                    if settled || step == steps {
                        answers[index] = Some(output.answer(&batch[index]));
                    }
                }
            };
            self.session.step(&self.input, &mut state, read)?;
            let keep: Vec<bool> = open.iter().map(|index| answers[*index].is_none()).collect();
            if keep.contains(&false) {
                open.retain(|index| answers[*index].is_none());
                retain_rows(&mut self.input, schemes.input.size(), &keep);
                state.iter_mut().for_each(|state: &mut RecurrentState| state.retain(&keep));
            }
            if open.is_empty() {
                break;
            }
        }
        Ok(answers.into_iter().flatten().collect())
    }
}

impl Evaluator for OnnxEvaluator {
    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let scheme = self.session.schemes().input;
        self.input.resize(batch.len() * scheme.size(), 0.0);
        for (request, input) in batch.iter().zip(self.input.chunks_exact_mut(scheme.size())) {
            scheme.write(request.game, input);
        }
        let answers = self.run_steps(batch)?;
        if answers
            .iter()
            .all(|answer| answer.wdl.win.is_finite() && answer.priors.iter().all(|p| p.is_finite()))
        {
            Ok(answers)
        } else {
            Err(EvalError("the network's output is not finite".into()))
        }
    }
}

impl<'a> Logits<'a> {
    fn position(&self, row: usize, schemes: Schemes) -> PositionOutput<'a> {
        let size = schemes.policy.size();
        let wdl = self.wdl.as_chunks::<3>().0.get(row).map(|wdl| Wdl::from_logits(*wdl));
        PositionOutput { scheme: schemes.policy, policy: &self.policy[row * size..(row + 1) * size], wdl }
    }
}

struct PositionOutput<'a> {
    scheme: Policy,
    policy: &'a [f32],
    wdl: Option<Wdl>,
}

impl PositionOutput<'_> {
    fn logits(&self, game: &Game, moves: &[Move]) -> Vec<f32> {
        moves.iter().map(|m| self.policy[self.scheme.index(game.turn(), *m).offset()]).collect()
    }

    fn probabilities(&self, request: &Request<'_>, legal: &[Move]) -> StepProbabilities {
        StepProbabilities::of(self.logits(request.game, legal), self.wdl)
    }

    fn answer(&self, request: &Request<'_>) -> Answer {
        let mut priors = self.logits(request.game, request.moves);
        softmax(&mut priors);
        Answer { wdl: self.wdl.unwrap_or_else(|| material::wdl(request.game.position())), priors }
    }
}
