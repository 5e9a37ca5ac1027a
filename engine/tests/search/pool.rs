use std::sync::mpsc;

use engine::chess::position::Game;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, Uniform};
use engine::nets::sparse::SparseNetwork;
use engine::search::{
    EndReason, Limits, Params, Pool, SearchControl, SearchObserver, SearchOutcome, SearchView,
};

use super::support::*;

#[test]
fn the_limit_of_visits_is_exact() {
    for workers in [1, 2, 3] {
        for limit in [1, 2, 7, 100, 1001] {
            let outcome = search(uniform(workers), &Game::new(), visits(limit));
            assert_eq!(outcome.report.visits, limit, "{workers} workers");
            assert_eq!(outcome.end_reason, EndReason::Limit);
        }
    }
}

#[test]
fn a_limit_of_no_visits_still_gives_a_move() {
    let outcome = search(uniform(2), &Game::new(), visits(0));
    assert_eq!(outcome.report.lines[0].pv.len(), 1);
}

#[test]
fn one_worker_is_reproducible() {
    let run = || search(uniform(1), &Game::new(), visits(3_000)).report;
    assert_eq!(run(), run());
}

#[test]
fn without_a_legal_move_there_is_no_line() {
    let game = Game::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1").unwrap();
    let outcome = search(uniform(2), &game, Limits::default());
    assert!(outcome.report.lines.is_empty());
    assert_eq!(outcome.end_reason, EndReason::Exhausted);
}

#[test]
fn only_the_root_moves_asked_for_are_searched() {
    let game = Game::new();
    let moves = ["a2a3", "h2h4"].map(|m| game.parse_uci(m).unwrap());
    let limits = Limits { root_moves: moves.to_vec(), ..visits(200) };
    let report = search(uniform(1), &game, limits).report;
    assert_eq!(report.lines.len(), 2);
    assert!(report.lines.iter().all(|line| moves.contains(&line.pv[0])));
    assert_eq!(report.lines.iter().map(|line| line.visits).sum::<u64>(), 199, "all but the root's own");
}

#[test]
fn a_depth_limit_ends_the_search() {
    let limits = Limits { depth: Some(3), ..Limits::default() };
    let outcome = search(uniform(2), &Game::new(), limits);
    assert_eq!((outcome.end_reason, outcome.report.depth), (EndReason::Limit, 3));
}

/// Answers `good` batches like [`Uniform`], then fails or panics.
struct Failing {
    good: usize,
    panics: bool,
}

impl Evaluator for Failing {
    fn max_batch(&self) -> usize {
        8
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        if self.good == 0 {
            assert!(!self.panics, "panic requested");
            return Err(EvalError("failure requested".into()));
        }
        self.good -= 1;
        Uniform.evaluate(batch)
    }
}

#[test]
fn a_failing_evaluator_ends_in_a_message_and_a_legal_move() {
    // Debug builds of the pool assert that nothing is in flight before they report.
    for panics in [false, true] {
        for good in [0, 1, 5] {
            let evaluators: Vec<Box<dyn Evaluator>> =
                vec![Box::new(Failing { good, panics }), Box::new(Failing { good: good + 3, panics })];
            let outcome = search(evaluators, &Game::new(), Limits::default());
            assert_eq!(outcome.end_reason, EndReason::Failed);
            assert!(outcome.error.is_some_and(|error| error.contains(if panics {
                "panicked"
            } else {
                "failure requested"
            })));
            assert!(Game::new().legal_moves().contains(&outcome.report.lines[0].pv[0]));
        }
    }
}

struct Panicking(mpsc::Sender<SearchOutcome>);

impl SearchObserver for Panicking {
    fn round(&mut self, _view: &dyn SearchView) -> SearchControl {
        panic!("panic requested");
    }

