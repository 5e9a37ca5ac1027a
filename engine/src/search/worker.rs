//! One worker: gather, replay, identify, evaluate, apply, until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::MutexGuard;

use super::Tree;
use super::desk::Desk;
use super::observer::EndReason;
use super::pool::SearchState;
use super::step::{Expansion, Leaf, Ticket};
use crate::eval::{Answer, EvalError, Evaluator, Request};

/// How often a round goes back to the tree to fill its batch, where visits turn out to need no
/// evaluation.
const REFILLS: usize = 4;

/// A worker's evaluator and the positions that it works on.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    desk: Desk,
}

/// What gathering has come to.
enum Collected {
    /// There may be positions on the desk.
    Round {
        /// The memory is full of what can't be dropped.
        full: bool,
    },
    /// There was nothing to do: look again whether the search goes on.
    Nothing,
}

impl Worker {
    pub fn new(evaluator: Box<dyn Evaluator>) -> Worker {
        Worker { evaluator, desk: Desk::default() }
    }

    /// Works on a search until it ends, and says so to the others.
    pub fn run(&mut self, search: &SearchState) {
        let batch = search.params.batch.clamp(1, self.evaluator.max_batch());
        while !search.stopped() {
            match self.round(search, batch) {
                Ok(Some(ended)) => search.end(ended, None),
                Ok(None) => {}
                Err(error) => search.end(EndReason::Failed, Some(error.to_string())),
            }
        }
    }

    /// One round; says whether the search is over and why.
    fn round(&mut self, search: &SearchState, size: usize) -> Result<Option<EndReason>, EvalError> {
        let Collected::Round { full } = self.collect(search, size) else { return Ok(None) };
        let answers = match self.evaluate() {
            Ok(answers) => answers,
            Err(error) => {
                self.desk.cancel(&mut search.lock_tree());
                return Err(error);
            }
        };
        let leaves: Vec<(Ticket, Expansion)> =
            self.desk.expand(&answers, search.params.policy_temperature).collect();
        let over = {
            let mut tree = search.lock_tree();
            for (ticket, expansion) in leaves {
                let at_root = ticket.plies() == 0;
                tree.apply(ticket, Leaf::Expanded(expansion));
                if at_root {
                    search.add_noise(&mut tree);
                }
            }
            search.publish(&tree);
            search.limit_reached(&tree).or(full.then_some(EndReason::Exhausted))
        };
        search.tree_changed.notify_all();
        if over.is_some() {
            return Ok(over);
        }
        Ok(search.observe_round())
    }

    /// Gathers positions to evaluate; waits for the other workers where every way leads to a leaf that
    /// they evaluate.
    fn collect(&mut self, search: &SearchState, size: usize) -> Collected {
        let desk = &mut self.desk;
        let mut full = false;
        let mut tree = search.lock_tree();
        let before = tree.playouts();
        for _ in 0..REFILLS {
            let horizon = search.horizon(&tree);
            tree.set_horizon(horizon);
            let wanted = search.visits_left(&tree).min((size - desk.open.len()) as u64) as usize;
            let gathered = tree.gather(wanted);
            full |= gathered.full;
            let enough = gathered.collided || gathered.full || wanted == 0;
            if !gathered.tickets.is_empty() {
                drop(tree);
                let reached = desk.replay(&search.site(), gathered.tickets);
                tree = search.lock_tree();
                desk.settle(&mut tree, reached);
                search.publish(&tree);
            }
            if enough || desk.open.len() == size || tree.root().proof.is_some() {
                break;
            }
        }
        if !desk.open.is_empty() || tree.playouts() > before || full {
            return Collected::Round { full };
        }
        Worker::wait(search, tree);
        Collected::Nothing
    }

    fn wait(search: &SearchState, tree: MutexGuard<'_, Tree>) {
        if tree.in_flight() > 0 && !search.stopped() {
            drop(search.tree_changed.wait(tree));
        } else if search.visits_left(&tree) == 0 {
            drop(tree);
            search.end(EndReason::Limit, None);
        }
    }

    /// Asks the evaluator about the batch.
    ///
    /// A panic of the evaluator is an error like any other: the search ends, the program goes on.
    fn evaluate(&mut self) -> Result<Vec<Answer>, EvalError> {
        let requests: Vec<Request<'_>> = self.desk.requests().collect();
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

/// Checks what an evaluator has answered before a tree is grown by it; who drives a [`Solo`](super::Solo) does so
/// himself.
///
/// # Errors
///
/// If there isn't an answer for every position and a prior for every move.
pub fn check_answers(requests: &[Request<'_>], answers: &[Answer]) -> Result<(), EvalError> {
    let fits = answers.len() == requests.len()
        && answers.iter().zip(requests).all(|(answer, request)| answer.priors.len() == request.moves.len());
    if fits { Ok(()) } else { Err(EvalError("the evaluator left positions or moves unanswered".into())) }
}
