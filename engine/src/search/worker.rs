//! One worker: gather, replay, identify, evaluate, apply, until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::MutexGuard;

use shakmaty::MoveList;

use super::Tree;
use super::pool::{Ended, SearchState, Verdict};
use super::step::{Expansion, Leaf, Ticket, finished};
use crate::eval::{Answer, EvalError, Evaluator, Request};
use crate::position::Game;

/// How often a round goes back to the tree to fill its batch, where visits turn out to need no
/// evaluation.
const REFILLS: usize = 4;

/// A worker's evaluator and the memory that it uses again from round to round.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    games: Vec<Game>,
}

/// A ticket with the position it leads to: game number `game` of the worker's.
struct Open {
    ticket: Ticket,
    moves: MoveList,
    game: usize,
}

/// What a round has to evaluate, and what it has come to without.
#[derive(Default)]
struct Batch {
    open: Vec<Open>,
    full: bool,
}

impl Worker {
    pub fn new(evaluator: Box<dyn Evaluator>) -> Worker {
        Worker { evaluator, games: Vec::new() }
    }

    /// Works on a search until it ends, and says so to the others.
    pub fn run(&mut self, search: &SearchState) {
        let batch = search.params.batch.clamp(1, self.evaluator.max_batch());
        while !search.stopped() {
            match self.round(search, batch) {
                Ok(Some(ended)) => search.end(ended, None),
                Ok(None) => {}
                Err(error) => search.end(Ended::Failed, Some(error.to_string())),
            }
        }
    }

    /// One round; says whether the search is over and why.
    fn round(&mut self, search: &SearchState, size: usize) -> Result<Option<Ended>, EvalError> {
        let Some(batch) = self.collect(search, size) else { return Ok(None) };
        let answers = match self.evaluate(&batch.open) {
            Ok(answers) => answers,
            Err(error) => {
                let mut tree = search.lock_tree();
                batch.open.into_iter().for_each(|open| tree.cancel(open.ticket));
                return Err(error);
            }
        };
        let temperature = search.params.policy_temperature;
        let expand =
            |(open, answer): (Open, &Answer)| (open.ticket, Expansion::new(&open.moves, answer, temperature));
        let leaves: Vec<(Ticket, Expansion)> = batch.open.into_iter().zip(&answers).map(expand).collect();
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
            search.limit_reached(&tree).or(batch.full.then_some(Ended::Exhausted))
        };
        search.tree_changed.notify_all();
        if over.is_some() {
            return Ok(over);
        }
        Ok(match search.watch_round(search) {
            Verdict::Continue => None,
            Verdict::Stop => Some(Ended::Stopped),
        })
    }

    /// Gathers positions to evaluate; waits for the other workers where every way leads to a leaf that
    /// they evaluate. `None` if there was nothing to do: look again whether the search goes on.
    fn collect(&mut self, search: &SearchState, size: usize) -> Option<Batch> {
        let mut batch = Batch::default();
        let mut tree = search.lock_tree();
        let before = tree.playouts();
        for _ in 0..REFILLS {
            let horizon = search.horizon(&tree);
            tree.set_horizon(horizon);
            let wanted = search.visits_left(&tree).min((size - batch.open.len()) as u64) as usize;
            let gathered = tree.gather(wanted);
            batch.full |= gathered.full;
            let enough = gathered.collided || gathered.full || wanted == 0;
            if !gathered.tickets.is_empty() {
                drop(tree);
                let reached = self.replay(search, gathered.tickets, batch.open.len());
                tree = search.lock_tree();
                self.settle(search, &mut tree, reached, &mut batch);
            }
            if enough || batch.open.len() == size || tree.root().proof.is_some() {
                break;
            }
        }
        if !batch.open.is_empty() || tree.playouts() > before || batch.full {
            return Some(batch);
        }
        Worker::wait(search, tree);
        None
    }

    fn wait(search: &SearchState, tree: MutexGuard<'_, Tree>) {
        if tree.in_flight() > 0 && !search.stopped() {
            drop(search.tree_changed.wait(tree));
        } else if search.visits_left(&tree) == 0 {
            drop(tree);
            search.end(Ended::Limit, None);
        }
    }

    /// Plays each ticket's moves from the root, each in a game of its own from number `first` on.
    fn replay(
        &mut self,
        search: &SearchState,
        tickets: Vec<Ticket>,
        first: usize,
    ) -> Vec<(Open, Option<Leaf>)> {
        if self.games.len() < first + tickets.len() {
            self.games.resize_with(first + tickets.len(), Game::new);
        }
        let mut reached = Vec::with_capacity(tickets.len());
        for (ticket, number) in tickets.into_iter().zip(first..) {
            let game = &mut self.games[number];
            game.clone_from(&search.root);
            ticket.replay(game);
            // The root is searched whatever the rules say of it: a move is wanted.
            let (moves, end) = if ticket.plies() == 0 {
                (search.root_moves.clone(), None)
            } else {
                let legal = game.legal_moves();
                let repeatable = if search.params.twofold_draws { ticket.plies() } else { 0 };
                let known = |game: &Game| {
                    let deep = ticket.plies() >= search.tables.rules().depth;
                    deep.then(|| search.tables.wdl(game)).flatten().map(Leaf::Table)
                };
                let end = finished(game, &legal, repeatable).or_else(|| known(game));
                (legal, end)
            };
            reached.push((Open { ticket, moves, game: number }, end));
        }
        reached
    }

    /// Applies what needs no evaluation, and adds the rest to the batch.
    fn settle(
        &mut self,
        search: &SearchState,
        tree: &mut Tree,
        reached: Vec<(Open, Option<Leaf>)>,
        batch: &mut Batch,
    ) {
        for (open, end) in reached {
            if let Some(end) = end {
                tree.apply(open.ticket, end);
                continue;
            }
            if let Some(ticket) = tree.identify(open.ticket, self.games[open.game].key()) {
                // The batch's games stand at the front, so that they can be used again behind.
                let number = batch.open.len();
                self.games.swap(number, open.game);
                batch.open.push(Open { ticket, moves: open.moves, game: number });
            }
        }
        search.publish(tree);
    }

    /// Asks the evaluator about the batch.
    ///
    /// A panic of the evaluator is an error like any other: the search ends, the program goes on.
    fn evaluate(&mut self, open: &[Open]) -> Result<Vec<Answer>, EvalError> {
        let requests: Vec<Request<'_>> =
            open.iter().map(|open| Request { game: &self.games[open.game], moves: &open.moves }).collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let evaluator = &mut self.evaluator;
        let answers = catch_unwind(AssertUnwindSafe(|| evaluator.evaluate(&requests)))
            .unwrap_or_else(|_| Err(EvalError("the evaluator panicked".into())))?;
        let fits = answers.len() == requests.len()
            && answers
                .iter()
                .zip(&requests)
                .all(|(answer, request)| answer.priors.len() == request.moves.len());
        if fits {
            Ok(answers)
        } else {
            Err(EvalError("the evaluator left positions or moves unanswered".into()))
        }
    }
}
