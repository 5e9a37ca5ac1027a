use engine::chess::position::Game;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request, SplitEvaluator, Wdl};
use engine::search::{EndReason, Limits, Params, Pool, Score};
use shakmaty::Move;

use super::support::*;

/// Answers as [`HashedEvaluator`], with separate value and policy, and counts the calls.
#[derive(Default)]
struct Split {
    values: u64,
    policies: u64,
}

impl Split {
    fn answer(game: &Game, moves: &[Move]) -> Answer {
        HashedEvaluator.evaluate(&[Request { game, moves }]).unwrap().remove(0)
    }
}

impl Evaluator for Split {
    fn max_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, _: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        panic!("it is asked question by question")
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        Some(self)
    }
}

impl SplitEvaluator for Split {
    fn value(&mut self, game: &Game) -> Wdl {
        self.values += 1;
        Split::answer(game, &game.legal_moves()).wdl
    }

    fn policy(&mut self, game: &Game, moves: &[Move], temperature: f32, priors: &mut [f32]) {
        self.policies += 1;
        let answer = Split::answer(game, moves);
        for (prior, found) in priors.iter_mut().zip(answer.priors) {
            *prior = found.powf(1.0 / temperature);
        }
        let total: f32 = priors.iter().sum();
        priors.iter_mut().for_each(|prior| *prior /= total);
    }
}

/// Reports its counts when the pool drops it.
struct Reporting(Split, std::sync::mpsc::Sender<(u64, u64)>);

impl Drop for Reporting {
    fn drop(&mut self) {
        self.1.send((self.0.values, self.0.policies)).unwrap();
    }
}

impl Evaluator for Reporting {
    fn max_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.0.evaluate(batch)
    }

    fn split(&mut self) -> Option<&mut dyn SplitEvaluator> {
        self.0.split()
    }
}

pub fn split(workers: usize) -> Vec<Box<dyn Evaluator>> {
    (0..workers).map(|_| Box::new(Split::default()) as Box<dyn Evaluator>).collect()
}

#[test]
fn the_limit_of_visits_is_exact_for_any_number_of_workers() {
    for workers in [1, 2, 4] {
        for limit in [1, 2, 33, 100, 5_001] {
            let outcome = search(split(workers), &Game::new(), visits(limit));
            assert_eq!((outcome.report.visits, outcome.end_reason), (limit, EndReason::Limit));
            let below: u64 = outcome.stats.iter().map(|stats| stats.visits).sum();
            assert_eq!(below, limit - 1, "{workers} workers, all but the root's own");
        }
    }
}

#[test]
fn one_worker_is_reproducible() {
    let run = || search(split(1), &Game::new(), visits(20_000)).report;
    assert_eq!(run(), run());
}

/// Far fewer policies than values are asked for, and none twice.
#[test]
fn the_policy_is_asked_for_at_the_second_visit() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let reporting = Box::new(Reporting(Split::default(), sender));
    let report = search(vec![reporting], &Game::new(), visits(10_000)).report;
    let (values, policies) = receiver.recv().unwrap();
    assert_eq!(values, report.counters.evaluations);
    assert!(policies > 100 && policies < values / 2, "{policies} policies, {values} values");
}

#[test]
fn one_visit_has_the_policy() {
    let outcome = search(split(1), &Game::new(), visits(1));
    assert_eq!(outcome.stats.len(), 20);
    assert!((outcome.stats.iter().map(|stats| stats.prior).sum::<f32>() - 1.0).abs() < 1e-2);
}

#[test]
fn mates_are_proven_by_any_number_of_workers() {
    for (fen, best, mate) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", 1),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", 2),
    ] {
        for workers in [1, 4] {
            let outcome = search(split(workers), &Game::from_fen(fen).unwrap(), visits(100_000));
            let line = &outcome.report.lines[0];
            assert_eq!((Game::uci(line.pv[0], false).as_str(), line.score), (best, Score::Mate(mate)));
            assert_eq!(outcome.end_reason, EndReason::Exhausted);
        }
    }
}

/// Four workers with nearly full memory; the pool checks the tree's invariant at the end.
#[test]
fn workers_share_a_tree_that_is_full() {
    let mut pool = Pool::new(split(4), Params::default(), 1 << 20);
    let mut game = Game::new();
    for _ in 0..4 {
        let outcome = search_by(&mut pool, &game, visits(40_000));
        assert_eq!((outcome.report.visits, outcome.end_reason), (40_000, EndReason::Limit));
        assert!(outcome.report.hashfull > 400, "{}", outcome.report.hashfull);
        game.play(outcome.report.lines[0].pv[0]);
    }
}

#[test]
fn a_search_of_some_moves_keeps_to_them() {
    let game = Game::new();
    let moves = ["a2a3", "h2h4"].map(|m| game.parse_uci(m).unwrap());
    let limits = Limits { root_moves: moves.to_vec(), ..visits(500) };
    let report = search(split(2), &game, limits).report;
    assert_eq!(report.lines.len(), 2);
    assert!(report.lines.iter().all(|line| moves.contains(&line.pv[0])));
}
