//! Draws by repetition: shunned when winning, sought when losing, and proving nothing elsewhere.

use engine::eval::Evaluator;
use engine::position::Game;
use engine::search::{Params, Pool, Score};

use super::hand::*;

const ROOK_AHEAD: &str = "7k/8/8/8/8/8/R7/K7 w - - 0 1";

fn best(game: &Game, params: Params) -> String {
    let report = search_with(params, vec![Box::new(WhiteWins)], game, visits(600)).report;
    Game::uci(report.lines[0].pv[0], false)
}

#[test]
fn the_winning_side_shuns_a_threefold_and_the_losing_side_seeks_it() {
    for transpositions in [true, false] {
        let params = Params { transpositions, ..Params::default() };
        // The first position has stood twice; after b2a2 Black can bring it about again.
        let to_shun = "a2b2 h8g8 b2a2 g8h8 a2b2 h8g8";
        assert_ne!(best(&played(Some(ROOK_AHEAD), to_shun), params.clone()), "b2a2");
        let to_seek = format!("{to_shun} b2a2");
        assert_eq!(best(&played(Some(ROOK_AHEAD), &to_seek), params), "g8h8");
    }
}

/// A draw by repetition, right where it is reached, proves nothing about the position as such.
#[test]
fn a_repetition_is_a_value_and_no_proof() {
    let game = played(Some(ROOK_AHEAD), "a2b2 h8g8 b2a2 g8h8 a2b2 h8g8 b2a2");
    let outcome = search(vec![Box::new(WhiteWins)], &game, visits(600));
    let line = &outcome.report.lines[0];
    assert_eq!(line.score, Score::Cp(0), "{line:?}");
    assert_eq!(outcome.report.visits, 600, "nothing was proven, so the search went on");
}

#[test]
fn the_second_time_counts_as_a_draw_if_it_is_told_to() {
    let evaluations = |twofold_draws| {
        let params = Params { twofold_draws, transpositions: false, ..Params::default() };
        let game = Game::from_fen(ROOK_AHEAD).unwrap();
        search_with(params, vec![Box::new(WhiteWins)], &game, visits(3_000)).report.counters.evaluations
    };
    let (with, without) = (evaluations(true), evaluations(false));
    assert!(with < without, "draws need no evaluation: {with}, {without}");
}

/// A position that stood between the old root and the new one has not been repeated within the search.
#[test]
fn a_root_that_moves_on_takes_repetitions_back() {
    let evaluator: Box<dyn Evaluator> = Box::new(WhiteWins);
    let mut pool = Pool::new(vec![evaluator], Params::default(), 64 << 20);
    let before = played(Some(ROOK_AHEAD), "");
    go(&mut pool, &before, visits(5_000));
    // The rook goes to and fro, the king likewise: the old root is one of the positions that would repeat.
    let after = played(Some(ROOK_AHEAD), "a2b2 h8g8");
    let report = go(&mut pool, &after, visits(3_000)).report;
    assert!(report.lines.iter().map(|line| line.visits).sum::<u64>() > 3_000, "the tree was kept");
    let line = report.lines.iter().find(|line| Game::uci(line.pv[0], false) == "b2a2").expect("a root move");
    assert!(line.wdl.win > 0.5, "b2a2 g8h8 has stood only once before: {line:?}");
}
