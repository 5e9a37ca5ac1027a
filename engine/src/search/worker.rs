//! A worker of the pool: visits the tree until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::mate_probe::{MateProbe, ProbeEnd};
use super::observer::EndReason;
use super::pending::PendingBatch;
use super::shared::SharedSearch;
use super::walker::{VisitEnd, Walker};
use crate::eval::{Answer, EvalError, Evaluator, Request};

/// How often a round gathers to fill its batch, where some leaves turn out to need no evaluation.
const GATHER_PASSES: usize = 4;

/// Visits one at a time between two looks at the clock and at the limits: about a third of a millisecond.
const VISITS_PER_ROUND: u64 = 32;

/// Nodes of the mate search for each visit, and for each evaluation of a batch: about a tenth of the time.
const MATE_NODES: u64 = 3;
const MATE_NODES_BATCHED: u64 = 30;

/// An evaluator and the visits that wait for it.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    batch: PendingBatch,
    walker: Walker,
    /// The first worker also looks for mates.
    mates: Option<MateProbe>,
}

impl Worker {
    /// A worker of this number; with `mate_memory` bytes it also looks for a forced mate at the root.
    pub fn new(mut evaluator: Box<dyn Evaluator>, number: usize, mate_memory: Option<usize>) -> Worker {
        let rate = if evaluator.split().is_some() { MATE_NODES } else { MATE_NODES_BATCHED };
        Worker {
            evaluator,
            batch: PendingBatch::new(number),
            walker: Walker::new(number),
            mates: mate_memory.map(|bytes| MateProbe::new(bytes, rate)),
        }
    }

    /// Works on a search until it ends; returns why, or `None` if it was ended from elsewhere.
    ///
    /// # Errors
    ///
    /// If the evaluator fails; none of this worker's visits are in flight then.
    pub fn run(&mut self, search: &SharedSearch) -> Result<Option<EndReason>, EvalError> {
        self.mates.iter_mut().for_each(|probe| probe.start(&search.context));
        if self.evaluator.split().is_some() {
            return Ok(self.walk(search));
        }
        let size = search.context.params.batch.clamp(1, self.evaluator.max_batch());
        while !search.is_stopped() {
            if let Some(reason) = self.round(search, size)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Visits one at a time until the search ends.
    fn walk(&mut self, search: &SharedSearch) -> Option<EndReason> {
        let context = &search.context;
        self.walker.start(context);
        let evaluator = self.evaluator.split()?;
        while !search.is_stopped() {
            let tickets = search.take_tickets(VISITS_PER_ROUND);
            if tickets == 0 {
                return None;
            }
            let mut left = tickets;
            let mut full = false;
            let mut reason = None;
            let tree = search.tree();
            let recycled = tree.recycled();
            tree.set_horizon(context.horizon(&tree, search.expected_visits()));
            while left > 0 && !search.is_stopped() && reason.is_none() {
                match self.walker.visit(context, &tree, evaluator) {
                    VisitEnd::Applied => {
                        left -= 1;
                        // The limit of visits ends with the tickets: summing up all workers' visits can wait.
                        if tree.is_proven() || context.limits.depth.is_some() {
                            reason = context.end_reason(&tree);
                        }
                    }
                    VisitEnd::Collided => std::thread::yield_now(),
                    VisitEnd::Full => {
                        full = true;
                        break;
                    }
                }
            }
            let reason = reason.or_else(|| context.end_reason(&tree));
            drop(tree);
            search.return_tickets(left);
            let reason = reason.or_else(|| full.then(|| search.recycle(recycled)).flatten());
            let reason = reason.or_else(|| look_for_mate(&mut self.mates, search, tickets - left));
            if let Some(reason) = reason.or_else(|| search.observe_round()) {
                return Some(reason);
            }
        }
        None
    }

    /// One round of at most `size` evaluations.
    fn round(&mut self, search: &SharedSearch, size: usize) -> Result<Option<EndReason>, EvalError> {
        let context = &search.context;
        let tree = search.tree();
        let recycled = tree.recycled();
        let (mut full, mut progress) = (false, false);
        for _ in 0..GATHER_PASSES {
            tree.set_horizon(context.horizon(&tree, search.expected_visits()));
            let tickets = search.take_tickets((size - self.batch.len()) as u64);
            let before = self.batch.len();
            let status = self.batch.gather(context, &tree, size, tickets as usize);
            let used = status.finished + self.batch.len() - before;
            search.return_tickets(tickets - used as u64);
            progress |= used > 0;
            full |= status.full;
            if status.collided || status.full || tickets == 0 || self.batch.len() == size || tree.is_proven()
            {
                break;
            }
        }
        if !progress && !full {
            drop(tree);
            return Ok(search.wait_for_change());
        }
        let answers = match self.evaluate() {
            Ok(answers) => answers,
            Err(error) => {
                self.batch.cancel(&tree);
                return Err(error);
            }
        };
        let evaluated = answers.len() as u64;
        self.batch.apply(context, &tree, &answers, true);
        let reason = context.end_reason(&tree);
        drop(tree);
        search.changed();
        let reason = reason.or_else(|| full.then(|| search.recycle(recycled)).flatten());
        let reason = reason.or_else(|| look_for_mate(&mut self.mates, search, evaluated));
        Ok(reason.or_else(|| search.observe_round()))
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

/// Spends what so many visits allow on a forced mate at the root. One that is found is the end of the search; that there
/// is none ends a search for a mate.
fn look_for_mate(probe: &mut Option<MateProbe>, search: &SharedSearch, visits: u64) -> Option<EndReason> {
    match probe.as_mut()?.advance(&search.context, visits, &mut || search.is_stopped())? {
        ProbeEnd::Mate(mate) => search.prove_mate(&mate).then_some(EndReason::Exhausted),
        ProbeEnd::NoMate => Some(EndReason::Exhausted),
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
