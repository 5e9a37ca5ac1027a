use std::process::Command;

use crate::program::{Program, Search, number};
use crate::search::check_variations;
use engine::chess::position::Game;
use engine::search::players::Player;

/// Runs a classical player without ONNX Runtime; the program would report that if it used its network.
fn with_player(player: &str) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor"));
    let mut engine = Program::start_with(command.env("ORT_DYLIB_PATH", "/no/such/library.so"));
    assert_eq!(engine.answer(&format!("setoption name Player value {player}")), [""; 0]);
    engine
}

/// The reproducible part of a search's output.
fn result(search: &Search) -> (String, Option<String>, i64) {
    let pv = search.last().split_once(" pv ").map(|(_, pv)| pv.to_owned());
    (search.best().to_owned(), pv, number(search.last(), "nodes"))
}

#[test]
fn every_player_answers_every_kind_of_go() {
    let start = "position startpos moves e2e4 e7e5 g1f3";
    let game = Game::from_uci(None, ["e2e4", "e7e5", "g1f3"]).unwrap();
    for player in Player::NAMES {
        let mut engine = with_player(player);
        engine.send("setoption name UCI_ShowWDL value true\nsetoption name MultiPV value 2");
        for go in [
            "go nodes 1",
            "go nodes 3000",
            "go depth 2",
            "go movetime 60",
            "go wtime 500 btime 500",
            "go wtime 1 btime 1",
            "go nodes 50 searchmoves a7a6 h7h5",
        ] {
            let search = engine.search(start, go);
            for key in ["time", "nps", "nodes", "depth", "seldepth", "hashfull", "tbhits"] {
                assert!(number(search.last(), key) >= 0, "{player}, {go}: {}", search.last());
            }
            assert!(!search.lines.iter().any(|line| line.starts_with("info string")), "{:?}", search.lines);
            let infos = search.infos();
            let [.., first, second] = infos[..] else { panic!("two lines: {:?}", search.lines) };
            assert_eq!((number(first, "multipv"), number(second, "multipv")), (1, 2), "{player}, {go}");
            assert_eq!(crate::program::field(first, "pv"), Some(search.best()), "{player}, {go}");
            assert!(first.contains(" score ") && first.contains(" wdl "), "{first}");
            check_variations(&search, &game, false);
        }
    }
}

#[test]
fn verbose_move_stats_show_every_root_move_of_a_searching_player() {
    for player in Player::NAMES {
        let mut engine = with_player(player);
        engine.send("setoption name VerboseMoveStats value true\nsetoption name MultiPV value 3");
        // The temperature does not apply: classical players play the best move.
        engine.send("setoption name Temperature value 2");
        let search = engine.search("position startpos", "go nodes 3000");
        let stats: Vec<&String> =
            search.lines.iter().filter(|line| line.starts_with("info string ")).collect();
        let last = if player == "random" { 0 } else { 21 };
        assert!(stats.len() >= last && (last > 0 || stats.is_empty()), "{player}: {stats:?}");
        if last > 0 {
            let [moves @ .., node] = &stats[stats.len() - last..] else { panic!("{stats:?}") };
            assert!(node.contains(" node ") && moves.iter().all(|line| line.contains("(Q:")), "{stats:?}");
            assert!(moves.iter().any(|line| line.contains(search.best())), "{player}: {stats:?}");
        }
        let infos = search.infos();
        let lines = &infos[infos.len() - 3..];
        assert_eq!([1, 2, 3], [0, 1, 2].map(|i| number(lines[i], "multipv")), "{player}");
    }
}

#[test]
fn a_searching_player_obeys_every_command() {
    for player in Player::NAMES {
        let mut engine = with_player(player);
        for go in ["go infinite", "go ponder wtime 1000 btime 1000"] {
            engine.send(&format!("position startpos\n{go}"));
            let answer = engine.answer("setoption name Hash value 32");
            assert!(answer.iter().any(|line| line.contains("not during a search")), "{player}: {answer:?}");
            assert!(answer.iter().all(|line| line.starts_with("info ")), "{player}: {answer:?}");
            engine.send("stop");
            assert!(engine.until("bestmove").last().unwrap().len() >= 13, "{player}");
        }
        engine.send("position startpos\ngo ponder wtime 300 btime 300\nponderhit");
        engine.until("bestmove");
        // The end of the input also ends a search, with its bestmove.
        engine.send("go infinite");
        let (lines, status) = engine.close();
        assert!(status.success() && lines.last().unwrap().starts_with("bestmove "), "{player}: {lines:?}");
    }
}

#[test]
fn a_seed_makes_games_repeat_themselves() {
    for player in Player::NAMES {
        let mut engine = with_player(player);
        let game = |engine: &mut Program, seed: u32| {
            engine.send(&format!("setoption name Seed value {seed}\nucinewgame"));
            ["", " moves e2e4 e7e5", " moves d2d4 d7d5 c2c4"]
                .map(|moves| result(&engine.search(&format!("position startpos{moves}"), "go nodes 100")))
        };
        let once = game(&mut engine, 5);
        assert_eq!(game(&mut engine, 5), once, "{player}");
        assert_eq!(game(&mut with_player(player), 5), once, "{player}");
        if ["random", "uct", "uct-value"].contains(&player) {
            assert_ne!(game(&mut engine, 6), once, "{player}");
            let any: std::collections::HashSet<_> = (0..5).map(|_| game(&mut engine, 0)).collect();
            assert!(any.len() > 1, "{player}: {any:?}");
        }
    }
}

#[test]
fn the_notebooks_mate_is_found_and_announced() {
    for (player, go) in [("minimax", "go"), ("alpha-beta", "go"), ("uct", "go nodes 400")] {
        let search = with_player(player).search("position startpos moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6", go);
        assert_eq!(search.best(), "h5f7", "{player}");
        assert!(search.last().contains(" score mate 1 "), "{player}: {}", search.last());
    }
    let search =
        with_player("alpha-beta").search("position fen 7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", "go mate 2");
    assert!(search.last().contains(" score mate 2 "), "{}", search.last());
}

#[test]
fn chess960_is_played_as_the_gui_writes_it() {
    let fen = "1r3k1r/8/8/8/8/8/8/1R3K1R w HBhb - 0 1";
    for player in Player::NAMES {
        let mut engine = with_player(player);
        engine.send("setoption name UCI_Chess960 value true\nsetoption name MultiPV value 500");
        let search = engine.search(&format!("position fen {fen}"), "go nodes 2000");
        check_variations(&search, &Game::from_fen(fen).unwrap(), true);
        let castles = |text: &str| search.lines.iter().any(|line| line.contains(&format!(" pv {text}")));
        assert!(castles("f1b1") && castles("f1h1"), "{player}: {:?}", search.lines);
        assert_eq!(
            engine.search(&format!("position fen {fen}"), "go nodes 50 searchmoves f1b1").best(),
            "f1b1"
        );
    }
}

#[test]
fn the_network_takes_over_again() {
    let mut engine = Program::uniform();
    engine.send("setoption name Player value random");
    assert_eq!(number(engine.search("position startpos", "go nodes 100").last(), "nodes"), 1);
    engine.send("setoption name Player value network");
    assert!(number(engine.search("position startpos", "go nodes 100").last(), "nodes") >= 100);
}
