use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use engine::apps::bench::{HashedEvaluator, POSITIONS};
use engine::chess::position::Game;
use engine::chess::tables::Tables;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Uniform};
use engine::nets::sparse::SparseNetwork;
use engine::search::{
    EndReason, Limits, MultiPool, Params, Score, SearchControl, SearchObserver, SearchOutcome, SearchTask,
    SearchView,
};

use super::support::*;

/// Far longer than any wait on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Numbered(usize, Sender<(usize, SearchOutcome)>);

impl SearchObserver for Numbered {
    fn round(&mut self, _view: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        self.1.send((self.0, outcome)).expect("the test waits");
    }
}

fn task(fen: &str, limits: Limits, priority: i64) -> SearchTask {
    let root = Game::from_fen(fen).expect("a FEN");
    SearchTask { root, limits, params: Params::default(), priority, memory: 2 << 20 }
}

fn hashed(workers: usize) -> Vec<Box<dyn Evaluator>> {
    (0..workers).map(|_| Box::new(HashedEvaluator) as Box<dyn Evaluator>).collect()
}

/// Debug builds also check that nothing is in flight when an outcome is delivered.
fn all_limits_are_exact(pool: &MultiPool, searches: usize, memory: usize) {
    let (sender, outcomes) = channel();
    let limit = |number: usize| [1, 2, 7, 100, 501][number % 5];
    for number in 0..searches {
        let fen = POSITIONS[number % 8];
        let task = SearchTask { memory, ..task(fen, visits(limit(number)), 0) };
        pool.start(task, Box::new(Numbered(number, sender.clone())));
    }
    for _ in 0..searches {
        let (number, outcome) = outcomes.recv_timeout(PATIENCE).expect("an outcome");
        let (visits, reason) = (outcome.report.visits, outcome.end_reason);
        // Some of the positions have forced mates.
        let is_complete = (visits, reason) == (limit(number), EndReason::Limit);
        assert!(
            is_complete || reason == EndReason::Exhausted,
            "search {number}: {visits} visits, {reason:?}"
        );
    }
}

#[test]
fn the_limits_of_visits_are_exact() {
    for (workers, batch) in [(1, 1), (1, 32), (2, 8), (3, 32), (5, 3)] {
        let pool = MultiPool::new(hashed(workers), Tables::default(), batch);
        all_limits_are_exact(&pool, 40, 2 << 20);
        all_limits_are_exact(&pool, 1, 2 << 20);
    }
}

#[test]
fn trees_that_fill_their_memory_are_recycled_by_several_workers() {
    let pool = MultiPool::new(hashed(3), Tables::default(), 8);
    all_limits_are_exact(&pool, 40, 0);
}

#[test]
fn the_limits_are_exact_one_leaf_at_a_time() {
    let network = SparseNetwork::embedded();
    let evaluators = (0..2).map(|_| Box::new(network.evaluator()) as Box<dyn Evaluator>).collect();
    let pool = MultiPool::new(evaluators, Tables::default(), 8);
    all_limits_are_exact(&pool, 40, 2 << 20);
}

struct Counting(Arc<Mutex<Vec<usize>>>);

impl Evaluator for Counting {
    fn max_batch(&self) -> usize {
        256
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.0.lock().unwrap().push(batch.len());
        HashedEvaluator.evaluate(batch)
    }
}

/// Returns the sizes of one worker's batches with `searches` searches of 100 visits.
fn batches(searches: usize) -> Vec<usize> {
    let sizes = Arc::<Mutex<Vec<usize>>>::default();
    let pool = MultiPool::new(vec![Box::new(Counting(Arc::clone(&sizes)))], Tables::default(), 32);
    let (sender, outcomes) = channel();
    // Its higher priority makes the others wait until all have arrived.
    let gate = pool.start(task(POSITIONS[0], Limits::default(), 1), Box::new(Numbered(0, sender.clone())));
    for number in 0..searches {
        let task = task(POSITIONS[8], visits(100), 0);
        pool.start(task, Box::new(Numbered(number, sender.clone())));
    }
    pool.stop(gate);
    outcomes.iter().take(1).for_each(drop);
    sizes.lock().unwrap().clear();
    outcomes.iter().take(searches).for_each(drop);
    let sizes = sizes.lock().unwrap();
    sizes.clone()
}

#[test]
fn batches_are_filled_across_searches_and_one_search_adds_few() {
    let mean = |sizes: &[usize]| sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
    let together = batches(32);
    assert!(mean(&together) > 24.0 && together.iter().all(|size| *size <= 32), "{together:?}");
    let alone = batches(1);
    assert!(alone.iter().all(|size| *size <= Params::default().batch), "{alone:?}");
}

/// Answers only while another worker is evaluating too.
struct Meeting(Arc<(Mutex<usize>, Condvar)>);

impl Evaluator for Meeting {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        // Only one worker evaluates the root.
        if batch.iter().any(|request| request.game.ply() > 0) {
            let (arrived, changed) = &*self.0;
            let mut count = arrived.lock().unwrap();
            *count += 1;
            changed.notify_all();
            let (count, _) = changed.wait_timeout_while(count, PATIENCE, |count| *count < 2).unwrap();
            assert!(*count >= 2, "a second worker comes");
        }
        Uniform.evaluate(batch)
    }
}

#[test]
fn all_workers_work_on_a_search_that_is_alone() {
    let meeting = Arc::default();
    let evaluators = (0..2).map(|_| Box::new(Meeting(Arc::clone(&meeting))) as Box<dyn Evaluator>);
    let pool = MultiPool::new(evaluators.collect(), Tables::default(), 8);
    let (sender, outcomes) = channel();
    pool.start(task(POSITIONS[0], visits(50), 0), Box::new(Numbered(0, sender)));
    let (_, outcome) = outcomes.recv_timeout(PATIENCE).expect("an outcome");
    assert_eq!((outcome.end_reason, outcome.report.visits), (EndReason::Limit, 50), "{:?}", outcome.error);
}