    fn done(&mut self, outcome: SearchOutcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

#[test]
fn a_worker_that_panics_still_ends_the_search() {
    let mut pool = Pool::new(uniform(2), Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(Game::new(), Limits::default(), Box::new(Panicking(sender)));
    let outcome = receiver.recv().expect("an outcome");
    assert_eq!((outcome.end_reason, outcome.error.is_some()), (EndReason::Failed, true));
    assert!(!outcome.report.lines.is_empty());
    pool.wait();
}

struct OutcomeSender(mpsc::Sender<SearchOutcome>);

impl SearchObserver for OutcomeSender {
    fn round(&mut self, _view: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

/// Asks again and again for the order of the root's moves.
struct Ranking(mpsc::Sender<SearchOutcome>);

impl SearchObserver for Ranking {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        (0..30).for_each(|_| assert!(view.best().is_some()));
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        self.0.send(outcome).expect("the test waits");
    }
}

#[test]
fn moves_are_ranked_while_workers_change_their_statistics() {
    // 218 moves with equal priors: their order changes with nearly every visit.
    let game = Game::from_fen("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1").unwrap();
    let mut pool =
        Pool::new(uniform(4), Params { mates: false, solver: false, ..Params::default() }, 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(game, visits(400_000), Box::new(Ranking(sender)));
    let outcome = receiver.recv().expect("an outcome");
    assert_eq!((outcome.end_reason, outcome.error), (EndReason::Limit, None));
}

#[test]
fn dropping_a_pool_in_mid_search_ends_it() {
    let mut pool = Pool::new(uniform(2), Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    pool.start(Game::new(), Limits::default(), Box::new(OutcomeSender(sender)));
    drop(pool);
    assert_eq!(receiver.recv().expect("an outcome").end_reason, EndReason::Stopped);
}

#[test]
fn positions_with_more_moves_than_a_game_can_reach_are_searched_completely() {
    let game = Game::from_fen("kBQQQQQQ/BR5Q/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - -").expect("set up by hand");
    let moves = game.legal_moves().len();
    assert!(moves > 255, "{moves}");
    assert_eq!(search(uniform(1), &game, visits(1)).report.lines.len(), moves);
}

#[test]
fn a_search_driven_in_slices_finds_what_one_in_a_thread_finds() {
    let embedded = || -> Box<dyn Evaluator> { Box::new(SparseNetwork::embedded().evaluator()) };
    let uniform: fn() -> Box<dyn Evaluator> = || Box::new(Uniform);
    for (name, evaluator, params) in
        [("embedded", embedded as fn() -> _, Params::native()), ("uniform", uniform, Params::default())]
    {
        let mut threaded = Pool::new(vec![evaluator()], params.clone(), 64 << 20);
        let mut driven = Pool::driven(evaluator(), params, 64 << 20);
        for fen in [
            "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
            "8/8/8/8/3k4/8/3KP3/8 w - - 0 1",
        ] {
            let game = Game::from_fen(fen).unwrap();
            let (sender, receiver) = mpsc::channel();
            driven.start(game.clone(), visits(700), Box::new(OutcomeSender(sender)));
            let mut slices = 1;
            while driven.advance(&mut || true) {
                slices += 1;
            }
            assert!(slices > 10, "{name}: {slices}");
            let (outcome, expected) = (receiver.recv().unwrap(), threaded.search(&game, visits(700)));
            assert_eq!(outcome.report, expected.report, "{name}");
            assert_eq!(outcome.end_reason, expected.end_reason, "{name}");
        }
    }
}

#[test]
fn a_driven_search_that_is_stopped_replaced_or_dropped_delivers_its_outcome() {
    let mut pool = Pool::driven(Box::new(Uniform), Params::default(), 64 << 20);
    let (sender, receiver) = mpsc::channel();
    let start = |pool: &mut Pool| {
        pool.start(Game::new(), Limits::default(), Box::new(OutcomeSender(sender.clone())));
        assert!(pool.advance(&mut || true), "it has no end");
    };
    start(&mut pool);
    pool.stop();
    assert!(!pool.advance(&mut || true));
    start(&mut pool);
    start(&mut pool);
    drop(pool);
    let reasons: Vec<EndReason> = receiver.try_iter().map(|outcome| outcome.end_reason).collect();
    assert_eq!(reasons, [EndReason::Stopped; 3]);
}
