//! Each parameter of the search, by an example in which it makes the difference.

use engine::chess::position::Game;
use engine::nets::eval::HashedEvaluator;
use engine::nets::eval::{Answer, Wdl};
use engine::search::{Expanding, Expansion, Leaf, Limits, Noise, Params, Path, Puct, Reached, Tree};

use super::support::*;

/// Returns the root move that visit `before` + 1 takes.
fn next(params: Params, script: &Scripted, before: usize) -> String {
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script.clone());
    (0..before).for_each(|_| manual.visit());
    let then = manual.visits();
    manual.visit();
    let now = manual.visits();
    now.into_iter().find(|(m, visits)| then[m] < *visits).expect("one of the two").0
}

#[test]
fn contempt_avoids_the_drawish_move() {
    // e2e4: Q 0.50, half of it drawn, so 0.50 − 0.5 · 0.50 · 0.50 = 0.375; d2d4: 0.45 − 0.5 · 0.45 · 0.05 = 0.439. Both
    // have one visit and the same prior.
    let script = Scripted::default()
        .prior("e2e4", 0.5)
        .prior("d2d4", 0.5)
        .value("e2e4", wdl(0.0, 0.5, 0.5))
        .value("d2d4", wdl(0.25, 0.05, 0.7));
    assert_eq!(next(plain(), &script, 3), "e2e4");
    assert_eq!(next(Params { contempt: 0.5, ..plain() }, &script, 3), "d2d4");
    // No effect on a losing move, whose W − L is below zero.
    let losing = Scripted::default()
        .prior("e2e4", 0.5)
        .prior("d2d4", 0.5)
        .value("e2e4", wdl(0.5, 0.5, 0.0))
        .value("d2d4", wdl(0.7, 0.05, 0.25));
    assert_eq!(next(plain(), &losing, 3), next(Params { contempt: 0.5, ..plain() }, &losing, 3));
}

#[test]
fn the_uncertain_move_is_explored_more() {
    // Both have Q = 0 and one visit; d2d4 is won or lost: 0.48 · (1 + √(½ · ½)) against 0.52.
    let script = Scripted::default()
        .prior("e2e4", 0.52)
        .prior("d2d4", 0.48)
        .value("e2e4", wdl(0.0, 1.0, 0.0))
        .value("d2d4", wdl(0.5, 0.0, 0.5));
    assert_eq!(next(plain(), &script, 3), "e2e4");
    assert_eq!(next(Params { uncertainty: 1.0, ..plain() }, &script, 3), "d2d4");
}

#[test]
fn next_to_a_certain_draw_unvisited_moves_have_no_reduction() {
    // f7g6 stalemates. It has 0 + 0.6/2; the other −0.33·√0.6 + 0.4 = 0.14, or 0.4 without reduction.
    let script = Scripted::default().prior("f7g6", 0.6).prior("g5f5", 0.4);
    let visits = |draw_sibling_fpu| {
        let params = Params { draw_sibling_fpu, fpu: Params::default().fpu, ..plain() };
        let fen = "7k/5Q2/8/6K1/8/8/8/8 w - - 0 1";
        let game = Game::from_fen(fen).unwrap();
        let root_moves = ["f7g6", "g5f5"].map(|m| game.parse_uci(m).unwrap()).to_vec();
        let mut manual = ManualSearch::new(fen, "f7g6 g5f5", params.clone(), script.clone());
        manual.search.start(&game, Limits { visits: Some(3), root_moves, ..Limits::default() }, params);
        (0..3).for_each(|_| manual.visit());
        manual.visits()["g5f5"]
    };
    assert_eq!((visits(false), visits(true)), (0, 1));
}

#[test]
fn moves_that_cannot_become_best_get_no_visit() {
    // After four visits e2e4 has three, and d2d4 would be next.
    let script =
        Scripted::default().prior("e2e4", 0.75).prior("d2d4", 0.25).value("e2e4", wdl(0.0, 0.8, 0.2));
    let visits = |limit| {
        let game = Game::from_fen(KINGS_AND_PAWNS).unwrap();
        let root_moves = ["e2e4", "d2d4"].map(|m| game.parse_uci(m).unwrap()).to_vec();
        let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", plain(), script.clone());
        let limits = Limits { visits: limit, root_moves, ..Limits::default() };
        manual.search.start(&game, limits, Params { smart_pruning: 1.0, ..plain() });
        (0..5).for_each(|_| manual.visit());
        manual.visits()["d2d4"]
    };
    assert_eq!(visits(None), 1);
    assert_eq!(visits(Some(7)), 1, "it could still become equal");
    assert_eq!(visits(Some(6)), 0, "with two visits left it cannot");
}

/// The most visited move is proven to lose late; its visits must not prune the others.
#[test]
fn the_visits_of_a_lost_move_are_no_lead() {
    // g2g4, after which Black mates in one, gets all visits until one reaches the mate.
    let script = Scripted::default().prior("g2g4", 0.95).prior("a2a3", 0.05).prior("d8h4", 0.9);
    let fen = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2";
    let mut manual = ManualSearch::new(fen, "g2g4 a2a3", plain(), script);
    manual.visit();
    while manual.child("g2g4").proof.is_none() {
        manual.visit();
    }
    let other = u64::from(manual.visits()["a2a3"]);
    assert!(u64::from(manual.visits()["g2g4"]) > other);
    assert_eq!(manual.tree().lead(), (other, 0));
}

