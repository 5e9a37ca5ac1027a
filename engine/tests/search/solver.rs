//! The solver: mates, their distances, and how proofs are backed up.

use std::ops::RangeInclusive;

use engine::chess::mates::{MateLimits, MateResult, MateSearch};
use engine::chess::position::Game;
use engine::chess::tables::{ProbeRules, Tables};
use engine::search::{EndReason, Limits, Params, Pool, Proof, Score};

use super::mate_sample::sample;
use super::support::*;

#[test]
fn mates_are_found_without_a_network() {
    for (fen, best, mate) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", "d1d8", 1),
        ("k7/8/1K6/8/8/8/8/7R w - - 0 1", "h1h8", 1),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", 2),
        ("7r/8/8/8/8/1k6/8/K7 b - - 0 1", "h8h1", 1),
    ] {
        for workers in [1, 2] {
            let game = Game::from_fen(fen).unwrap();
            let outcome = search(uniform(workers), &game, visits(20_000));
            let line = &outcome.report.lines[0];
            assert_eq!(
                (Game::uci(line.pv[0], false).as_str(), line.score),
                (best, Score::Mate(mate)),
                "{fen}"
            );
            assert_eq!(line.pv.len() as i32, 2 * mate - 1, "the line ends with the mate");
            assert_eq!(outcome.end_reason, EndReason::Exhausted, "a proven root needs no more visits");
        }
    }
}

#[test]
fn the_side_being_mated_gets_the_distance() {
    // All of Black's moves lose to the back-rank mate.
    let game = Game::from_fen("k7/8/1K6/8/8/8/8/7R b - - 0 1").unwrap();
    let outcome = search(uniform(1), &game, visits(5_000));
    assert_eq!(outcome.report.lines[0].score, Score::Mate(-1));
}

/// The tree is large enough for each mate.
#[test]
fn a_mate_within_the_tree_is_proven_with_its_distance() {
    for (fen, mate, budget) in [
        ("8/6p1/5pk1/7R/B7/8/8/7K w - - 0 1", 1, 1_000),
        ("3n4/1R6/p5k1/2B5/1P3PK1/r7/8/8 w - - 1 1", 2, 5_000),
        ("8/8/2N1P3/1P6/4Q3/4b2K/4k3/4q3 w - - 1 1", 2, 20_000),
        ("5R2/1N3p2/3pk3/6PR/3Q4/B3K3/8/8 w - - 0 1", 2, 60_000),
        ("8/3P2P1/3N4/3k4/4N3/4K3/8/8 w - - 0 1", 3, 200_000),
        ("8/P7/6p1/8/2Q5/8/3K1k2/8 w - - 0 1", 4, 60_000),
    ] {
        for transpositions in [true, false] {
            let params = Params { transpositions, mates: false, ..Params::default() };
            let game = Game::from_fen(fen).unwrap();
            let line = search_with(params, uniform(1), &game, visits(budget)).report.lines.remove(0);
            assert_eq!(line.score, Score::Mate(mate), "{fen}");
            assert!(line.pv.len() < 2 * mate as usize, "{fen}: {:?}", line.pv);
        }
    }
}

/// The visits first prove a mate in six; a search of all moves goes on to the mate in three.
#[test]
fn a_proven_win_ends_a_search_of_all_moves_only_when_all_are_proven() {
    let game = Game::from_fen("8/8/8/8/8/6P1/6k1/4KR1R w K - 0 1").unwrap();
    let all = Limits { all_moves: true, ..visits(60_000) };
    let outcome = search(uniform(1), &game, all);
    assert!(outcome.end_reason == EndReason::Limit && outcome.report.visits == 60_000);
    assert_eq!(outcome.report.lines[0].score, Score::Mate(3));
    let first = search(uniform(1), &game, visits(60_000));
    assert!(first.end_reason == EndReason::Exhausted && first.report.visits < 60_000);
    let at_once = Game::from_fen("7k/8/6K1/8/8/8/8/R7 w - - 0 1").unwrap();
    assert_eq!(
        search(uniform(1), &at_once, Limits { all_moves: true, ..visits(5_000) }).end_reason,
        EndReason::Exhausted
    );
}

/// In some positions the tree proves a longer mate before the mate search starts.
#[test]
fn a_proven_mate_is_as_short_as_it_can_be() {
    for (game, moves) in sample_of_mates(2..=3) {
        let outcome = search(uniform(1), &game, visits(20_000));
        assert_eq!(outcome.report.lines[0].score, Score::Mate(moves.into()), "{}", game.fen());
    }
}

/// The committed positions with mates of these lengths in moves, each with its length.
pub fn sample_of_mates(moves: RangeInclusive<u8>) -> Vec<(Game, u8)> {
    let sample: Vec<_> = sample().into_iter().filter(|(_, shortest)| moves.contains(shortest)).collect();
    assert!(sample.len() >= 20);
    sample
}

