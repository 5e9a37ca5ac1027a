//! Draws by repetition: avoided when winning, sought when losing, and no proof.

use engine::chess::position::Game;
use engine::nets::eval::{Answer, EvalError, Evaluator, Request};
use engine::search::{Params, Pool, Report, Score};

use super::support::*;

const ROOK_AHEAD: &str = "7k/8/8/8/8/8/R7/K7 w - - 0 1";

fn best(game: &Game, params: Params) -> String {
    let report = search_with(params, vec![Box::new(WhiteWins)], game, visits(600)).report;
    Game::uci(report.lines[0].pv[0], false)
}

#[test]
fn the_winning_side_avoids_a_threefold_and_the_losing_side_seeks_it() {
    for transpositions in [true, false] {
        let params = Params { transpositions, ..Params::default() };
        // The first position has occurred twice; after b2a2 Black can repeat it.
        let to_avoid = "a2b2 h8g8 b2a2 g8h8 a2b2 h8g8";
        assert_ne!(best(&played(Some(ROOK_AHEAD), to_avoid), params.clone()), "b2a2");
        let to_seek = format!("{to_avoid} b2a2");
        assert_eq!(best(&played(Some(ROOK_AHEAD), &to_seek), params), "g8h8");
    }
}

/// A draw by repetition depends on the path.
#[test]
fn a_repetition_is_a_value_and_no_proof() {
    let game = played(Some(ROOK_AHEAD), "a2b2 h8g8 b2a2 g8h8 a2b2 h8g8 b2a2");
    let outcome = search(vec![Box::new(WhiteWins)], &game, visits(600));
    let line = &outcome.report.lines[0];
    assert_eq!(line.score, Score::Cp(0), "{line:?}");
    assert_eq!(outcome.report.visits, 600, "nothing was proven, so the search continued");
}

#[test]
fn the_second_occurrence_is_a_draw_if_the_option_is_on() {
    let evaluations = |twofold_draws| {
        let params = Params { twofold_draws, transpositions: false, ..Params::default() };
        let game = Game::from_fen(ROOK_AHEAD).unwrap();
        search_with(params, vec![Box::new(WhiteWins)], &game, visits(3_000)).report.counters.evaluations
    };
    let (with, without) = (evaluations(true), evaluations(false));
    assert!(with < without, "draws need no evaluation: {with}, {without}");
}

/// An occurrence between the old and the new root no longer makes a repetition.
#[test]
fn repetitions_before_a_new_root_are_taken_back() {
    let evaluator: Box<dyn Evaluator> = Box::new(WhiteWins);
    let mut pool = Pool::new(vec![evaluator], Params::default(), 64 << 20);
    let before = played(Some(ROOK_AHEAD), "");
    search_by(&mut pool, &before, visits(5_000));
    // Rook and king can move back: the old root is among the positions that would repeat.
    let after = played(Some(ROOK_AHEAD), "a2b2 h8g8");
    let report = search_by(&mut pool, &after, visits(3_000)).report;
    assert!(report.lines.iter().map(|line| line.visits).sum::<u64>() > 3_000, "the tree was kept");
    let line = report.lines.iter().find(|line| Game::uci(line.pv[0], false) == "b2a2").expect("a root move");
    assert!(line.wdl.win > 0.5, "b2a2 g8h8 has occurred only once before: {line:?}");
}

/// Prefers a line that repeats after four plies and then continues; White is better everywhere.
struct Repeater;

impl Evaluator for Repeater {
    fn max_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let mut answers = WhiteWins.evaluate(batch)?;
        for (answer, request) in answers.iter_mut().zip(batch) {
            let line = ["a2b2", "h8g8", "b2a2", "g8h8", "a2a3"];
            let wanted = line.get(request.game.ply());
            for (prior, m) in answer.priors.iter_mut().zip(request.moves) {
                *prior = if wanted == Some(&Game::uci(*m, false).as_str()) { 0.9 } else { 0.001 };
            }
        }
        Ok(answers)
    }
}

#[test]
fn draws_that_are_taken_back_leave_the_sums() {
    // Unvisited moves stay unvisited, so that all visits follow the line.
    let params = Params { fpu: 5.0, mates: false, progress: 0.0, ..plain() };
    let mut pool = Pool::new(vec![Box::new(Repeater)], params, 16 << 20);
    let draw = |report: &Report, m: &str| {
        let line = report.lines.iter().find(|line| Game::uci(line.pv[0], false) == m).expect("a root move");
        (line.visits, line.wdl.draw)
    };
    let first = search_by(&mut pool, &played(Some(ROOK_AHEAD), ""), visits(100)).report;
    let (visited, drawn) = draw(&first, "a2b2");
    assert!(visited == 99 && drawn > 0.9, "{visited} visits, most of them repetitions: {drawn}");
    // Now the first occurrence is before the root: no repetition, and every other value has a draw probability of 0.1.
    let then = search_by(&mut pool, &played(Some(ROOK_AHEAD), "a2b2 h8g8"), visits(4)).report;
    let (visited, drawn) = draw(&then, "b2a2");
    assert!(visited > 90, "{visited}");
    near(drawn, 0.1);
}
