//! Many games at once on one thread, their positions evaluated together.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::nets::eval::{Answer, EvalError, Evaluator, Request};
use engine::search::{SteppedSearch, check_answers};

/// What a game needs next.
#[derive(Debug)]
pub enum Next<T> {
    /// Its search needs evaluations from the evaluator with this index.
    Search(usize),
    /// The game is over, with this outcome.
    Over(T),
}

/// A game in progress whose positions are evaluated in batches shared with other games.
pub trait BatchedGame {
    /// What a finished game yields.
    type Outcome;

    /// Called once at the start and then whenever the search has ended: plays a move and starts the next search, or
    /// ends the game.
    fn advance(&mut self) -> Next<Self::Outcome>;

    /// The current search, to gather positions and to apply answers.
    fn solo(&mut self) -> &mut SteppedSearch;

    /// The current search, read-only.
    fn search(&self) -> &SteppedSearch;
}

/// A game with the evaluator that it waits for.
struct Slot<G> {
    game: G,
    evaluator: usize,
    /// Positions gathered and not answered yet.
    pending: usize,
}

/// Plays games until `deal` has no more, or until `stop` is raised: then the unfinished games are returned.
///
/// `games` are played at once, and each adds up to `leaves` positions to every batch. `done` receives every outcome;
/// `evaluated` receives the number of positions of every round of evaluations.
///
/// # Errors
///
/// An evaluator fails, or leaves something unanswered.
pub fn drive<G: BatchedGame>(
    evaluators: &mut [Box<dyn Evaluator>],
    (games, leaves): (usize, usize),
    deal: &mut dyn FnMut() -> Option<G>,
    done: &mut dyn FnMut(G::Outcome),
    evaluated: &mut dyn FnMut(usize),
    stop: &AtomicBool,
) -> Result<Vec<G>, EvalError> {
    let mut slots: Vec<Slot<G>> = Vec::with_capacity(games);
    while !stop.load(Ordering::Relaxed) {
        let mut index = 0;
        while index < games {
            if index == slots.len() {
                let Some(game) = deal() else { break };
                let Some(slot) = start(game, done) else { continue };
                slots.push(slot);
            }
            if gather(&mut slots[index], leaves, done) {
                index += 1;
            } else {
                slots.remove(index);
            }
        }
        if slots.is_empty() {
            break;
        }
        for (number, evaluator) in evaluators.iter_mut().enumerate() {
            evaluated(answer(evaluator, number, &mut slots)?);
        }
    }
    Ok(slots.into_iter().map(|slot| slot.game).collect())
}

/// Starts a game; none if it is over at once.
fn start<G: BatchedGame>(mut game: G, done: &mut dyn FnMut(G::Outcome)) -> Option<Slot<G>> {
    match game.advance() {
        Next::Search(evaluator) => Some(Slot { game, evaluator, pending: 0 }),
        Next::Over(outcome) => {
            done(outcome);
            None
        }
    }
}

/// Gathers a game's positions, playing a move whenever a search ends; false if the game is over.
fn gather<G: BatchedGame>(slot: &mut Slot<G>, leaves: usize, done: &mut dyn FnMut(G::Outcome)) -> bool {
    loop {
        slot.pending = slot.game.solo().gather(leaves);
        if slot.pending > 0 {
            return true;
        }
        match slot.game.advance() {
            Next::Search(evaluator) => slot.evaluator = evaluator,
            Next::Over(outcome) => {
                done(outcome);
                return false;
            }
        }
    }
}

/// Evaluates the positions of the games that wait for evaluator `number`; returns how many there were.
fn answer<G: BatchedGame>(
    evaluator: &mut Box<dyn Evaluator>,
    number: usize,
    slots: &mut [Slot<G>],
) -> Result<usize, EvalError> {
    let waiting = slots.iter().filter(|slot| slot.evaluator == number);
    let requests: Vec<Request<'_>> = waiting.flat_map(|slot| slot.game.search().requests()).collect();
    let mut answers: Vec<Answer> = Vec::with_capacity(requests.len());
    for batch in requests.chunks(evaluator.max_batch().max(1)) {
        let answered = evaluator.evaluate(batch)?;
        check_answers(batch, &answered)?;
        answers.extend(answered);
    }
    let mut left = answers.as_slice();
    for slot in slots.iter_mut().filter(|slot| slot.evaluator == number) {
        let (own, others) = left.split_at(slot.pending);
        slot.game.solo().answer(own);
        left = others;
    }
    Ok(answers.len())
}
