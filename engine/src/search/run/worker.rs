use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::nets::eval::{Answer, EvalError, Evaluator, Request, SplitEvaluator};
use crate::search::run::observer::EndReason;
use crate::search::run::pending::PendingBatch;
use crate::search::run::shared::SharedSearch;
use crate::search::run::walker::{VisitEnd, Walker};
use crate::search::tree::Tree;

/// Several passes, because some leaves need no evaluation.
pub(in crate::search) const GATHER_PASSES: usize = 4;

/// Least visits between checks of clock and limits, without batches. Longer series are not split: the default of 64
/// visits takes about 1/6 ms.
const VISITS_PER_ROUND: u64 = 32;

pub(in crate::search) enum WorkEnd {
    Paused,
    /// Has the reason, unless another worker ended the search.
    Over(Option<EndReason>),
}

pub(in crate::search) struct Worker {
    evaluator: Box<dyn Evaluator>,
    batch: PendingBatch,
    walker: Walker,
}

impl Worker {
    pub fn new(evaluator: Box<dyn Evaluator>, number: usize) -> Worker {
        Worker { evaluator, batch: PendingBatch::new(number), walker: Walker::new(number) }
    }

    /// Must precede the first [`Worker::run`] of a search.
    pub fn begin(&mut self, search: &SharedSearch) {
        self.walker.start(&search.context);
    }

    /// Works until the search ends, or until `pause` between two rounds; may then be called again.
    pub fn run(
        &mut self,
        search: &SharedSearch,
        pause: &mut dyn FnMut() -> bool,
    ) -> Result<WorkEnd, EvalError> {
        if self.evaluator.split().is_some() {
            return Ok(self.walk(search, pause));
        }
        let size = search.context.params.batch.clamp(1, self.evaluator.max_batch());
        while !search.is_stopped() {
            if let Some(reason) = self.round(search, size)? {
                return Ok(WorkEnd::Over(Some(reason)));
            }
            if pause() {
                return Ok(WorkEnd::Paused);
            }
        }
        Ok(WorkEnd::Over(None))
    }

    fn walk(&mut self, search: &SharedSearch, pause: &mut dyn FnMut() -> bool) -> WorkEnd {
        while let (false, Some(evaluator)) = (search.is_stopped(), self.evaluator.split()) {
            match walk_round(search, &mut self.walker, evaluator) {
                WalkedRound::Nothing => break,
                WalkedRound::Visited(None) if pause() => return WorkEnd::Paused,
                WalkedRound::Visited(None) => {}
                WalkedRound::Visited(reason) => return WorkEnd::Over(reason),
            }
        }
        WorkEnd::Over(None)
    }

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

/// Turns a panic of the evaluator, and missing answers or priors, into an error.
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

pub(in crate::search) struct GatherRound {
    /// [`Tree::recycled`] at the start.
    recycled: u64,
    evaluated: u64,
    reason: Option<EndReason>,
    pub progress: bool,
    pub full: bool,
    /// The batch must be applied before more leaves can be gathered.
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

    /// Makes visits until `batch` has `size` leaves; fewer if some need no evaluation.
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

    /// The worker must have released the tree. Returns the reason if the search is over.
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
    /// Has the reason if the search is over.
    Visited(Option<EndReason>),
}

/// The walker must be [started](Walker::start) on this search.
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
                // Tickets enforce the visit limit, so it is checked only at the end of the round.
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

/// Requires an answer per position and a prior per move.
pub fn check_answers(requests: &[Request<'_>], answers: &[Answer]) -> Result<(), EvalError> {
    let complete = answers.len() == requests.len()
        && answers.iter().zip(requests).all(|(answer, request)| answer.priors.len() == request.moves.len());
    if complete { Ok(()) } else { Err(EvalError("the evaluator left positions or moves unanswered".into())) }
}
