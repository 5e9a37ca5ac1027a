use engine::chess::position::Game;
use engine::nets::eval::Evaluator;
use engine::nets::eval::HashedEvaluator;
use engine::search::{Limits, Params, Pool, Report};

use super::support::*;

fn pool(params: Params) -> Pool {
    let evaluator: Box<dyn Evaluator> = Box::new(HashedEvaluator);
    Pool::new(vec![evaluator], params, 64 << 20)
}

/// Root visits from before the reporting search.
fn kept(report: &Report) -> u64 {
    let below: u64 = report.lines.iter().map(|line| line.visits).sum();
    below.saturating_sub(report.visits)
}

/// The game after the first moves of the best line.
fn after(game: &Game, report: &Report, plies: usize) -> Game {
    let mut game = game.clone();
    report.lines[0].pv[..plies].iter().for_each(|m| game.play(*m));
    game
}

#[test]
fn the_tree_is_reused_after_a_move_and_the_reply() {
    for reuse in [true, false] {
        let mut pool = pool(Params { reuse, ..Params::default() });
        let mut game = Game::new();
        for _ in 0..4 {
            let report = search_by(&mut pool, &game, visits(1_000)).report;
            assert_eq!(report.visits, 1_000, "old visits are not counted as new");
            game = after(&game, &report, 2);
        }
        let report = search_by(&mut pool, &game, visits(100)).report;
        assert_eq!(kept(&report) > 0, reuse, "{}", kept(&report));
    }
}

#[test]
fn the_tree_is_reused_after_one_ply_and_after_none() {
    let mut pool = pool(Params::default());
    let game = Game::new();
    let report = search_by(&mut pool, &game, visits(1_000)).report;
    let again = search_by(&mut pool, &game, visits(500)).report;
    assert_eq!(kept(&again), 999);
    let next = search_by(&mut pool, &after(&game, &report, 1), visits(10)).report;
    assert!(kept(&next) > 20);
}

#[test]
fn a_reply_other_than_the_pondered_one_keeps_its_tree() {
    let mut pool = pool(Params::default());
    let game = Game::new();
    let report = search_by(&mut pool, &game, visits(4_000)).report;
    let pondered = after(&game, &report, 2);
    search_by(&mut pool, &pondered, visits(500));
    // Another reply, visited but not most.
    let own = after(&game, &report, 1);
    let replies = own.legal_moves();
    let other = replies.iter().find(|reply| **reply != report.lines[0].pv[1]).expect("another reply");
    let mut other_game = own.clone();
    other_game.play(*other);
    let missed = search_by(&mut pool, &other_game, visits(1)).report;
    assert!(kept(&missed) > 0, "the position before the pondered one is still there");
}

#[test]
fn the_same_pieces_with_another_castling_rook_start_with_an_empty_tree() {
    let game = |rights: &str| {
        let fen = format!("r1bqk2r/ppp2ppp/2n5/3p4/8/2N2NP1/PPP2PBP/R3K1RR w {rights} - 0 1");
        Game::from_fen(&fen).unwrap()
    };
    let mut pool = pool(Params::default());
    for rights in ["G", "H", "A", "GA", "HA", "-", "G"] {
        let game = game(rights);
        let report = search_by(&mut pool, &game, visits(400)).report;
        assert_eq!(kept(&report), 0, "{rights}");
        for line in &report.lines {
            let mut after = game.clone();
            for m in &line.pv {
                assert!(after.legal_moves().contains(m), "{m} with {rights}");
                after.play(*m);
            }
        }
    }
}

#[test]
fn another_game_starts_with_an_empty_tree() {
    let mut pool = pool(Params::default());
    search_by(&mut pool, &Game::new(), visits(1_000));
    let fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
    // The position after e2e4 without its history.
    assert_eq!(kept(&search_by(&mut pool, &Game::from_fen(fen).unwrap(), visits(50)).report), 0);
    pool.clear();
    assert_eq!(kept(&search_by(&mut pool, &Game::from_fen(fen).unwrap(), visits(50)).report), 0);
}

