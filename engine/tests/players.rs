//! Tests the classical players: the numbers of the course's notebook (`docs/sources.md`), and properties of all
//! players.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use engine::chess::position::Game;
use engine::search::players::{FullWidthMethod, FullWidthResult, Player, PlayerTask, UctParams, full_width};
use engine::search::{
    EndReason, Limits, Report, Score, SearchControl, SearchObserver, SearchOutcome, SearchView,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// 1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6.
const SCHOLAR: &str = "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6";

fn played(moves: &str) -> Game {
    played_from(Game::new(), moves)
}

fn played_from(mut game: Game, moves: &str) -> Game {
    for text in moves.split_whitespace() {
        let m = game.parse_uci(text).unwrap();
        game.play(m);
    }
    game
}

fn from_fen(fen: &str) -> Game {
    Game::from_fen(fen).unwrap()
}

fn task(game: Game) -> PlayerTask {
    let limits = Limits::default();
    PlayerTask { game, limits, lines: 1, memory: 1 << 20, uct: UctParams::default(), seed: 1 }
}

/// Stops the search after `left` calls; records the visits at each.
struct CallLimit {
    left: u64,
    visits: Vec<u64>,
}

impl SearchObserver for CallLimit {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        self.visits.push(view.visits());
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { SearchControl::Stop } else { SearchControl::Continue { expected_visits: None } }
    }

    fn done(&mut self, _: SearchOutcome) {}
}

fn think(player: Player, task: &PlayerTask) -> SearchOutcome {
    let mut observer = CallLimit { left: u64::MAX, visits: Vec::new() };
    player.think(task, &mut observer, &AtomicBool::new(false))
}

fn report(player: Player, game: &Game, limits: Limits) -> Report {
    think(player, &PlayerTask { limits, ..task(game.clone()) }).report
}

fn completed(method: FullWidthMethod, game: &Game, depth: u32) -> FullWidthResult {
    full_width(method, game, depth, &mut (), &AtomicBool::new(false)).expect("nothing stops it")
}

fn visits(visits: u64) -> Limits {
    Limits { visits: Some(visits), ..Limits::default() }
}

fn depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

fn best(report: &Report) -> String {
    Game::uci(report.lines[0].pv[0], false)
}

fn random_positions(count: usize) -> Vec<Game> {
    let mut rng = SmallRng::seed_from_u64(1749);
    let position = |_| loop {
        let mut game = Game::new();
        for _ in 0..rng.random_range(4..80) {
            if game.outcome().is_none() {
                let moves = game.legal_moves();
                game.play(moves[rng.random_range(..moves.len())]);
            }
        }
        if game.outcome().is_none() {
            break game;
        }
    };
    (0..count).map(position).collect()
}

#[test]
fn minimax_makes_as_many_moves_as_the_notebook_and_finds_its_values() {
    let found = completed(FullWidthMethod::Minimax, &played(SCHOLAR), 4);
    assert_eq!(found.nodes, 1_337_211);
    let values: HashMap<String, i32> =
        found.values.iter().map(|(m, value)| (Game::uci(*m, false), *value)).collect();
    for (m, value) in
        [("h5f7", 1_000_000), ("h5e2", -155), ("h5f3", -155), ("h5h4", -185), ("c4f7", -250), ("h5g6", -1055)]
    {
        assert_eq!(values[m], value, "{m}");
    }
    assert_eq!(found.values[0].1, 1_000_000);
    assert!(found.values.is_sorted_by_key(|(_, value)| -value));
}

#[test]
fn alpha_beta_finds_the_same_with_fewer_moves_than_the_notebook() {
    let found = completed(FullWidthMethod::AlphaBeta, &played(SCHOLAR), 4);
    assert_eq!((Game::uci(found.values[0].0, false).as_str(), found.values[0].1), ("h5f7", 1_000_000));
    assert!(found.nodes < 119_034, "{}", found.nodes);
    let found = completed(FullWidthMethod::AlphaBeta, &played("e2e4 e7e5 g1f3 b8c6"), 4);
    assert!(found.nodes < 119_034, "{}", found.nodes);
}

