//! A worker of the pool: gathers, evaluates and applies in rounds until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::in_flight::{Expansion, InFlightVisit};
use super::observer::EndReason;
use super::pending::PendingBatch;
use super::round;
use super::shared::SharedSearch;
use crate::eval::{Answer, EvalError, Evaluator, Request};

/// How often a round gathers to fill its batch, where some leaves turn out to need no evaluation.
const GATHER_PASSES: usize = 4;

/// An evaluator and the leaves that wait for it.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    batch: PendingBatch,
}

impl Worker {
    pub fn new(evaluator: Box<dyn Evaluator>) -> Worker {
        Worker { evaluator, batch: PendingBatch::default() }
    }

    /// Works on a search until it ends; returns why, or `None` if it was ended from elsewhere.
    ///
    /// # Errors
    ///
    /// If the evaluator fails; none of this worker's visits are in flight then.
    pub fn run(&mut self, search: &SharedSearch) -> Result<Option<EndReason>, EvalError> {
        let size = search.context.params.batch.clamp(1, self.evaluator.max_batch());
        while !search.is_stopped() {
            if let Some(reason) = self.round(search, size)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// One round of at most `size` evaluations.
    fn round(&mut self, search: &SharedSearch, size: usize) -> Result<Option<EndReason>, EvalError> {
        let mut access = search.access();
        let expected = search.expected_visits();
        let status =
            round::gather(&search.context, &mut self.batch, &mut access, (size, GATHER_PASSES), expected);
        if !status.progress {
            return Ok(access.wait_for_change());
        }
        drop(access);
        let answers = match self.evaluate() {
            Ok(answers) => answers,
            Err(error) => {
                search.cancel(&mut self.batch);
                return Err(error);
            }
        };
        let temperature = search.context.params.policy_temperature;
        let leaves: Vec<(InFlightVisit, Expansion)> = self.batch.expand(&answers, temperature).collect();
        Ok(search.apply(leaves, status.full).or_else(|| search.observe_round()))
    }

    /// Evaluates the batch. A panic of the evaluator is an error like any other.
    fn evaluate(&mut self) -> Result<Vec<Answer>, EvalError> {
        let requests: Vec<Request<'_>> = self.batch.requests().collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let evaluator = &mut self.evaluator;
        let answers = catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(&requests)))
            .unwrap_or_else(|_| Err(EvalError("the evaluator panicked".into())))?;
        check_answers(&requests, &answers)?;
        Ok(answers)
    }
}

/// Checks an evaluator's answers before they are applied to a tree. Callers of
/// [`SteppedSearch::answer`](super::SteppedSearch::answer) do so themselves.
///
/// # Errors
///
/// If there is not one answer for every position and one prior for every move.
pub fn check_answers(requests: &[Request<'_>], answers: &[Answer]) -> Result<(), EvalError> {
    let complete = answers.len() == requests.len()
        && answers.iter().zip(requests).all(|(answer, request)| answer.priors.len() == request.moves.len());
    if complete { Ok(()) } else { Err(EvalError("the evaluator left positions or moves unanswered".into())) }
}
