//! Reports as `info` and `bestmove` lines.

use std::fmt::Write;
use std::time::Duration;

use shakmaty::Move;

use crate::eval::Wdl;
use crate::position::Game;
use crate::search::{PvLine, Report, Score};

/// Formats the lines of one search.
#[derive(Clone, Debug)]
pub struct Printer {
    /// Write castling as king takes rook.
    pub chess960: bool,
    /// Add win, draw and loss to the score.
    pub show_wdl: bool,
    /// The largest number of lines of a report to write.
    pub multipv: usize,
    /// Table hits of the root probe, before the search.
    pub root_hits: u64,
    depth: u32,
}

impl Printer {
    /// A printer for one search.
    pub fn new(chess960: bool, show_wdl: bool, multipv: usize) -> Printer {
        Printer { chess960, show_wdl, multipv, root_hits: 0, depth: 1 }
    }

    /// The `info` lines of a report, best line first, `time` after `go`.
    ///
    /// The printed depth never falls within a search.
    pub fn lines(&mut self, report: &Report, time: Duration) -> Vec<String> {
        self.depth = self.depth.max(report.depth);
        let ranked = report.lines.iter().take(self.multipv).zip(1..);
        ranked.map(|(line, rank)| self.line(report, line, rank, time)).collect()
    }

    fn line(&self, report: &Report, line: &PvLine, rank: usize, time: Duration) -> String {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let nps = report.visits.saturating_mul(1000) / ms.max(1);
        let mut text = format!("info depth {} seldepth {}", self.depth, report.seldepth.max(self.depth));
        // Writing to a string does not fail.
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
        let _ = write!(text, " nodes {nodes} nps {nps} hashfull {hashfull} tbhits {tbhits} time {ms} pv");
        for &m in &line.pv {
            let _ = write!(text, " {}", Game::uci(m, self.chess960));
        }
        text
    }

    /// The `bestmove` line: the first move of a variation, and its second as the ponder move.
    pub fn bestmove(&self, pv: &[Move]) -> Option<String> {
        let text = |m: &Move| Game::uci(*m, self.chess960);
        let best = text(pv.first()?);
        Some(match pv.get(1).map(text) {
            Some(reply) => format!("bestmove {best} ponder {reply}"),
            None => format!("bestmove {best}"),
        })
    }
}

/// Win, draw and loss per mille, summing to 1000.
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
            Printer::new(false, true, 1).lines(&report, time),
            ["info depth 4 seldepth 9 multipv 1 score cp -13 wdl 200 700 100 nodes 5000 nps 2500 \
              hashfull 3 tbhits 0 time 2000 pv e2e4 e7e5"]
        );
        let quick = Printer::new(false, false, 1).lines(&report, Duration::ZERO);
        assert!(quick[0].contains("score cp -13 nodes 5000 nps 5000000 "), "{quick:?}");
    }

    #[test]
    fn multipv_shows_the_best_lines_in_order() {
        let lines = [("e2e4", Score::Cp(3)), ("d2d4", Score::Cp(2)), ("a2a3", Score::Mate(-2))];
        let report = report(&Game::new(), &lines);
        assert_eq!(Printer::new(false, false, 2).lines(&report, Duration::ZERO).len(), 2);
        let all = Printer::new(false, false, 500).lines(&report, Duration::ZERO);
        assert_eq!(all.len(), 3);
        assert!(all[2].contains(" multipv 3 score mate -2 "), "{all:?}");
        assert!(all.iter().all(|line| line.contains("depth 4 ")));
    }

    #[test]
    fn depth_never_falls() {
        let mut report = report(&Game::new(), &[("e2e4", Score::Cp(0))]);
        let mut printer = Printer::new(false, false, 1);
        for (depth, shown) in [(0, 1), (3, 3), (2, 3), (5, 5)] {
            report.depth = depth;
            let lines = printer.lines(&report, Duration::ZERO);
            assert!(lines[0].starts_with(&format!("info depth {shown} ")), "{lines:?}");
        }
    }

    #[test]
    fn bestmove_names_the_reply_and_castles_as_the_gui_wants() {
        let game = Game::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let report = report(&game, &[("e1g1 e8c8", Score::Cp(0))]);
        let pv = &report.lines[0].pv;
        let standard = Printer::new(false, false, 1);
        assert_eq!(standard.bestmove(pv).as_deref(), Some("bestmove e1g1 ponder e8c8"));
        assert_eq!(standard.bestmove(&pv[..1]).as_deref(), Some("bestmove e1g1"));
        assert_eq!(standard.bestmove(&[]), None);
        let chess960 = Printer::new(true, false, 1);
        assert_eq!(chess960.bestmove(pv).as_deref(), Some("bestmove e1h1 ponder e8a8"));
    }

    #[test]
    fn wdl_sums_to_a_thousand() {
        for (win, draw, loss) in [(0.3335, 0.333, 0.3335), (0.9996, 0.0, 0.0004), (0.0, 0.0005, 0.9995)] {
            assert_eq!(per_mille(Wdl { win, draw, loss }).iter().sum::<u32>(), 1000);
        }
    }
}