#[test]
fn alpha_beta_and_minimax_agree_on_the_best_value() {
    let positions = random_positions(40);
    for (depth, count) in [(1, 40), (2, 40), (3, 8)] {
        for game in &positions[..count] {
            let minimax = completed(FullWidthMethod::Minimax, game, depth);
            let alpha_beta = completed(FullWidthMethod::AlphaBeta, game, depth);
            assert_eq!(alpha_beta.values[0].1, minimax.values[0].1, "{} at depth {depth}", game.fen());
            assert!(alpha_beta.nodes <= minimax.nodes);
            // The other values are upper bounds.
            let exact: HashMap<_, _> = minimax.values.into_iter().collect();
            assert!(alpha_beta.values.iter().all(|(m, value)| exact[m] <= *value), "{}", game.fen());
        }
    }
}

#[test]
fn as_many_lines_as_are_asked_for_are_exact() {
    for game in random_positions(12) {
        let ask = |player| {
            let report =
                think(player, &PlayerTask { lines: 3, limits: depth(2), ..task(game.clone()) }).report;
            report.lines.iter().take(3).map(|line| line.score).collect::<Vec<_>>()
        };
        assert_eq!(ask(Player::AlphaBeta), ask(Player::Minimax), "{}", game.fen());
    }
}

#[test]
fn mates_are_counted_and_the_shortest_is_played() {
    for player in [Player::Minimax, Player::AlphaBeta] {
        for (fen, moves, limit, first) in [
            // A rook ladder in two; the mate in one beside slower ones; mated in one after the only move.
            ("7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", 2, 3, None),
            ("7k/R7/8/8/8/8/8/1R4K1 w - - 0 1", 1, 3, Some("b1b8")),
            ("7k/R7/8/8/8/8/8/1R4K1 b - - 0 1", -1, 3, Some("h8g8")),
        ] {
            let report = report(player, &from_fen(fen), depth(limit));
            assert_eq!(report.lines[0].score, Score::Mate(moves), "{player:?} {fen}");
            assert_eq!(
                report.lines[0].pv.len() as i32,
                if moves > 0 { 2 * moves - 1 } else { -2 * moves },
                "{fen}"
            );
            assert!(first.is_none_or(|first| best(&report) == first), "{fen}: {}", best(&report));
        }
        // More depth cannot improve a mate, so the search ends by itself.
        let outcome = think(player, &task(played(SCHOLAR)));
        assert_eq!((best(&outcome.report).as_str(), outcome.end_reason), ("h5f7", EndReason::Exhausted));
        assert_eq!(outcome.report.depth, 1);
    }
}

#[test]
fn drawn_games_have_the_value_zero() {
    for player in [Player::Minimax, Player::AlphaBeta] {
        let value = |game: &Game, m: &str| {
            let limits = Limits { root_moves: vec![game.parse_uci(m).unwrap()], ..depth(1) };
            report(player, game, limits).lines[0].score
        };
        // Stalemate, a bishop alone, threefold repetition, fifty moves.
        let stalemate = from_fen("7k/8/8/8/8/5Q2/8/6K1 w - - 0 1");
        assert_eq!(value(&stalemate, "f3f7"), Score::Cp(0));
        assert_ne!(value(&stalemate, "f3e4"), Score::Cp(0));
        let dead = from_fen("8/8/4k3/8/8/8/4n3/B3K3 w - - 0 1");
        assert_eq!(value(&dead, "e1e2"), Score::Cp(0));
        assert_ne!(value(&dead, "e1f2"), Score::Cp(0));
        let round = "b1c3 b8c6 c3b1 c6b8 ";
        let again = played(&format!("e2e4 e7e5 {}{}", round, round.trim_end().rsplit_once(' ').unwrap().0));
        assert_eq!(value(&again, "c6b8"), Score::Cp(0));
        assert_ne!(value(&again, "a7a6"), Score::Cp(0));
        let fifty = from_fen("7k/8/8/8/8/8/R7/6K1 w - - 99 80");
        assert_eq!(value(&fifty, "a2a3"), Score::Cp(0));
    }
}

