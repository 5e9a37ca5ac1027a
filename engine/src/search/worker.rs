//! One worker: gather, replay, evaluate, apply, until the search ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shakmaty::MoveList;

use super::pool::{Ended, SearchState, Verdict, View};
use super::step::{Expansion, Gathered, Leaf, Ticket, finished};
use crate::eval::{Answer, EvalError, Evaluator, Request};
use crate::position::Game;

/// A worker's evaluator and the memory that it uses again from round to round.
pub(super) struct Worker {
    evaluator: Box<dyn Evaluator>,
    games: Vec<Game>,
}

/// A ticket with the position it leads to.
struct Reached {
    ticket: Ticket,
    moves: MoveList,
    proof: Option<super::Proof>,
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
    fn round(&mut self, search: &SearchState, batch: usize) -> Result<Option<Ended>, EvalError> {
        let Some(gathered) = gather(search, batch) else { return Ok(None) };
        let full = gathered.full;
        let mut reached = self.replay(search, gathered.tickets);
        let answers = match self.evaluate(&reached) {
            Ok(answers) => answers,
            Err(error) => {
                let mut tree = search.lock_tree();
                reached.drain(..).for_each(|reached| tree.cancel(reached.ticket));
                return Err(error);
            }
        };
        let temperature = search.params.policy_temperature;
        let mut answers = answers.iter();
        let leaves: Vec<(Ticket, Leaf)> = reached
            .into_iter()
            .map(|Reached { ticket, moves, proof }| {
                let leaf = proof.map_or_else(
                    || {
                        let answer = answers.next().expect("one answer per open position");
                        Leaf::Expanded(Expansion::new(&moves, answer, temperature))
                    },
                    Leaf::Terminal,
                );
                (ticket, leaf)
            })
            .collect();

        let over = {
            let mut tree = search.lock_tree();
            leaves.into_iter().for_each(|(ticket, leaf)| tree.apply(ticket, leaf));
            search.publish(&tree);
            search.limit_reached(&tree).or(full.then_some(Ended::Exhausted))
        };
        search.tree_changed.notify_all();
        if over.is_some() {
            return Ok(over);
        }
        Ok(match search.watch_round(&View::new(search)) {
            Verdict::Continue => None,
            Verdict::Stop => Some(Ended::Stopped),
        })
    }

    /// Plays each ticket's moves from the root, each in a game of its own.
    fn replay(&mut self, search: &SearchState, tickets: Vec<Ticket>) -> Vec<Reached> {
        if self.games.len() < tickets.len() {
            self.games.resize_with(tickets.len(), Game::new);
        }
        let mut reached = Vec::with_capacity(tickets.len());
        for (ticket, game) in tickets.into_iter().zip(&mut self.games) {
            game.clone_from(&search.root);
            ticket.replay(game);
            // The root is searched whatever the rules say of it: a move is wanted.
            let (moves, proof) = if ticket.plies() == 0 {
                (search.root_moves.clone(), None)
            } else {
                let legal = game.legal_moves();
                let proof = finished(game, &legal, ticket.plies());
                (legal, proof)
            };
            reached.push(Reached { ticket, moves, proof });
        }
        reached
    }

    /// Asks the evaluator about the positions where the game goes on.
    ///
    /// A panic of the evaluator is an error like any other: the search ends, the program goes on.
    fn evaluate(&mut self, reached: &[Reached]) -> Result<Vec<Answer>, EvalError> {
        let requests: Vec<Request<'_>> = reached
            .iter()
            .zip(&self.games)
            .filter(|(reached, _)| reached.proof.is_none())
            .map(|(reached, game)| Request { game, moves: &reached.moves })
            .collect();
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

/// Gathers a batch; waits for the other workers where every way leads to a leaf that they evaluate.
///
/// `None` if there is nothing to evaluate: look again whether the search goes on.
fn gather(search: &SearchState, batch: usize) -> Option<Gathered> {
    let mut tree = search.lock_tree();
    let room = search.visits_left(&tree).min(batch as u64) as usize;
    let gathered = tree.gather(room);
    if gathered.tickets.is_empty() && gathered.finished == 0 && !gathered.full {
        if tree.in_flight() > 0 && !search.stopped() {
            drop(search.tree_changed.wait(tree));
        } else if room == 0 {
            drop(tree);
            search.end(Ended::Limit, None);
        }
        return None;
    }
    Some(gathered)
}
