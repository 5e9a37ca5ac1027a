//! Many games at once on one thread, their positions evaluated together.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::eval::{Answer, EvalError, Evaluator, Request};
use engine::search::{Solo, check_answers};

/// What a game waits for.
#[derive(Debug)]
pub enum Next<T> {
    /// Its search wants to be answered, by the evaluator of this number.
    Search(usize),
    /// It is over.
    Over(T),
}

/// A game in progress that is driven from outside.
pub trait Sitting {
    /// What comes of it.
    type Outcome;

    /// Called in the beginning and whenever the search has ended: plays a move and starts the next search, or ends.
    fn advance(&mut self) -> Next<Self::Outcome>;

    /// The search that is under way.
    fn solo(&mut self) -> &mut Solo;

    /// The same, to look at.
    fn search(&self) -> &Solo;
}

/// A game with the evaluator it waits for.
struct Place<S> {
    sitting: S,
    evaluator: usize,
    open: usize,
}

/// Plays games until `deal` has no more, or `stop` is raised: then those that aren't over are given back.
///
/// `games` are played at once, each of which gives up to `leaves` positions to every batch. `done` is told of every
/// outcome; `evaluated` of every number of positions that were evaluated.
///
/// # Errors
///
/// If an evaluator fails.
pub fn drive<S: Sitting>(
    evaluators: &mut [Box<dyn Evaluator>],
    (games, leaves): (usize, usize),
    deal: &mut dyn FnMut() -> Option<S>,
    done: &mut dyn FnMut(S::Outcome),
    evaluated: &mut dyn FnMut(usize),
    stop: &AtomicBool,
) -> Result<Vec<S>, EvalError> {
    let mut places: Vec<Place<S>> = Vec::with_capacity(games);
    while !stop.load(Ordering::Relaxed) {
        let mut index = 0;
        while index < games {
            if index == places.len() {
                let Some(sitting) = deal() else { break };
                let Some(place) = begun(sitting, done) else { continue };
                places.push(place);
            }
            if gathered(&mut places[index], leaves, done) {
                index += 1;
            } else {
                places.remove(index);
            }
        }
        if places.is_empty() {
            break;
        }
        for (number, evaluator) in evaluators.iter_mut().enumerate() {
            evaluated(answer(evaluator, number, &mut places)?);
        }
    }
    Ok(places.into_iter().map(|place| place.sitting).collect())
}

/// A game's place, unless it is over before it begins.
fn begun<S: Sitting>(mut sitting: S, done: &mut dyn FnMut(S::Outcome)) -> Option<Place<S>> {
    match sitting.advance() {
        Next::Search(evaluator) => Some(Place { sitting, evaluator, open: 0 }),
        Next::Over(outcome) => {
            done(outcome);
            None
        }
    }
}

/// Gathers a game's positions, playing moves where a search ends; no if the game is over.
fn gathered<S: Sitting>(place: &mut Place<S>, leaves: usize, done: &mut dyn FnMut(S::Outcome)) -> bool {
    loop {
        place.open = place.sitting.solo().gather(leaves);
        if place.open > 0 {
            return true;
        }
        match place.sitting.advance() {
            Next::Search(evaluator) => place.evaluator = evaluator,
            Next::Over(outcome) => {
                done(outcome);
                return false;
            }
        }
    }
}

/// Has evaluator `number` answer the games that wait for it.
fn answer<S: Sitting>(
    evaluator: &mut Box<dyn Evaluator>,
    number: usize,
    places: &mut [Place<S>],
) -> Result<usize, EvalError> {
    let waiting = places.iter().filter(|place| place.evaluator == number);
    let requests: Vec<Request<'_>> = waiting.flat_map(|place| place.sitting.search().requests()).collect();
    let mut answers: Vec<Answer> = Vec::with_capacity(requests.len());
    for batch in requests.chunks(evaluator.max_batch().max(1)) {
        let some = evaluator.evaluate(batch)?;
        check_answers(batch, &some)?;
        answers.extend(some);
    }
    let mut left = answers.as_slice();
    for place in places.iter_mut().filter(|place| place.evaluator == number) {
        let (own, others) = left.split_at(place.open);
        place.sitting.solo().answer(own);
        left = others;
    }
    Ok(answers.len())
}