#[test]
fn every_player_obeys_its_limits() {
    let game = played("e2e4 e7e5 g1f3");
    for player in Player::ALL {
        for limit in [1, 2, 50, 777] {
            let outcome = think(player, &PlayerTask { limits: visits(limit), ..task(game.clone()) });
            let made = outcome.report.visits;
            match player {
                Player::Random => assert_eq!((made, outcome.end_reason), (1, EndReason::Exhausted)),
                Player::Minimax | Player::AlphaBeta => {
                    // The first depth always completes, with one node per legal move.
                    let least = game.legal_moves().len() as u64;
                    assert_eq!(
                        (made, outcome.end_reason),
                        (limit.max(least), EndReason::Limit),
                        "{player:?}"
                    );
                }
                Player::Uct | Player::UctValue => {
                    assert_eq!((made, outcome.end_reason), (limit, EndReason::Limit), "{player:?}");
                }
            }
        }
        let only = ["a7a6", "h7h5"].map(|m| game.parse_uci(m).unwrap());
        let limits = Limits { root_moves: only.to_vec(), ..visits(60) };
        let lines = report(player, &game, limits).lines;
        assert!(lines.len() == 2 && lines.iter().all(|line| only.contains(&line.pv[0])), "{player:?}");
    }
    for (player, limit) in [(Player::Minimax, 3), (Player::AlphaBeta, 3), (Player::UctValue, 2)] {
        let outcome = think(player, &PlayerTask { limits: depth(limit), ..task(game.clone()) });
        assert_eq!((outcome.report.depth, outcome.end_reason), (limit, EndReason::Limit), "{player:?}");
    }
}

#[test]
fn the_observer_and_the_stop_flag_end_every_player() {
    for player in Player::ALL.into_iter().filter(|player| *player != Player::Random) {
        let mut observer = CallLimit { left: 3, visits: Vec::new() };
        let outcome = player.think(&task(Game::new()), &mut observer, &AtomicBool::new(false));
        assert_eq!((outcome.end_reason, observer.visits.len()), (EndReason::Stopped, 3), "{player:?}");
        assert!(observer.visits[0] > 0 && observer.visits.is_sorted(), "{player:?}: {:?}", observer.visits);
        let mut observer = CallLimit { left: u64::MAX, visits: Vec::new() };
        let outcome = player.think(&task(Game::new()), &mut observer, &AtomicBool::new(true));
        assert_eq!((outcome.end_reason, outcome.report.lines.len()), (EndReason::Stopped, 20), "{player:?}");
    }
    for method in [FullWidthMethod::Minimax, FullWidthMethod::AlphaBeta] {
        let mut observer = CallLimit { left: 3, visits: Vec::new() };
        let stopped = full_width(method, &Game::new(), 20, &mut observer, &AtomicBool::new(false));
        assert_eq!((stopped, observer.visits), (None, vec![0, 1024, 2048]), "{method:?}");
        assert_eq!(full_width(method, &Game::new(), 20, &mut (), &AtomicBool::new(true)), None, "{method:?}");
    }
}

