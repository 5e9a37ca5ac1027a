//! Formats search reports as `info` lines.

use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

use crate::chess::position::Game;
use crate::nets::eval::Wdl;
use crate::search::{PvLine, Report, Score};
use crate::setup::legal_part;

#[derive(Clone, Debug)]
pub struct Printer {
    root: Game,
    pub chess960: bool,
    pub show_wdl: bool,
    pub multipv: usize,
    /// Tablebase hits before the search.
    pub root_hits: u64,
    /// The first move was drawn at random, so later lines may have higher scores.
    pub is_drawn: bool,
    depth: u32,
    /// The last lines without the fields that depend on time.
    shown: Vec<String>,
}

impl Printer {
    pub fn new(root: &Game, chess960: bool, show_wdl: bool, multipv: usize) -> Printer {
        Printer {
            root: root.clone(),
            chess960,
            show_wdl,
            multipv,
            root_hits: 0,
            is_drawn: false,
            depth: 1,
            shown: Vec::new(),
        }
    }

    /// The move to be played comes first, then the others by score, unvisited moves, and lost ones. A score above that
    /// of the line before is lowered to it, because few visits support it. The depth never falls within a search.
    /// `time` counts from `go`.
    pub fn lines(&mut self, report: &Report, time: Duration) -> Vec<String> {
        self.depth = self.depth.max(report.depth);
        let mut lines: Vec<PvLine> =
            report.lines.iter().take(self.multipv).map(|line| self.legal(line)).collect();
        lines.retain(|line| !line.pv.is_empty());
        // Classical players count no visits.
        let are_counted = lines.iter().any(|line| line.visits > 0);
        let group = |line: &PvLine| match line.score {
            Score::Mate(moves) if moves <= 0 => 2,
            Score::Cp(_) if are_counted && line.visits == 0 => 1,
            _ => 0,
        };
        if let Some(others) = lines.get_mut(1..) {
            others.sort_by_key(|line| (group(line), Reverse(ranking(line))));
        }
        let mut lowest: Option<PvLine> = None;
        for line in &mut lines {
            if let Some(before) = lowest.as_ref().filter(|before| ranking(line) > ranking(before))
                && !self.is_drawn
            {
                (line.score, line.wdl) = (before.score, before.wdl);
            }
            lowest = Some(line.clone());
        }
        self.shown = lines.iter().zip(1..).map(|(line, rank)| self.line(report, line, rank, None)).collect();
        lines.iter().zip(1..).map(|(line, rank)| self.line(report, line, rank, Some(time))).collect()
    }

    /// Like [`Printer::lines`], but empty if only times changed since the last lines.
    pub fn last_lines(&mut self, report: &Report, time: Duration) -> Vec<String> {
        let before = std::mem::take(&mut self.shown);
        let lines = self.lines(report, time);
        if self.shown == before { Vec::new() } else { lines }
    }

    fn legal(&self, line: &PvLine) -> PvLine {
        let pv = legal_part(&self.root, &line.pv, self.chess960);
        debug_assert_eq!(pv, line.pv, "a variation is not legal in {}", self.root.fen());
        PvLine { pv: pv.to_vec(), ..line.clone() }
    }

    /// A `time` of `None` leaves out the fields that depend on time.
    fn line(&self, report: &Report, line: &PvLine, rank: usize, time: Option<Duration>) -> String {
        let mut text = format!("info depth {} seldepth {}", self.depth, report.seldepth.max(self.depth));
        let _ = match line.score {
            Score::Cp(cp) => write!(text, " multipv {rank} score cp {cp}"),
            Score::Mate(moves) => write!(text, " multipv {rank} score mate {moves}"),
        };
        if self.show_wdl {
            let [win, draw, loss] = per_mille(line.wdl);
            let _ = write!(text, " wdl {win} {draw} {loss}");
        }
        let (nodes, hashfull) = (report.visits, report.hashfull);
        let tbhits = self.root_hits + report.tbhits;
        let _ = write!(text, " nodes {nodes}");
        if let Some(time) = time {
            let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            let nps = nodes.saturating_mul(1000) / ms.max(1);
            let _ = write!(text, " nps {nps} hashfull {hashfull} tbhits {tbhits} time {ms}");
        }
        text.push_str(" pv");
        for &m in &line.pv {
            let _ = write!(text, " {}", Game::uci(m, self.chess960));
        }
        text
    }
}

/// Winning mates by length, then centipawns, then losing mates.
fn ranking(line: &PvLine) -> (i32, i32) {
    match line.score {
        Score::Mate(moves) if moves > 0 => (1, -moves),
        Score::Cp(centipawns) => (0, centipawns),
        // A later mate is better for the mated side.
        Score::Mate(moves) => (-1, -moves),
    }
}