/// Returns the searches' numbers in the order in which they ended.
fn order(outcomes: &Receiver<(usize, SearchOutcome)>, count: usize) -> Vec<usize> {
    (0..count).map(|_| outcomes.recv_timeout(PATIENCE).expect("an outcome").0).collect()
}

#[test]
fn searches_of_a_higher_priority_end_first_and_a_lower_one_waits() {
    for workers in [1, 2] {
        let pool = MultiPool::new(hashed(workers), Tables::default(), 8);
        let (sender, outcomes) = channel();
        let endless = |priority, number| {
            let task = task(POSITIONS[0], Limits::default(), priority);
            pool.start(task, Box::new(Numbered(number, sender.clone())))
        };
        let (lowest, highest) = (endless(-1, 0), endless(9, 1));
        for (number, priority) in [(2, 3), (3, 5), (4, 4)] {
            let task = task(POSITIONS[8], visits(200), priority);
            pool.start(task, Box::new(Numbered(number, sender.clone())));
        }
        assert!(outcomes.try_recv().is_err(), "all wait for the highest");
        pool.stop(highest);
        let mut ended = order(&outcomes, 4);
        if workers > 1 {
            // A worker may still be in a round of a search when the other has finished the next one.
            ended.sort_by_key(|number| [1, 3, 4, 2].iter().position(|ended| ended == number));
        }
        assert_eq!(ended, [1, 3, 4, 2]);
        assert!(outcomes.try_recv().is_err(), "the lowest is the last");
        pool.stop(lowest);
        assert_eq!(order(&outcomes, 1), [0]);
    }
}

#[test]
fn what_has_nothing_to_search_ends_at_once() {
    let pool = MultiPool::new(hashed(1), Tables::default(), 8);
    let (sender, outcomes) = channel();
    let mated = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1";
    for (fen, limits) in [(mated, Limits::default()), (POSITIONS[0], visits(0))] {
        pool.start(task(fen, limits, 0), Box::new(Numbered(0, sender.clone())));
        assert_eq!(outcomes.try_recv().expect("an outcome").1.report.visits, 0);
    }
}

#[test]
fn a_forced_mate_beyond_the_visits_is_found() {
    // A mate in two, the second of the textbook's problems in `bench`.
    let pool = MultiPool::new(hashed(2), Tables::default(), 8);
    let (sender, outcomes) = channel();
    pool.start(
        task("8/5R2/2K1P3/4k3/8/b1PPpp1B/5p2/8 w - - 0 1", Limits::default(), 0),
        Box::new(Numbered(0, sender)),
    );
    let (_, outcome) = outcomes.recv_timeout(PATIENCE).expect("an outcome");
    assert_eq!(outcome.end_reason, EndReason::Exhausted);
    assert!(matches!(outcome.report.lines[0].score, Score::Mate(moves) if moves > 0));
}

#[test]
fn dropping_the_pool_delivers_every_outcome() {
    let pool = MultiPool::new(hashed(2), Tables::default(), 8);
    let (sender, outcomes) = channel();
    for (number, fen) in POSITIONS.iter().enumerate() {
        let task = task(fen, Limits::default(), number as i64 % 3);
        pool.start(task, Box::new(Numbered(number, sender.clone())));
    }
    drop((pool, sender));
    assert_eq!(outcomes.iter().count(), POSITIONS.len());
}

/// Fails or panics for a position with Black to move.
struct FailsForBlack {
    panics: bool,
}

impl Evaluator for FailsForBlack {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let is_black = batch.iter().any(|request| request.game.turn().is_black());
        assert!(!(is_black && self.panics), "panic requested");
        if is_black { Err(EvalError("failure requested".into())) } else { Uniform.evaluate(batch) }
    }
}

#[test]
fn a_failing_evaluator_ends_its_searches_and_no_others() {
    for panics in [false, true] {
        let pool = MultiPool::new(vec![Box::new(FailsForBlack { panics })], Tables::default(), 8);
        let (sender, outcomes) = channel();
        let run = |limit| {
            pool.start(task(POSITIONS[0], visits(limit), 0), Box::new(Numbered(0, sender.clone())));
            outcomes.recv_timeout(PATIENCE).expect("an outcome").1
        };
        let failed = run(100);
        assert_eq!((failed.end_reason, failed.report.visits), (EndReason::Failed, 1));
        assert!(failed.error.is_some_and(|error| error.contains(if panics {
            "panicked"
        } else {
            "requested"
        })));
        assert_eq!(run(1).end_reason, EndReason::Limit, "the worker goes on");
    }
}

struct PanickingObserver(Sender<SearchOutcome>);

impl SearchObserver for PanickingObserver {
    fn round(&mut self, _view: &dyn SearchView) -> SearchControl {
        panic!("panic requested");
    }

    fn done(&mut self, outcome: SearchOutcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

#[test]
fn a_worker_that_panics_still_ends_the_search_and_goes_on() {
    let pool = MultiPool::new(hashed(1), Tables::default(), 8);
    let (sender, outcomes) = channel();
    pool.start(task(POSITIONS[0], Limits::default(), 0), Box::new(PanickingObserver(sender)));
    let outcome = outcomes.recv_timeout(PATIENCE).expect("an outcome");
    assert_eq!((outcome.end_reason, outcome.error.is_some()), (EndReason::Failed, true));
    all_limits_are_exact(&pool, 5, 2 << 20);
}
