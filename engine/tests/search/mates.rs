//! Forced mates, found by the mate search beside the visits.

use engine::chess::position::Game;
use engine::nets::eval::Evaluator;
use engine::nets::sparse::SparseNetwork;
use engine::search::{EndReason, Limits, Params, Report, Score};
use shakmaty::Position;

use super::solver::sample_of_mates;
use super::split::split;
use super::support::*;

/// The evaluator knows no chess.
#[test]
fn mates_are_reported_with_a_line_that_ends_in_mate() {
    for (game, moves) in sample_of_mates(1..=3) {
        let fen = game.fen();
        let outcome = search(split(1), &game, visits(90_000));
        let line = &outcome.report.lines[0];
        let Score::Mate(found) = line.score else { panic!("{fen}: {:?}", line.score) };
        assert!(found >= moves.into(), "{fen}: {found}");
        assert_eq!(outcome.end_reason, EndReason::Exhausted);
        let mut end = game.clone();
        line.pv.iter().for_each(|m| end.play(*m));
        assert!(end.legal_moves().is_empty(), "{fen}: the line ends with the mate");
    }
}

/// Nothing is proven without the solver, and a search of some moves is not ended by a mate with another.
#[test]
fn mates_end_only_searches_that_they_decide() {
    let game = Game::from_fen("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1").unwrap();
    let unproven = Params { solver: false, ..Params::default() };
    let report = search_with(unproven, split(1), &game, visits(2_000)).report;
    assert!(matches!(report.lines[0].score, Score::Cp(_)));
    // The tree alone does not prove this one so soon.
    let deep = Game::from_fen("8/8/8/8/8/6P1/6k1/4KR1R w K - 0 1").unwrap();
    let found = |mates| {
        let params = Params { mates, ..Params::default() };
        matches!(search_with(params, split(1), &deep, visits(6_000)).report.lines[0].score, Score::Mate(_))
    };
    assert_eq!((found(true), found(false)), (true, false));
    let moves = ["a1a2", "a1b1"].map(|m| game.parse_uci(m).unwrap()).to_vec();
    let limits = Limits { root_moves: moves.clone(), ..visits(3_000) };
    let outcome = search(split(1), &game, limits);
    assert!(moves.contains(&outcome.report.lines[0].pv[0]));
}

#[test]
fn batches_are_helped_too() {
    let game = Game::from_fen("8/8/8/8/8/6P1/6k1/4KR1R w K - 0 1").unwrap();
    let evaluator: Box<dyn Evaluator> = Box::new(engine::nets::eval::HashedEvaluator);
    let outcome = search(vec![evaluator], &game, visits(3_000));
    assert!(matches!(outcome.report.lines[0].score, Score::Mate(_)), "{:?}", outcome.report.lines[0]);
}

#[test]
fn a_wanted_mate_is_found_or_excluded() {
    let game = Game::from_fen("8/8/8/8/8/6P1/6k1/4KR1R w K - 0 1").unwrap();
    let wanted = |moves| Limits { mate: Some(moves), all_moves: true, ..visits(2_000) };
    let found = search(split(1), &game, wanted(3));
    assert_eq!((found.report.lines[0].score, found.end_reason), (Score::Mate(3), EndReason::Exhausted));
    let none = search(split(1), &game, wanted(2));
    assert!(matches!(none.report.lines[0].score, Score::Cp(_)) && none.end_reason == EndReason::Exhausted);
    assert!(none.report.visits < 2_000);
}

/// Requires that every mate score has a line of that length that ends in mate; returns their number.
fn mates_are_whole(fen: &str, report: &Report) -> usize {
    let mut mates = 0;
    for line in &report.lines {
        let Score::Mate(moves) = line.score else { continue };
        mates += 1;
        let plies = if moves > 0 { 2 * moves - 1 } else { -2 * moves };
        let mut end = Game::from_fen(fen).unwrap();
        line.pv.iter().for_each(|m| end.play(*m));
        assert!(end.position().is_checkmate(), "{fen}: {:?} by {:?}", line.score, line.pv);
        assert_eq!(line.pv.len() as i32, plies, "{fen}: {:?} by {:?}", line.score, line.pv);
    }
    mates
}

/// Parts of a proof that the tree lacks are searched again.
#[test]
fn a_proven_mate_has_its_whole_line() {
    for fen in ["8/8/8/1P2k2p/1K2q1p1/6PP/8/2r5 w - - 1 50", "1k6/1PP4R/8/4b3/1PK4p/5B1P/8/8 b - - 0 54"] {
        let game = Game::from_fen(fen).unwrap();
        for all_moves in [false, true] {
            let limits = Limits { all_moves, ..visits(8_000) };
            let evaluator: Box<dyn Evaluator> = Box::new(SparseNetwork::embedded().evaluator());
            let report = search_with(Params::native(), vec![evaluator], &game, limits).report;
            mates_are_whole(fen, &report);
            // A search of all moves has no mate search.
            let is_mated = matches!(report.lines[0].score, Score::Mate(..0));
            assert!(is_mated || all_moves, "{fen}: {:?}", report.lines[0]);
        }
    }
    // The mate search proves mates in four where the tree's moves alone prove mates in five.
    for fen in [
        "3rkq1r/1pQ2p1p/p3bPp1/3pR3/8/8/PPP2PP1/1K1R4 w - - 1 1",
        "4Nr1k/1bp2p1p/1r4p1/3P4/1p1q1P1Q/4R3/P5PP/4R2K w - - 1 1",
    ] {
        let evaluator: Box<dyn Evaluator> = Box::new(SparseNetwork::embedded().evaluator());
        let game = Game::from_fen(fen).unwrap();
        let report = search_with(Params::native(), vec![evaluator], &game, visits(8_000)).report;
        assert_eq!(mates_are_whole(fen, &report), 1, "{fen}: {:?}", report.lines);
    }
    // The mate search finds a shorter mate than the tree's, but not its line.
    let fen = "2r5/p4p2/1p3Nk1/4Q3/8/P7/5PPP/3R2K1 w - - 0 1";
    let evaluator: Box<dyn Evaluator> = Box::new(SparseNetwork::embedded().evaluator());
    let game = Game::from_fen(fen).unwrap();
    let report = search_with(Params::native(), vec![evaluator], &game, visits(60_000)).report;
    mates_are_whole(fen, &report);
    assert!(matches!(report.lines[0].score, Score::Mate(1..)), "{:?}", report.lines[0]);
    let mut mates = 0;
    for (game, _) in sample_of_mates(1..=4) {
        for m in game.legal_moves().into_iter().take(2) {
            let mut next = game.clone();
            next.play(m);
            mates += mates_are_whole(&next.fen(), &search(split(1), &next, visits(2_000)).report);
        }
        mates += mates_are_whole(&game.fen(), &search(split(1), &game, visits(20_000)).report);
    }
    assert!(mates > 20, "{mates}");
}