#[test]
fn the_last_visits_go_to_moves_that_can_still_become_best() {
    let run = |smart_pruning, all_moves| {
        let params = Params { smart_pruning, ..Params::default() };
        let limits = Limits { all_moves, ..visits(400) };
        search_with(params, vec![Box::new(HashedEvaluator)], &Game::new(), limits).report
    };
    let (with, without) = (run(1.33, false), run(0.0, false));
    assert_eq!(with.lines[0].pv[0], without.lines[0].pv[0]);
    assert!(with.lines[0].visits > without.lines[0].visits);
    assert_eq!(run(1.33, true).lines[0].visits, without.lines[0].visits, "all moves are of interest");
}

/// After a2a3 Black has only a8a7 and a8b8, and both h-pawns are blocked.
const TWO_REPLIES: &str = "k7/8/2K5/7p/7P/8/P7/8 w - - 0 1";

/// Returns the last move before the leaf of visit `before` + 1.
fn leaf_after(manual: &mut ManualSearch, before: usize) -> String {
    (0..before).for_each(|_| manual.visit());
    assert_eq!(manual.search.gather(1), 1);
    let m = manual.search.requests().next().unwrap().game.last_move().unwrap();
    manual.answer();
    Game::uci(m, false)
}

#[test]
fn the_replies_have_a_temperature_of_their_own() {
    let script = Scripted::default().prior("a8a7", 0.7).prior("a8b8", 0.3);
    let fourth = |reply_policy_temperature| {
        let params = Params { reply_policy_temperature, ..plain() };
        leaf_after(&mut ManualSearch::new(TWO_REPLIES, "a2a3", params, script.clone()), 3)
    };
    // After one visit of a8a7, 0.7/2 > 0.3, so the next visit goes on below it; but 0.605/2 < 0.395.
    assert_ne!(fourth(1.0), "a8b8");
    assert_eq!(fourth(2.0), "a8b8");
}

#[test]
fn a_reply_that_becomes_the_root_gets_its_temperature() {
    let script = Scripted::default().prior("a8a7", 0.8).prior("a8b8", 0.2);
    let params = Params { reply_policy_temperature: 2.0, ..plain() };
    let mut manual = ManualSearch::new(TWO_REPLIES, "a2a3", params.clone(), script);
    (0..6).for_each(|_| manual.visit());
    let next = played(Some(TWO_REPLIES), "a2a3");
    manual.search.start(&next, visits(50), params);
    assert!(manual.tree().root().visits > 1, "the tree is reused");
    near(manual.child("a8a7").prior, 0.8);
}

#[test]
fn each_worker_explores_by_its_own_factor() {
    let game = Game::new();
    let moves = game.legal_moves();
    let mut priors = vec![0.02 / (moves.len() - 2) as f32; moves.len()];
    (priors[0], priors[1]) = (0.5, 0.48);
    let chosen = |worker, jitter| {
        let params = Params { puct: Puct { jitter, ..plain().puct }, ..plain() };
        let mut tree = Tree::empty(1 << 20);
        tree.start(&game, &[], params, 3);
        let descend = |path: &mut Path| {
            let mut game = game.clone();
            tree.begin(path, false);
            assert_eq!(tree.descend(path, &mut game, Expanding::AtOnce), Reached::Leaf);
            game.last_move()
        };
        let mut path = Path::new(0);
        descend(&mut path);
        let answer = Answer { wdl: Wdl::DRAW, priors: priors.clone() };
        tree.apply(&mut path, Leaf::Expanded(answer.wdl, &Expansion::new(&moves, &answer, 1.0)));
        descend(&mut path);
        // Q is 0.5 for the first move and half of that for unvisited moves.
        tree.apply(&mut path, Leaf::Valued(wdl(0.25, 0.0, 0.75)));
        descend(&mut Path::new(worker)).unwrap()
    };
    // 0.5 + 0.5/2 · c against 0.25 + 0.48 · c: equal at c = 1.087.
    assert_eq!((chosen(0, 0.0), chosen(1, 0.0)), (moves[0], moves[0]));
    // Factors 1, 1 + 0.9 · 0.236 and 1 − 0.9 · 0.528.
    assert_eq!([0, 1, 2].map(|worker| chosen(worker, 0.9)), [moves[0], moves[1], moves[0]]);
}

#[test]
fn noise_is_reproducible() {
    let run = |noise| {
        let limits = Limits { noise, ..visits(300) };
        search(vec![Box::new(HashedEvaluator)], &Game::new(), limits).report
    };
    let noise = |seed| Some(Noise { epsilon: 0.5, alpha: 0.3, seed });
    assert_eq!(run(noise(1)), run(noise(1)));
    assert_ne!(run(noise(1)), run(noise(2)));
    assert_ne!(run(noise(1)), run(None));
}
