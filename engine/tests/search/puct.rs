//! Selection and backup, in numbers.

use std::collections::HashMap;

use engine::search::{Params, Puct};

use super::support::*;

#[test]
fn puct_by_hand() {
    // Priors 0.75 and 0.25, c = 1. After e2e4 the opponent loses a little: Q = +0.2 for the root.
    let script =
        Scripted::default().prior("e2e4", 0.75).prior("d2d4", 0.25).value("e2e4", wdl(0.0, 0.8, 0.2));
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", plain(), script);
    manual.visit(); // the root itself
    manual.visit(); // U: 0.75·1/1 against 0.25: e2e4
    assert_eq!(manual.visits(), HashMap::from([("e2e4".into(), 1), ("d2d4".into(), 0)]));
    near(manual.child("e2e4").q, 0.2);
    manual.visit(); // e2e4 0.2 + 0.75·1/2 = 0.575; d2d4 has the root's mean, (0 + 0.2)/2, + 0.25 = 0.35
    assert_eq!(manual.visits()["e2e4"], 2);
    near(manual.child("e2e4").q, 0.1); // the reply is a draw: (0.2 + 0)/2
    manual.visit(); // e2e4 0.1 + 0.75·√2/3 = 0.454; d2d4 0.2/3 + 0.25·√2 = 0.420
    assert_eq!(manual.visits()["e2e4"], 3);
    manual.visit(); // e2e4 0.2/3 + 0.75·√3/4 = 0.391; d2d4 0.2/4 + 0.25·√3 = 0.483
    assert_eq!(manual.visits(), HashMap::from([("e2e4".into(), 3), ("d2d4".into(), 1)]));
    assert_eq!(manual.tree().check_at_rest(), Ok(()));
}

#[test]
fn values_change_sides_and_draws_keep_their_share() {
    // For the opponent after e2e4: 0.1 won, 0.6 drawn, 0.3 lost. Root: certain draw, then the mean.
    let script = Scripted::default().value("e2e4", wdl(0.1, 0.6, 0.3));
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4", plain(), script);
    manual.visit();
    manual.visit();
    let child = manual.child("e2e4");
    near(child.q, 0.2);
    near(child.wdl.win, 0.3);
    near(child.wdl.draw, 0.6);
    near(child.wdl.loss, 0.1);
    // The root's statistics are those of the side that moved into it: the mean of its own evaluation, a draw, and the
    // child's with win and loss exchanged.
    near(manual.tree().root().wdl.draw, 0.8);
    near(manual.tree().root().q, -0.1);
}

#[test]
fn a_virtual_loss_diverts_the_next_visit() {
    let script = Scripted::default().prior("e2e4", 0.6).prior("d2d4", 0.4);
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", plain(), script);
    manual.visit();
    manual.visit(); // e2e4
    // e2e4 0.6/2 = 0.3 against d2d4 0.4: d2d4. In flight, its Q falls by ½: 0.4·√2/2 − 0.5 < 0, against e2e4's 0.6·√2/2
    // = 0.42.
    assert_eq!(manual.search.gather(2), 2);
    assert_eq!((manual.child("e2e4").in_flight, manual.child("d2d4").in_flight), (1, 1));
    manual.search.cancel();
    assert_eq!(manual.tree().check_at_rest(), Ok(()));
}

#[test]
fn an_in_flight_visit_counts_as_a_loss_in_q() {
    // e2e4 has two visits with mean 0 and one in flight: Q = (0 + 0 − 1)/3. d2d4 is unvisited and has the parent's mean
    // 0. Without the loss 0.9·√3/4 = 0.39 beats 0.1·√3 = 0.17; with it, 0.39 − 0.33 does not.
    let script = Scripted::default().prior("e2e4", 0.9).prior("d2d4", 0.1);
    let choose = |virtual_loss: f32| {
        let params = Params { virtual_loss, ..plain() };
        let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script.clone());
        (0..3).for_each(|_| manual.visit());
        manual.search.gather(2);
        manual.child("d2d4").in_flight
    };
    assert_eq!(choose(0.0), 0);
    assert_eq!(choose(1.0), 1);
}