/// The parts sum to 1000.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=1000")]
fn per_mille(wdl: Wdl) -> [u32; 3] {
    let thousandths = |share: f32| (share * 1000.0).round().clamp(0.0, 1000.0) as u32;
    let win = thousandths(wdl.win);
    let loss = thousandths(wdl.loss).min(1000 - win);
    [win, 1000 - win - loss, loss]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::SearchCounters;

    fn report(game: &Game, lines: &[(&str, Score)]) -> Report {
        let line = |&(moves, score): &(&str, Score)| {
            let mut game = game.clone();
            let mut pv = Vec::new();
            for text in moves.split_whitespace() {
                let m = game.parse_uci(text).unwrap();
                game.play(m);
                pv.push(m);
            }
            PvLine { pv, score, wdl: Wdl { win: 0.2, draw: 0.7, loss: 0.1 }, visits: 1 }
        };
        let lines = lines.iter().map(line).collect();
        Report {
            visits: 5000,
            counters: SearchCounters::default(),
            depth: 4,
            seldepth: 9,
            hashfull: 3,
            tbhits: 0,
            lines,
        }
    }

    #[test]
    fn a_line_has_every_field_in_integers() {
        let report = report(&Game::new(), &[("e2e4 e7e5", Score::Cp(-13))]);
        let time = Duration::from_micros(2_000_900);
        assert_eq!(
            Printer::new(&Game::new(), false, true, 1).lines(&report, time),
            ["info depth 4 seldepth 9 multipv 1 score cp -13 wdl 200 700 100 nodes 5000 nps 2500 \
              hashfull 3 tbhits 0 time 2000 pv e2e4 e7e5"]
        );
        let quick = Printer::new(&Game::new(), false, false, 1).lines(&report, Duration::ZERO);
        assert!(quick[0].contains("score cp -13 nodes 5000 nps 5000000 "), "{quick:?}");
    }

    #[test]
    fn multipv_shows_the_best_lines_in_order() {
        let lines = [("e2e4", Score::Cp(3)), ("d2d4", Score::Cp(2)), ("a2a3", Score::Mate(-2))];
        let report = report(&Game::new(), &lines);
        assert_eq!(Printer::new(&Game::new(), false, false, 2).lines(&report, Duration::ZERO).len(), 2);
        let all = Printer::new(&Game::new(), false, false, 500).lines(&report, Duration::ZERO);
        assert_eq!(all.len(), 3);
        assert!(all[2].contains(" multipv 3 score mate -2 "), "{all:?}");
        assert!(all.iter().all(|line| line.contains("depth 4 ")));
    }

    fn shown(lines: &[String]) -> Vec<(String, String)> {
        let score = |line: &String| {
            let score = line.split_once(" score ").unwrap().1.split_once(" nodes ").unwrap().0;
            (line.rsplit(' ').next().unwrap().to_owned(), score.to_owned())
        };
        lines.iter().map(score).collect()
    }

    #[test]
    fn the_move_to_be_played_comes_first_and_scores_fall() {
        let lines = [
            ("e2e4", Score::Cp(20)),
            ("d2d4", Score::Cp(-7)),
            ("g1f3", Score::Cp(35)),
            ("b1c3", Score::Mate(-3)),
            ("c2c4", Score::Mate(-5)),
            ("a2a3", Score::Cp(30)),
        ];
        let mut report = report(&Game::new(), &lines);
        report.lines[5].visits = 0;
        let order = |printer: &mut Printer| shown(&printer.lines(&report, Duration::ZERO));
        let expected = [
            ("e2e4", "cp 20"),
            // Fewer visits than e2e4: 35 is capped.
            ("g1f3", "cp 20"),
            ("d2d4", "cp -7"),
            ("a2a3", "cp -7"),
            ("c2c4", "mate -5"),
            ("b1c3", "mate -3"),
        ]
        .map(|(m, score)| (m.to_owned(), score.to_owned()));
        let mut printer = Printer::new(&Game::new(), false, false, 500);
        assert_eq!(order(&mut printer), expected);
        // MultiPV selects before the lines are sorted.
        assert_eq!(
            order(&mut Printer::new(&Game::new(), false, false, 2)),
            [expected[0].clone(), expected[2].clone()]
        );
        printer.is_drawn = true;
        assert_eq!(order(&mut printer)[1], ("g1f3".to_owned(), "cp 35".to_owned()));
    }

    /// A debug build panics instead, because an illegal move is a bug of the search.
    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "a variation is not legal"))]
    fn an_illegal_move_cuts_the_variation() {
        let mut report = report(&Game::new(), &[("e2e4 e7e5", Score::Cp(3)), ("d2d4", Score::Cp(2))]);
        let knight = Game::new().parse_uci("g1f3").unwrap();
        report.lines[0].pv.insert(1, knight);
        let lines = Printer::new(&Game::new(), false, false, 2).lines(&report, Duration::ZERO);
        assert!(lines[0].ends_with(" pv e2e4") && lines[1].ends_with(" pv d2d4"), "{lines:?}");
    }

    #[test]
    fn the_last_lines_are_not_repeated() {
        let mut report = report(&Game::new(), &[("e2e4 e7e5", Score::Cp(3)), ("d2d4", Score::Cp(2))]);
        let mut printer = Printer::new(&Game::new(), false, false, 2);
        assert_eq!(printer.last_lines(&report, Duration::ZERO).len(), 2, "nothing was shown");
        assert_eq!(printer.lines(&report, Duration::ZERO).len(), 2, "during the search all are");
        assert_eq!(printer.last_lines(&report, Duration::from_secs(1)), [""; 0]);
        report.visits += 1;
        assert_eq!(printer.last_lines(&report, Duration::from_secs(1)).len(), 2);
        report.lines.swap(0, 1);
        assert_eq!(printer.last_lines(&report, Duration::from_secs(1)).len(), 2);
    }

    #[test]
    fn depth_never_falls() {
        let mut report = report(&Game::new(), &[("e2e4", Score::Cp(0))]);
        let mut printer = Printer::new(&Game::new(), false, false, 1);
        for (depth, shown) in [(0, 1), (3, 3), (2, 3), (5, 5)] {
            report.depth = depth;
            let lines = printer.lines(&report, Duration::ZERO);
            assert!(lines[0].starts_with(&format!("info depth {shown} ")), "{lines:?}");
        }
    }

    #[test]
    fn wdl_sums_to_a_thousand() {
        for (win, draw, loss) in [(0.3335, 0.333, 0.3335), (0.9996, 0.0, 0.0004), (0.0, 0.0005, 0.9995)] {
            assert_eq!(per_mille(Wdl { win, draw, loss }).iter().sum::<u32>(), 1000);
        }
    }
}
