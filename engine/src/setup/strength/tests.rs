//! The table of strengths is monotone, and a random choice never loses a queen.

use std::collections::HashMap;

use shakmaty::{Move, Position, Role};

use super::*;
use crate::nets::eval::{Answer, EvalError, Evaluator, Request, Wdl};
use crate::search::{Limits, Pool, Proof, SearchCounters};

const SEEDS: u64 = 500;

fn wdl(q: f32) -> Wdl {
    Wdl { win: f32::midpoint(1.0, q), draw: 0.0, loss: f32::midpoint(1.0, -q) }
}

/// First legal moves of the initial position; `lines` are (visits, Q, mate).
fn report(lines: &[(u64, f32, Option<i32>)]) -> Report {
    let moves = Game::new().legal_moves();
    let line = |(&(visits, q, mate), &m): (&(u64, f32, Option<i32>), &Move)| PvLine {
        pv: vec![m],
        score: mate.map_or(Score::from_q(q), Score::Mate),
        wdl: wdl(q),
        visits,
    };
    let lines: Vec<PvLine> = lines.iter().zip(&moves).map(line).collect();
    Report {
        visits: 100,
        counters: SearchCounters::default(),
        depth: 1,
        seldepth: 1,
        hashfull: 0,
        tbhits: 0,
        lines,
    }
}

fn choices(elo: i64, report: &Report) -> HashMap<usize, u64> {
    let strength = Strength::of_elo(elo);
    let mut counts = HashMap::new();
    for seed in 0..SEEDS {
        *counts.entry(strength.choose(report, seed)).or_default() += 1;
    }
    counts
}

#[test]
fn a_higher_rating_allows_more_visits_and_less_randomness() {
    for elo in (WEAKEST..STRONGEST).step_by(10) {
        let [weak, strong] = [elo, elo + 10].map(Strength::of_elo);
        // Below 1260, weaker levels have more visits.
        let [few, many] =
            if elo < 1260 { [strong.visits, weak.visits] } else { [weak.visits, strong.visits] };
        assert!(few <= many, "{weak:?} {strong:?}");
        assert!(weak.policy >= strong.policy && weak.choice > strong.choice, "{weak:?} {strong:?}");
        assert!(weak.margin > strong.margin && weak.seen <= strong.seen, "{weak:?} {strong:?}");
    }
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let low = Strength::of_elo(WEAKEST);
    assert!(low.visits == 87 && close(low.choice, 7.95) && close(low.margin, 1.93), "{low:?}");
    assert_eq!(Strength::of_elo(i64::MIN), low);
    assert_eq!(Strength::of_elo(i64::MAX), Strength::of_elo(STRONGEST));
    // 1920 is half-way from 300 to 1,200 visits: √(300 · 1,200) = 600.
    assert_eq!(Strength::of_elo(1920).visits, 600);
}

#[test]
fn skill_levels_are_on_the_same_scale_and_the_highest_is_no_limit() {
    assert_eq!(Strength::of_skill(0), Some(Strength::of_elo(WEAKEST)));
    assert_eq!(Strength::of_skill(10), Some(Strength::of_elo(1620)));
    assert_eq!(Strength::of_skill(FULL_SKILL), None);
}

#[test]
fn probabilities_follow_visits_and_temperature() {
    // Equal values with 8 visits to 1 have odds of 2 to 1 at temperature 3. A single visit is not enough beside better
    // visited moves.
    let strength = Strength { visits: 1, policy: 1.0, choice: 3.0, margin: 0.1, seen: 0.0 };
    let report = report(&[(16, 0.0, None), (2, 0.0, None), (1, 0.0, None)]);
    let first = (0..30_000).filter(|seed| strength.choose(&report, *seed) == 0).count();
    assert!((19_500..20_500).contains(&first), "{first}");
    assert!((0..SEEDS).all(|seed| strength.choose(&report, seed) < 2));
}

