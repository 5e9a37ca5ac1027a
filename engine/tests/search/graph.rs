//! Transpositions: found, exact, and possible to turn off.

use std::collections::HashSet;

use engine::chess::position::Game;
use engine::search::{EndReason, Params, Score};

use super::support::*;

#[test]
fn no_position_is_evaluated_twice() {
    for (transpositions, workers) in [(true, 1), (true, 2), (false, 1)] {
        let asked = RecordingEvaluator::default();
        let evaluators = (0..workers).map(|_| Box::new(asked.clone()) as _).collect();
        let params = Params { transpositions, ..Params::default() };
        let report = search_with(params, evaluators, &Game::new(), visits(5_000)).report;
        let asked = asked.0.lock().unwrap();
        let different: HashSet<u64> = asked.iter().map(|(key, _)| *key).collect();
        assert_eq!(different.len() == asked.len(), transpositions, "{} of {}", different.len(), asked.len());
        assert_eq!(report.counters.transpositions > 0, transpositions);
        assert_eq!(report.counters.evaluations, asked.len() as u64);
    }
}

#[test]
fn shared_nodes_have_the_same_board_and_counter() {
    let asked = RecordingEvaluator::default();
    search(vec![Box::new(asked.clone())], &Game::new(), visits(3_000));
    let asked = asked.0.lock().unwrap();
    let mut boards: Vec<(String, u64)> = asked
        .iter()
        .map(|(key, fen)| {
            // Without the move number, which has no influence.
            (fen.rsplit_once(' ').unwrap().0.to_owned(), *key)
        })
        .collect();
    boards.sort();
    boards.dedup_by(|a, b| a.1 == b.1 && a.0 == b.0);
    let keys: HashSet<u64> = boards.iter().map(|(_, key)| *key).collect();
    assert_eq!(keys.len(), boards.len(), "one key, two boards");
}

/// Three plies before the fifty-move rule applies, a rook ahead is a draw whatever the evaluator answers; forty plies
/// before it is not.
#[test]
fn transpositions_respect_the_fifty_move_counter() {
    for (clock, drawn) in [(97, true), (60, false)] {
        let game = Game::from_fen(&format!("7k/8/8/8/8/8/R7/K7 w - - {clock} 90")).unwrap();
        let outcome = search(vec![Box::new(WhiteWins)], &game, visits(20_000));
        assert_eq!(outcome.end_reason == EndReason::Exhausted, drawn, "clock {clock}");
        assert_eq!(outcome.report.lines[0].score == Score::Cp(0), drawn, "clock {clock}");
    }
}
