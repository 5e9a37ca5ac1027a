//! Limited strength and measured overheads, through the built program.

use crate::program::{Program, number};
use engine::chess::position::Game;

const CLOCK: &str = "go wtime 600000 btime 600000";

#[test]
fn a_weak_player_has_few_visits_and_shows_what_it_plays() {
    let mut engine = Program::uniform();
    engine.send("setoption name UCI_LimitStrength value true\nsetoption name MultiPV value 4");
    for (elo, most) in [(1260, 40), (1825, 300)] {
        engine.send(&format!("setoption name UCI_Elo value {elo}"));
        for moves in ["", " moves e2e4", " moves e2e4 e7e5", " moves d2d4 d7d5 c2c4"] {
            let search = engine.search(&format!("ucinewgame\nposition startpos{moves}"), CLOCK);
            assert!(number(search.last(), "nodes") <= most, "{}", search.last());
            let first = search.infos().into_iter().rfind(|info| number(info, "multipv") == 1).unwrap();
            assert_eq!(crate::program::field(first, "pv"), Some(search.best()), "{:?}", search.lines);
        }
    }
    assert!(number(engine.search("position startpos", "go nodes 20").last(), "nodes") <= 20);
}

/// PyChess sends all three options in any order.
#[test]
fn a_rating_counts_more_than_a_skill_level() {
    let settings = ["UCI_LimitStrength value true", "UCI_Elo value 800", "Skill Level value 19"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut engine = Program::uniform();
        order.iter().for_each(|&index| engine.send(&format!("setoption name {}", settings[index])));
        let search = engine.search("position startpos", CLOCK);
        assert!(number(search.last(), "nodes") <= 87, "{order:?}: {}", search.last());
    }
}

#[test]
fn games_of_a_weak_player_differ() {
    let mut engine = Program::uniform();
    engine.send("setoption name Skill Level value 0");
    let mut firsts = std::collections::HashSet::new();
    for _ in 0..40 {
        firsts.insert(engine.search("ucinewgame\nposition startpos", CLOCK).best().to_owned());
    }
    assert!(firsts.len() > 1, "always {firsts:?}");
}

#[test]
fn a_weak_player_mates_in_one() {
    let mut engine = Program::uniform();
    engine.send("setoption name UCI_LimitStrength value true\nsetoption name UCI_Elo value 800");
    for _ in 0..20 {
        let search = engine.search("ucinewgame\nposition fen 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", CLOCK);
        assert_eq!(search.best(), "a1a8");
    }
}

#[test]
fn strength_is_not_limited_by_default_nor_in_analysis() {
    let mut engine = Program::uniform();
    for setting in [
        "UCI_Elo value 800",
        "UCI_AnalyseMode value true\nsetoption name UCI_LimitStrength value true",
        "Skill Level value 0",
    ] {
        engine.send(&format!("setoption name {setting}"));
        let search = engine.search("position startpos", "go nodes 3000");
        assert!(number(search.last(), "nodes") >= 3000, "{setting}: {}", search.last());
    }
}

#[test]
fn informational_options_are_accepted_silently() {
    let mut engine = Program::uniform();
    for setting in [
        "UCI_Opponent value GM 2800 human Gary Kasparow",
        "VerboseMoveStats value true",
        "LogLiveStats value true",
        "SmartPruningFactor value 0",
    ] {
        assert_eq!(engine.answer(&format!("setoption name {setting}")), [""; 0], "{setting}");
    }
    let search = engine.search("position startpos", "go nodes 100");
    assert_eq!(search.lines[search.lines.len() - 2], search.last());
}

/// Each clock falls by many seconds more than the move took.
#[test]
fn the_overhead_is_measured_from_the_clocks() {
    let mut engine = Program::uniform();
    engine.answer("debug on\nsetoption name Move Overhead value 100");
    let (mut game, mut moves, mut overheads) = (Game::new(), String::new(), Vec::new());
    for clock in [60_000, 30_000, 10_000, 9000] {
        let go = format!("go nodes 10 wtime {clock} btime 60000");
        let search = engine.search(&format!("position startpos moves{moves}"), &go);
        let budget = search.lines.iter().find(|line| line.contains("budget")).unwrap();
        overheads.push(budget.split_once("margin: ").unwrap().1.split_once(',').unwrap().0.to_owned());
        game.play(game.parse_uci(search.best()).unwrap());
        let reply = Game::uci(game.legal_moves()[0], false);
        game.play(game.parse_uci(&reply).unwrap());
        moves += &format!(" {} {reply}", search.best());
    }
    // The overhead counts once it was measured twice, up to a tenth of the clock.
    assert_eq!(overheads, ["100ms", "100ms", "1s", "900ms"]);
}