#[test]
fn a_cleared_pool_searches_as_a_new_one() {
    // A mate in five, which the mate search finds after some 800 visits.
    let mate = Game::from_fen("2r5/5p2/3N4/2p4B/p7/K1Bkp2p/3P4/N5R1 w - - 0 1").unwrap();
    let mut used = pool(Params::default());
    for game in [&mate, &Game::new()] {
        search_by(&mut used, game, visits(1_500));
        used.clear();
        let again = search_by(&mut used, game, visits(1_500));
        let first = search_by(&mut pool(Params::default()), game, visits(1_500));
        assert_eq!((again.report, again.stats), (first.report, first.stats));
    }
}

#[test]
fn a_restricted_search_reuses_what_is_below_its_moves() {
    let mut pool = pool(Params::default());
    let game = Game::new();
    let before = search_by(&mut pool, &game, visits(1_000));
    let some = Limits { root_moves: game.legal_moves()[..2].to_vec(), ..visits(100) };
    let of_some: u64 = before
        .stats
        .iter()
        .filter(|stats| some.root_moves.contains(&stats.m))
        .map(|stats| stats.visits)
        .sum();
    assert!(of_some > 0);
    let report = search_by(&mut pool, &game, some).report;
    assert_eq!((report.lines.len(), kept(&report)), (2, of_some));
    // The search of all moves has its root back, with the results below the two moves.
    let report = search_by(&mut pool, &game, visits(100)).report;
    assert_eq!((report.lines.len(), kept(&report)), (20, 999));
}

/// A root expanded with some of its moves is not reused for all moves, but its subtrees are.
#[test]
fn a_root_without_some_of_its_moves_is_not_reused() {
    let mut pool = pool(Params::default());
    let game = Game::new();
    let some = Limits { root_moves: game.legal_moves()[..2].to_vec(), ..visits(500) };
    let report = search_by(&mut pool, &game, some).report;
    assert!(kept(&search_by(&mut pool, &after(&game, &report, 2), visits(10)).report) > 20);
    let mut pool = self::pool(Params::default());
    let some = Limits { root_moves: game.legal_moves()[..2].to_vec(), ..visits(500) };
    search_by(&mut pool, &game, some);
    let report = search_by(&mut pool, &game, visits(100)).report;
    assert_eq!((report.lines.len(), kept(&report)), (20, 0));
}

/// The first visits below a reused root follow its principal variation and do not count for the depth.
#[test]
fn depth_is_not_the_length_of_an_old_variation() {
    let mut pool = pool(Params::default());
    search_by(&mut pool, &Game::new(), visits(20_000));
    let report = search_by(&mut pool, &Game::new(), visits(50)).report;
    assert!(kept(&report) > 0);
    assert_eq!(report.depth, 1, "too few visits");
    let deep = || Limits { depth: Some(4), ..visits(1_000_000) };
    let first = search_by(&mut pool, &Game::new(), deep()).report;
    assert!(first.visits > 128 && kept(&first) == 0);
    assert_eq!(search_by(&mut pool, &Game::new(), deep()).report, first);
}

#[test]
fn trees_proven_under_other_rules_are_not_reused() {
    for changed in [
        Params { solver: false, ..Params::default() },
        Params { twofold_draws: false, ..Params::default() },
        Params { policy_temperature: 2.0, ..Params::default() },
    ] {
        let mut pool = pool(Params::default());
        search_by(&mut pool, &Game::new(), visits(500));
        pool.set_params(changed);
        assert_eq!(kept(&search_by(&mut pool, &Game::new(), visits(50)).report), 0);
    }
}

#[test]
fn a_search_with_a_reused_tree_is_reproducible() {
    let run = || {
        let mut pool = pool(Params::default());
        let mut game = Game::new();
        let mut reports = Vec::new();
        for _ in 0..4 {
            let report = search_by(&mut pool, &game, visits(700)).report;
            game = after(&game, &report, 2);
            reports.push(report);
        }
        reports
    };
    assert_eq!(run(), run());
}