#[test]
fn a_move_beyond_the_margin_is_never_chosen() {
    // The margin at 1510 is 0.27: atanh 0.27 = 0.2769 exceeds it, atanh 0.26 is within.
    let even = report(&[(50, 0.0, None), (40, -0.27, None), (30, -0.26, None)]);
    let counts = choices(1510, &even);
    assert!(!counts.contains_key(&1) && counts[&0] > 0 && counts[&2] > 0, "{counts:?}");
    // A queen is too much in a nearly lost game: atanh −0.8 − atanh −0.95 = 0.73.
    let lost = report(&[(50, -0.8, None), (40, -0.95, None)]);
    assert_eq!(choices(1510, &lost).len(), 1);
    // The weakest level may lose a queen.
    assert_eq!(choices(WEAKEST, &lost).len(), 2);
    let trap = report(&[(50, -0.9, None), (20, 0.0, None)]);
    assert_eq!(choices(1510, &trap), HashMap::from([(1, SEEDS)]));
    // At 2295, a move needs half of the most visited move's visits.
    let hardly_seen =
        report(&[(50_000, 0.1, None), (26_000, 0.105, None), (24_000, 0.3, None), (2, 0.9, None)]);
    assert_eq!(choices(STRONGEST, &hardly_seen), HashMap::from([(0, SEEDS)]));
    assert_eq!(choices(2295, &hardly_seen), HashMap::from([(0, SEEDS)]));
    assert_eq!(choices(2145, &hardly_seen), HashMap::from([(3, SEEDS)]));
}

#[test]
fn mates_are_played_and_allowed_only_if_nothing_else_is_left() {
    let won = report(&[(3, 1.0, Some(1)), (90, 0.999, None)]);
    assert_eq!(choices(WEAKEST, &won), HashMap::from([(0, SEEDS)]));
    let close = report(&[(9, -0.99, None), (9, -0.999, Some(-1)), (9, -0.99, None)]);
    assert!(!choices(WEAKEST, &close).contains_key(&1));
    let mated = report(&[(9, -1.0, Some(-3)), (9, -1.0, Some(-1))]);
    assert_eq!(choices(WEAKEST, &mated), HashMap::from([(0, SEEDS)]));
    assert_eq!(choices(WEAKEST, &report(&[(0, 0.0, None), (0, 0.0, None)])), HashMap::from([(0, SEEDS)]));
    assert_eq!(choices(WEAKEST, &report(&[])), HashMap::from([(0, SEEDS)]));
}

/// First legal moves of the initial position; `moves` are (visits, prior, proof).
fn stats(moves: &[(u64, f32, Option<Proof>)]) -> Vec<MoveStats> {
    let legal = Game::new().legal_moves();
    let stats = |(&(visits, prior, proof), &m): (&(u64, f32, Option<Proof>), &Move)| MoveStats {
        m,
        visits,
        in_flight: 0,
        prior,
        q: 0.0,
        wdl: wdl(0.0),
        u: 0.0,
        value: None,
        proof,
    };
    moves.iter().zip(&legal).map(stats).collect()
}

fn drawn(stats: &[MoveStats], temperature: f32) -> [usize; 3] {
    let mut counts = [0; 3];
    (0..1000).for_each(|seed| counts[draw(stats, temperature, seed)] += 1);
    counts
}

#[test]
fn a_temperature_draws_by_visits_and_without_any_by_the_policy() {
    // Odds of 8 : 1 visits are 2 : 1 at temperature 3.
    let by_visits = stats(&[(80, 0.1, None), (10, 0.9, None), (0, 0.0, None)]);
    let [first, second, third] = drawn(&by_visits, 3.0);
    assert!((620..715).contains(&first) && second == 1000 - first && third == 0, "{first} {second} {third}");
    let [first, ..] = drawn(&by_visits, 1.0);
    assert!((850..925).contains(&first), "{first}");
    assert_eq!(drawn(&by_visits, 0.01), [1000, 0, 0]);
    let by_policy = stats(&[(0, 0.6, None), (0, 0.3, None), (0, 0.1, None)]);
    let [first, second, third] = drawn(&by_policy, 1.0);
    assert!((550..650).contains(&first) && (255..345).contains(&second), "{first} {second} {third}");
}

