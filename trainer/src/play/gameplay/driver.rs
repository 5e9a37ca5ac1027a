use engine::nets::eval::{Answer, EvalError, Evaluator, Request};
use engine::search::{SteppedSearch, check_answers};

#[derive(Debug)]
pub enum Next<T> {
    /// The search needs this evaluator.
    Search(usize),
    /// `stop` ended a player's thinking, and no move was played.
    Stopped,
    Over(T),
}

/// Whether the caller wants an end.
pub type IsStopped<'a> = &'a (dyn Fn() -> bool + Sync);

pub trait BatchedGame {
    type Outcome;

    /// Plays the finished search's move and starts the next search, or ends the game. The first call only starts a
    /// search. Players that think without an evaluator end soon after `stop` is true.
    fn advance(&mut self, stop: IsStopped<'_>) -> Next<Self::Outcome>;

    fn solo(&mut self) -> &mut SteppedSearch;

    fn search(&self) -> &SteppedSearch;
}

struct Slot<G> {
    game: G,
    evaluator: usize,
    /// Positions collected but not yet evaluated.
    pending: usize,
}

/// Keeps `games` games running, with up to `leaves` positions per game and batch, and evaluates their positions in
/// shared batches. `done` receives every outcome, `evaluated` the positions of every round. Once `stop` is true, which is
/// asked before each round, the unfinished games are returned.
pub fn drive<G: BatchedGame>(
    evaluators: &mut [Box<dyn Evaluator>],
    (games, leaves): (usize, usize),
    deal: &mut dyn FnMut() -> Option<G>,
    done: &mut dyn FnMut(G::Outcome),
    evaluated: &mut dyn FnMut(usize),
    stop: IsStopped<'_>,
) -> Result<Vec<G>, EvalError> {
    let mut slots: Vec<Slot<G>> = Vec::with_capacity(games);
    'rounds: while !stop() {
        let mut index = 0;
        while index < games {
            if index == slots.len() {
                let Some(game) = deal() else { break };
                slots.push(Slot { game, evaluator: 0, pending: 0 });
            }
            match gather(&mut slots[index], leaves, done, stop) {
                Gathered::Positions => index += 1,
                Gathered::Over => _ = slots.remove(index),
                Gathered::Stopped => break 'rounds,
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

enum Gathered {
    Positions,
    Over,
    Stopped,
}

fn gather<G: BatchedGame>(
    slot: &mut Slot<G>,
    leaves: usize,
    done: &mut dyn FnMut(G::Outcome),
    stop: IsStopped<'_>,
) -> Gathered {
    loop {
        // Nothing before the game's first search.
        slot.pending = slot.game.solo().gather(leaves);
        if slot.pending > 0 {
            return Gathered::Positions;
        }
        match slot.game.advance(stop) {
            Next::Search(evaluator) => slot.evaluator = evaluator,
            Next::Stopped => return Gathered::Stopped,
            Next::Over(outcome) => {
                done(outcome);
                return Gathered::Over;
            }
        }
    }
}

/// Returns the number of positions.
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
