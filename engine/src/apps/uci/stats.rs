//! The root statistics in lc0's format, which Nibbler displays.

use std::fmt::Write;

use shakmaty::Color;

use crate::chess::position::Game;
use crate::nets::encoding::az4672;
use crate::nets::eval::Wdl;
use crate::search::MoveStats;

/// Formats `info string` lines like lc0's `GetVerboseStats` (`src/search/classic/search.cc`): the least visited move
/// first, the root last. The number in brackets is the `az4672` index. Empty without a move.
pub fn lines(turn: Color, stats: &[MoveStats], chess960: bool) -> Vec<String> {
    let mut sorted: Vec<&MoveStats> = stats.iter().collect();
    sorted.sort_by(|a, b| a.visits.cmp(&b.visits).then((a.q + a.u).total_cmp(&(b.q + b.u))));
    let mut lines: Vec<String> = sorted.iter().map(|stats| line(turn, stats, chess960)).collect();
    if !stats.is_empty() {
        lines.push(root_line(stats));
    }
    lines
}

fn line(turn: Color, stats: &MoveStats, chess960: bool) -> String {
    let index = az4672::index(turn, stats.m).offset();
    let mut text = head(&Game::uci(stats.m, chess960), index, stats.visits, stats.in_flight, stats.prior);
    text += &match stats.visits {
        0 => format!("(WL:  -.-----) (D: -.---) (M:  -.-) (Q: {:8.5}) ", stats.q),
        _ => results(stats.wdl, stats.q),
    };
    let _ = write!(text, "(U: {:6.5}) (S: {:8.5}) {}", stats.u, stats.q + stats.u, value(stats.value));
    text
}

fn root_line(stats: &[MoveStats]) -> String {
    let visits: u64 = stats.iter().map(|stats| stats.visits).sum();
    let in_flight = stats.iter().map(|stats| stats.in_flight).sum();
    let visited = stats.iter().filter(|stats| stats.visits > 0);
    let policy = visited.clone().map(|stats| stats.prior).sum();
    let mean = |of: fn(&MoveStats) -> f32| {
        let sum: f64 = visited.clone().map(|stats| f64::from(of(stats)) * stats.visits as f64).sum();
        (sum / visits.max(1) as f64) as f32
    };
    let wdl = Wdl {
        win: mean(|stats| stats.wdl.win),
        draw: mean(|stats| stats.wdl.draw),
        loss: mean(|stats| stats.wdl.loss),
    };
    // The root's own evaluation counts as a visit.
    let head = head("node", stats.len(), visits + 1, in_flight, policy);
    format!("{head}{}{}", results(wdl, mean(|stats| stats.q)), value(None))
}

fn head(label: &str, index: usize, visits: u64, in_flight: u64, prior: f32) -> String {
    let digits = if prior >= 0.99995 { 1 } else { 2 };
    let percent = prior * 100.0;
    format!("info string {label:<5} ({index:<4}) N: {visits:7} (+{in_flight:2}) (P: {percent:5.digits$}%) ")
}

fn results(wdl: Wdl, q: f32) -> String {
    format!("(WL: {:8.5}) (D: {:5.3}) (M:  0.0) (Q: {q:8.5}) ", wdl.q(), wdl.draw)
}

fn value(value: Option<f32>) -> String {
    value.map_or("(V:  -.----)".to_owned(), |value| format!("(V: {value:7.4})"))
}

#[cfg(test)]
mod tests {
    use shakmaty::Move;

    use super::*;

    fn unvisited(m: Move, prior: f32, q: f32, u: f32) -> MoveStats {
        MoveStats { m, visits: 0, in_flight: 0, prior, q, wdl: Wdl::DRAW, u, value: None, proof: None }
    }

    #[test]
    fn lines_have_lc0s_format() {
        let game = Game::new();
        let m = |text: &str| game.parse_uci(text).unwrap();
        let stats = [
            MoveStats {
                m: m("e2e4"),
                visits: 15,
                in_flight: 0,
                prior: 0.2018,
                q: 0.03125,
                wdl: Wdl { win: 0.34, draw: 0.36, loss: 0.3 },
                u: 0.0425,
                value: Some(-0.0312),
                proof: None,
            },
            unvisited(m("a2a3"), 0.01, -0.5, 0.125),
        ];
        // `az4672` index of e2e4: e2 is square 12, two squares north is type 1: 12 · 73 + 1 = 877. a2a3: 8 · 73 = 584.
        assert_eq!(
            lines(Color::White, &stats, false),
            [
                "info string a2a3  (584 ) N:       0 (+ 0) (P:  1.00%) (WL:  -.-----) (D: -.---) \
                 (M:  -.-) (Q: -0.50000) (U: 0.12500) (S: -0.37500) (V:  -.----)",
                "info string e2e4  (877 ) N:      15 (+ 0) (P: 20.18%) (WL:  0.04000) (D: 0.360) \
                 (M:  0.0) (Q:  0.03125) (U: 0.04250) (S:  0.07375) (V: -0.0312)",
                "info string node  (2   ) N:      16 (+ 0) (P: 20.18%) (WL:  0.04000) (D: 0.360) \
                 (M:  0.0) (Q:  0.03125) (V:  -.----)",
            ]
        );
        assert_eq!(lines(Color::White, &[], false), [""; 0]);
    }

    #[test]
    fn the_root_is_the_mean_of_its_visits() {
        let moves = Game::new().legal_moves();
        let stats = |index: usize, visits, q| MoveStats {
            visits,
            wdl: Wdl { win: f32::midpoint(1.0, q), draw: 0.0, loss: f32::midpoint(1.0, -q) },
            ..unvisited(moves[index], 0.5, q, 0.0)
        };
        let lines = lines(Color::White, &[stats(0, 30, 0.5), stats(1, 10, -0.5)], false);
        // (30 · 0.5 − 10 · 0.5) / 40
        assert!(lines[2].contains("N:      41 (+ 0) (P: 100.0%) (WL:  0.25000)"), "{}", lines[2]);
        assert!(lines[2].contains("(Q:  0.25000)"), "{}", lines[2]);
        assert!(lines[0].contains("N:      10"), "the least visited first");
    }
}