#[test]
fn first_play_urgency_is_reduced_by_what_was_visited() {
    // After one visit of e2e4 (prior 0.64, mean 0): e2e4 has 0 + 0.64/2 = 0.32, d2d4 0.36, or 0.28 when reduced by
    // 0.1·√0.64 = 0.08.
    let script = Scripted::default().prior("e2e4", 0.64).prior("d2d4", 0.36);
    for (value, d2d4) in [(0.0, 1), (0.1, 0)] {
        let params = Params { fpu: value, ..plain() };
        let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script.clone());
        (0..3).for_each(|_| manual.visit());
        assert_eq!(manual.visits()["d2d4"], d2d4, "fpu {value}");
    }
}

#[test]
fn exploration_grows_with_visits() {
    let puct = Puct { c: 1.0, factor: 2.0, base: 100.0, ..Puct::default() };
    near(puct.at(0), 1.0);
    near(puct.at(100), 1.0 + 2.0 * 2f32.ln());
}

#[test]
fn temperature_flattens_the_policy() {
    // √0.8 : √0.2 = 2 : 1.
    let script = Scripted::default().prior("e2e4", 0.8).prior("d2d4", 0.2);
    let params = Params { root_policy_temperature: 2.0, policy_temperature: 2.0, ..plain() };
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script);
    manual.visit();
    near(manual.child("e2e4").prior, 2.0 / 3.0);
    near(manual.child("d2d4").prior, 1.0 / 3.0);
}

#[test]
fn a_leaf_under_evaluation_is_not_gathered_twice() {
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "", plain(), Scripted::default());
    assert_eq!(manual.search.gather(4), 1, "only the root can be evaluated");
    assert_eq!(manual.tree().root().in_flight, 1);
}

#[test]
fn cancelling_leaves_the_tree_as_it_was() {
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "", plain(), Scripted::default());
    (0..20).for_each(|_| manual.visit());
    let state = |manual: &ManualSearch| {
        let tree = manual.tree();
        (tree.root(), tree.children(), tree.playouts())
    };
    let before = state(&manual);
    assert!(manual.search.gather(8) > 1);
    assert_ne!(state(&manual), before, "visits are in flight");
    manual.search.cancel();
    assert_eq!(state(&manual), before);
    assert_eq!(manual.tree().check_at_rest(), Ok(()));
}

#[test]
fn each_factor_of_exploration_changes_the_visits() {
    let visits = |puct: Puct| {
        let script =
            Scripted::default().prior("e2e4", 0.55).prior("d2d4", 0.45).value("e2e4", wdl(0.0, 0.0, 1.0));
        let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", Params { puct, ..plain() }, script);
        let mut turns = Vec::new();
        for _ in 0..30 {
            manual.visit();
            turns.push(manual.visits()["d2d4"]);
        }
        turns
    };
    let base = plain().puct;
    // The second visit after the root's: e2e4 has 1 + 0.55/2 · c, d2d4 ½ + 0.45 · c; c = 3 makes it d2d4's turn.
    assert_eq!((visits(base)[2], visits(Puct { root: 3.0, ..base })[2]), (0, 1));
    for other in [
        Puct { exponent: 0.9, ..base },
        // Results differ less than is typical, so there is less exploration.
        Puct { deviation: 1.0, ..base },
    ] {
        assert_ne!(visits(other), visits(base), "{other:?}");
    }
}

#[test]
fn the_root_has_a_temperature_of_its_own() {
    let script = Scripted::default().prior("e2e4", 0.8).prior("d2d4", 0.2);
    let params = Params { root_policy_temperature: 2.0, ..plain() };
    let mut manual = ManualSearch::new(KINGS_AND_PAWNS, "e2e4 d2d4", params, script);
    manual.visit();
    // √0.8 : √0.2 = 2 : 1.
    near(manual.child("e2e4").prior, 2.0 / 3.0);
}