#[test]
fn without_a_legal_move_there_is_no_line() {
    for player in Player::ALL {
        let outcome = think(player, &task(from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")));
        assert_eq!((outcome.report.lines.len(), outcome.end_reason), (0, EndReason::Exhausted), "{player:?}");
    }
}

#[test]
fn the_seed_decides() {
    let game = played("d2d4 d7d5");
    for player in Player::ALL {
        let run = |seed| think(player, &PlayerTask { seed, limits: visits(60), ..task(game.clone()) }).report;
        assert_eq!(run(7), run(7), "{player:?}");
        let random = !matches!(player, Player::Minimax | Player::AlphaBeta);
        assert_eq!(run(7) != run(8), random, "{player:?}");
    }
}

#[test]
fn random_plays_every_move_about_as_often() {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for seed in 0..2000 {
        let outcome = think(Player::Random, &PlayerTask { seed, ..task(Game::new()) });
        *counts.entry(best(&outcome.report)).or_default() += 1;
    }
    // A hundred each are expected; five standard deviations are fifty.
    assert!(counts.len() == 20 && counts.values().all(|count| (50..150).contains(count)), "{counts:?}");
}

#[test]
fn uct_visits_every_move_once_and_then_counts_every_game() {
    let game = played("e2e4 e7e6 d2d4 d7d5 b1c3 g8f6 e4e5 f6d7 g1f3 f8b4 f1d3 e8g8");
    for player in [Player::Uct, Player::UctValue] {
        let first = report(player, &game, visits(34));
        assert!(first.lines.len() == 34 && first.lines.iter().all(|line| line.visits == 1), "{player:?}");
        let report = report(player, &game, visits(100));
        assert_eq!(report.lines.iter().map(|line| line.visits).sum::<u64>(), 100);
        // With so much exploration every move has been visited again, and none often.
        assert!(report.lines.iter().all(|line| (1..=8).contains(&line.visits)), "{report:?}");
    }
}

#[test]
fn uct_finds_the_scholars_mate_and_what_hangs() {
    let mate = report(Player::Uct, &played(SCHOLAR), visits(400));
    assert_eq!((best(&mate).as_str(), mate.lines[0].score), ("h5f7", Score::Mate(1)));
    assert_eq!(mate.lines[0].wdl.win, 1.0);
    let value = report(Player::UctValue, &from_fen("7k/8/8/3q4/4P3/8/8/6K1 w - - 0 1"), visits(2000));
    assert_eq!(best(&value), "e4d5");
}

#[test]
fn a_full_tree_is_searched_further_without_growing() {
    let small = PlayerTask {
        memory: 20_000,
        limits: visits(3000),
        uct: UctParams { rollout: 0, ..UctParams::default() },
        ..task(Game::new())
    };
    let outcome = think(Player::UctValue, &small);
    assert_eq!(outcome.report.visits, 3000);
    assert!(outcome.report.hashfull > 900, "{}", outcome.report.hashfull);
    assert!(outcome.report.seldepth <= 6, "{}", outcome.report.seldepth);
}

#[test]
fn root_moves_have_statistics_to_show() {
    let game = played("e2e4 e7e5 g1f3 b8c6");
    let legal = game.legal_moves().len();
    for (player, limits) in [
        (Player::Minimax, depth(2)),
        (Player::AlphaBeta, depth(3)),
        (Player::Uct, visits(200)),
        (Player::UctValue, visits(200)),
    ] {
        let SearchOutcome { report, stats, .. } = think(player, &PlayerTask { limits, ..task(game.clone()) });
        assert_eq!(stats.len(), legal, "{player:?}");
        // The moves in the order of the lines, with their values.
        for (stats, line) in stats.iter().zip(&report.lines) {
            assert_eq!((stats.m, stats.wdl), (line.pv[0], line.wdl), "{player:?}");
            assert!(stats.visits > 0 && (stats.q - stats.wdl.q()).abs() < 1e-6, "{player:?}: {stats:?}");
        }
        assert_eq!(stats.iter().map(|stats| stats.visits).sum::<u64>(), report.visits, "{player:?}");
        assert!((stats.iter().map(|stats| stats.prior).sum::<f32>() - 1.0).abs() < 1e-4);
    }
    // UCT's U is twice the exploration term √2 · √(ln 200 / n), as Q is twice the payout.
    let outcome = think(Player::Uct, &PlayerTask { limits: visits(200), ..task(game.clone()) });
    let best = &outcome.stats[0];
    let expected = 2.0 * std::f32::consts::SQRT_2 * (200f32.ln() / best.visits as f32).sqrt();
    assert!((best.u - expected).abs() < 1e-5, "{} {expected}", best.u);
    assert!(think(Player::Random, &task(game)).stats.is_empty());
}
