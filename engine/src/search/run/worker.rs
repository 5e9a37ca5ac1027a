//! A worker of the pool: visits the tree until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::nets::eval::{Answer, EvalError, Evaluator, Request, SplitEvaluator};
use crate::search::run::observer::EndReason;
use crate::search::run::pending::PendingBatch;
use crate::search::run::shared::SharedSearch;
use crate::search::run::walker::{VisitEnd, Walker};
use crate::search::tree::Tree;

/// Gathering passes per round, because some leaves need no evaluation.
pub(in crate::search) const GATHER_PASSES: usize = 4;

/// Least visits between two checks of clock and limits, where visits are evaluated one at a time. A longer series (64
/// by default) is not split and takes about a sixth of a millisecond.
const VISITS_PER_ROUND: u64 = 32;

pub(in crate::search) struct Worker {
    evaluator: Box<dyn Evaluator>,
    batch: PendingBatch,
    walker: Walker,
}

impl Worker {
    pub fn new(evaluator: Box<dyn Evaluator>, number: usize) -> Worker {
        Worker { evaluator, batch: PendingBatch::new(number), walker: Walker::new(number) }
    }

    /// Works on a search until it ends and returns the reason; `None` if it was ended elsewhere. If the evaluator
    /// fails, none of this worker's visits stay in flight.
    pub fn run(&mut self, search: &SharedSearch) -> Result<Option<EndReason>, EvalError> {
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

    fn walk(&mut self, search: &SharedSearch) -> Option<EndReason> {
        self.walker.start(&search.context);
        let evaluator = self.evaluator.split()?;
        while !search.is_stopped() {
            match walk_round(search, &mut self.walker, evaluator) {
                WalkedRound::Nothing => return None,
                WalkedRound::Visited(None) => {}
                WalkedRound::Visited(reason) => return reason,
            }
        }
        None
    }

    /// One round of at most `size` evaluations.
    fn round(&mut self, search: &SharedSearch, size: usize) -> Result<Option<EndReason>, EvalError> {
        let tree = search.tree();
        let mut round = GatherRound::new(&tree);
        for _ in 0..GATHER_PASSES {
            round.gather(search, &tree, &mut self.batch, size);
            if round.is_over || self.batch.len() == size {
                break;
            }
        }
        if !round.progress && !round.full {
            drop(tree);
            return Ok(search.wait_for_change().inspect(|reason| search.before_end(*reason)));
        }
        let requests: Vec<Request<'_>> = self.batch.requests().collect();
        let answers = match evaluate(self.evaluator.as_mut(), &requests) {
            Ok(answers) => answers,
            Err(error) => {
                self.batch.cancel(&tree);
                return Err(error);
            }
        };
        round.apply(search, &tree, &mut self.batch, &answers);
        drop(tree);
        search.changed();
        Ok(round.end(search))
    }
}

/// Evaluates a batch. A panic of the evaluator is an error like any other.
///
/// # Errors
///
/// If the evaluator fails or leaves something unanswered.
pub(in crate::search) fn evaluate(
    evaluator: &mut dyn Evaluator,
    requests: &[Request<'_>],
) -> Result<Vec<Answer>, EvalError> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let answers = catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(requests)))
        .unwrap_or_else(|_| Err(EvalError("the evaluator panicked".into())))?;
    check_answers(requests, &answers)?;
    Ok(answers)
}

/// One worker's round in one search, from gathering to the observer.
pub(in crate::search) struct GatherRound {
    /// The tree's recycle count at the start.
    recycled: u64,
    evaluated: u64,
    reason: Option<EndReason>,
    /// Visits were gathered or ended.
    pub progress: bool,
    pub full: bool,
    /// Nothing more can be gathered before the batch is applied.
    pub is_over: bool,
}

impl GatherRound {
    pub fn new(tree: &Tree) -> GatherRound {
        GatherRound {
            recycled: tree.recycled(),
            evaluated: 0,
            reason: None,
            progress: false,
            full: false,
            is_over: false,
        }
    }

    /// Gathers until `batch` has `size` leaves; fewer if some visits need no evaluation.
    pub fn gather(&mut self, search: &SharedSearch, tree: &Tree, batch: &mut PendingBatch, size: usize) {
        let context = &search.context;
        tree.set_horizon(context.horizon(tree, search.expected_visits()));
        let tickets = search.take_tickets((size - batch.len()) as u64);
        let before = batch.len();
        let status = batch.gather(context, tree, size, tickets as usize);
        let used = status.finished + batch.len() - before;
        search.return_tickets(tickets - used as u64);
        self.progress |= used > 0;
        self.full |= status.full;
        self.is_over = status.collided || status.full || tickets == 0 || tree.is_proven();
    }

    pub fn apply(
        &mut self,
        search: &SharedSearch,
        tree: &Tree,
        batch: &mut PendingBatch,
        answers: &[Answer],
    ) {
        self.evaluated = answers.len() as u64;
        batch.apply(&search.context, tree, answers, true);
        self.reason = search.context.end_reason(tree);
    }

    /// Runs after the worker has released the tree: frees memory, searches for a mate, calls the observer. Returns the
    /// reason if the search is over.
    pub fn end(self, search: &SharedSearch) -> Option<EndReason> {
        self.reason
            .or_else(|| self.full.then(|| search.recycle(self.recycled)).flatten())
            .or_else(|| search.look_for_mate(self.evaluated))
            .or_else(|| search.observe_round())
            .inspect(|reason| search.before_end(*reason))
    }
}

pub(in crate::search) enum WalkedRound {
    /// All visits that the limits allow have begun.
    Nothing,
    /// Visits were made; with a reason if the search is over.
    Visited(Option<EndReason>),
}

/// A round of visits evaluated one at a time; the walker must be [started](Walker::start) on this search.
pub(in crate::search) fn walk_round(
    search: &SharedSearch,
    walker: &mut Walker,
    evaluator: &mut dyn SplitEvaluator,
) -> WalkedRound {
    let context = &search.context;
    let tickets = search.take_tickets(VISITS_PER_ROUND.max(context.params.series.into()));
    if tickets == 0 {
        return WalkedRound::Nothing;
    }
    let mut left = tickets;
    let mut full = false;
    let mut reason = None;
    let tree = search.tree();
    let recycled = tree.recycled();
    tree.set_horizon(context.horizon(&tree, search.expected_visits()));
    while left > 0 && !search.is_stopped() && reason.is_none() {
        let (visits, end) = walker.visit(context, &tree, evaluator, left);
        left -= visits;
        match end {
            VisitEnd::Applied => {
                // Tickets enforce the visit limit, so summing all workers' visits can wait.
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
    let reason = reason.or_else(|| search.look_for_mate(tickets - left));
    let reason = reason.or_else(|| search.observe_round());
    WalkedRound::Visited(reason.inspect(|reason| search.before_end(*reason)))
}

/// Fails unless there is one answer per position and one prior per move. Callers of
/// [`SteppedSearch::answer`](crate::search::SteppedSearch::answer) check for themselves.
pub fn check_answers(requests: &[Request<'_>], answers: &[Answer]) -> Result<(), EvalError> {
    let complete = answers.len() == requests.len()
        && answers.iter().zip(requests).all(|(answer, request)| answer.priors.len() == request.moves.len());
    if complete { Ok(()) } else { Err(EvalError("the evaluator left positions or moves unanswered".into())) }
}