/// After the first move of a mate in four or five, the mate search also probes replies.
#[test]
fn mates_after_the_most_visited_moves_are_proven() {
    let proven = |mates| {
        let mut proven = 0;
        for (mut game, _) in sample_of_mates(4..=5) {
            let MateResult::Mate(mate) =
                MateSearch::new(1 << 20).search(&game, MateLimits::default(), &mut || false)
            else {
                panic!("{}", game.fen());
            };
            game.play(mate.line[0]);
            let params = Params { mates, ..Params::native() };
            let stats = search_with(params, uniform(1), &game, visits(10_000)).stats;
            proven += stats.iter().filter(|m| matches!(m.proof, Some(Proof::Loss(_)))).count();
        }
        proven
    };
    let (with, without) = (proven(true), proven(false));
    assert!(with > without + 10, "{with} {without}");
}

#[test]
fn without_the_solver_proofs_are_not_backed_up() {
    let fen = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1";
    let proven = |solver| {
        let params = Params { solver, ..Params::default() };
        let report = search_with(params, uniform(1), &Game::from_fen(fen).unwrap(), visits(2_000)).report;
        matches!(report.lines[0].score, Score::Mate(_))
    };
    assert!(proven(true));
    assert!(!proven(false));
}

/// A rook takes the last pawn, or the pawn promotes: three-piece tables decide, but give no mate score, since they lack
/// the distance to mate.
#[test]
fn tables_are_probed_where_the_counter_has_just_been_reset() {
    let tables =
        Tables::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/syzygy"), ProbeRules::default());
    let tables = tables.expect("the tables of the tests");
    let result = |tables: &Tables, fen: &str| {
        let mut pool = Pool::new(uniform(1), Params::default(), 64 << 20);
        pool.set_tables(tables.clone());
        search_by(&mut pool, &Game::from_fen(fen).unwrap(), visits(400)).report
    };
    let won = result(&tables, "8/8/8/8/8/p1k5/8/R1K5 w - - 40 90");
    let line = &won.lines[0];
    assert_eq!(Game::uci(line.pv[0], false), "a1a3");
    assert!(matches!(line.score, Score::Cp(10_000)), "{line:?}");
    assert!(won.counters.table_hits > 0 && won.tbhits == won.counters.table_hits);
    // A great probe depth keeps the search from probing near the root.
    let deep = tables.with_rules(ProbeRules { depth: 50, ..ProbeRules::default() });
    assert_eq!(result(&deep, "8/8/8/8/8/p1k5/8/R1K5 w - - 40 90").tbhits, 0);
    assert_eq!(result(&Tables::default(), "8/8/8/8/8/p1k5/8/R1K5 w - - 40 90").tbhits, 0);
}

/// Tables soon prove the win by a capture without its distance; the mate is still found.
#[test]
fn a_win_by_tables_is_followed_by_its_mate() {
    let result = |mates| {
        let mut pool = Pool::new(uniform(1), Params { mates, ..Params::native() }, 64 << 20);
        pool.set_tables(Tables::builtin(ProbeRules::default()));
        let game = Game::from_fen("8/8/8/8/8/6P1/6k1/4KR1R w K - 0 1").unwrap();
        search_by(&mut pool, &game, visits(1000)).report
    };
    let (with, without) = (result(true), result(false));
    assert!(matches!(without.lines[0].score, Score::Cp(10_000)) && without.visits < 1000, "{without:?}");
    assert_eq!(with.lines[0].score, Score::Mate(3));
    assert_eq!(with.lines[0].pv.len(), 5);
}

/// When a node is proven lost, its earlier results leave the sums of its ancestors.
#[test]
fn a_proof_corrects_the_sums_above_it() {
    // Black's mate d8h4 after g2g4 is found only after other replies: until then g2g4 looks good.
    let script = Scripted::default()
        .prior("g2g4", 0.9)
        .prior("a2a3", 0.1)
        .prior("d8h4", 0.001)
        .value("g2g4", wdl(0.0, 0.2, 0.8))
        .value("a2a3", wdl(0.5, 0.0, 0.5));
    let fen = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2";
    let mut manual = ManualSearch::new(fen, "g2g4 a2a3", plain(), script);
    while !manual.visits().contains_key("g2g4") || manual.child("g2g4").proof.is_none() {
        manual.visit();
    }
    let lost = f64::from(manual.child("g2g4").visits);
    let other = manual.child("a2a3");
    assert!(lost > 5.0, "{lost}");
    // The root's own value is a draw; its q is for the side that moved into it.
    let sum = lost - f64::from(other.visits) * f64::from(other.q);
    near(manual.tree().root().q, (sum / (1.0 + lost + f64::from(other.visits))) as f32);
    assert_eq!(manual.tree().check_at_rest(), Ok(()));
}