#[test]
fn proven_moves_are_not_drawn_randomly() {
    let (win, loss) = (Some(Proof::Win(3)), Some(Proof::Loss(4)));
    assert_eq!(drawn(&stats(&[(1, 0.1, win), (99, 0.9, None)]), 1.0), [1000, 0, 0]);
    assert_eq!(drawn(&stats(&[(5, 0.1, None), (99, 0.9, loss)]), 1.0), [1000, 0, 0]);
    assert_eq!(drawn(&stats(&[(5, 0.1, loss), (9, 0.9, loss)]), 1.0), [1000, 0, 0]);
    assert_eq!(draw(&[], 1.0, 0), 0);
}

#[test]
fn games_differ_and_positions_do() {
    let mut game = Game::new();
    let first = seed(&game, 1);
    assert_eq!(first, seed(&game, 1));
    assert_ne!(first, seed(&game, 2));
    for text in ["g1f3", "g8f6", "f3g1", "f6g8"] {
        game.play(game.parse_uci(text).unwrap());
    }
    assert_ne!(first, seed(&game, 1), "the same position, later");
}

/// Values only taking and saving the queen.
struct QueenHunter;

fn can_take_the_queen(game: &Game) -> bool {
    game.legal_moves().iter().any(|m| m.capture() == Some(Role::Queen))
}

impl Evaluator for QueenHunter {
    fn max_batch(&self) -> usize {
        1
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        let answer = |request: &Request<'_>| {
            let board = request.game.position().board();
            let queens = |color| board.by_color(color) & board.queens();
            let turn = request.game.turn();
            let q = if can_take_the_queen(request.game) {
                0.9
            } else if queens(turn).is_empty() {
                -0.9
            } else {
                0.0
            };
            let weight = |m: &Move| {
                let mut after = request.game.clone();
                after.play(*m);
                match m.capture() {
                    Some(Role::Queen) => 100.0,
                    _ if can_take_the_queen(&after) => 1.0,
                    _ => 10.0,
                }
            };
            let all: f32 = request.moves.iter().map(weight).sum();
            Answer { wdl: wdl(q), priors: request.moves.iter().map(|m| weight(m) / all).collect() }
        };
        Ok(batch.iter().map(answer).collect())
    }
}

#[test]
fn a_random_choice_never_loses_the_queen() {
    for fen in [
        // A pawn attacks the queen on h5, which has few safe squares.
        "r1bqkbnr/pppp1p1p/2n3p1/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 4",
        // A knight attacks the queen on d4.
        "r1bqkbnr/pppp1ppp/2n5/8/3QP3/8/PPP2PPP/RNB1KBNR w KQkq - 1 4",
    ] {
        let game = Game::from_fen(fen).unwrap();
        for elo in [WEAKEST, 1010, 1500, STRONGEST] {
            let strength = Strength::of_elo(elo);
            let params = strength.limit(&Params::default());
            let mut pool = Pool::new(vec![Box::new(QueenHunter)], params, 1 << 24);
            let limits = Limits { visits: Some(strength.visits.min(500)), ..Limits::default() };
            let report = pool.search(&game, limits).report;
            let mut played = std::collections::HashSet::new();
            for number in 0..SEEDS {
                let m = report.lines[strength.choose(&report, seed(&game, number))].pv[0];
                let mut after = game.clone();
                after.play(m);
                assert!(!can_take_the_queen(&after), "{fen} at {elo}: {m:?}");
                played.insert(m.to_string());
            }
            assert!(played.len() > 1 || elo > WEAKEST, "{fen}: always {played:?}");
        }
    }
}
