//! Scores in `[%eval …]` comments. Conventions differ in the position scored and in the unit of mate distances.

use std::fmt;

use clap::ValueEnum;
use shakmaty::Color;

pub const NO_EVAL: i16 = i16::MIN;
/// Centipawns are clamped to ± this.
pub const MAX_CENTIPAWNS: i16 = 29_000;
/// A mate in n plies is ±(this − n).
pub const MATE_SCORE: i16 = 30_000;
/// Longer mates count as this many plies.
pub const MATE_LIMIT: u32 = 999;

/// To which position the `[%eval]` after a move belongs, and from whose point of view it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EvalSide {
    /// `after` in games whose tags name Lichess, and from the first score with a depth on, as ChessBase (`23,14`, in
    /// centipawns) and python-chess (`0.23,14`) write it; else `before`
    #[default]
    Auto,
    /// The position before the move, for White; `#n` counts plies, the move included (written by `export-pgn`)
    Before,
    /// The position after the move, for White; `#n` counts moves (written by Lichess and ChessBase)
    After,
    /// As `before`, but for the side that moves
    Mover,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvalCounts {
    pub before: u64,
    pub after: u64,
    pub mover: u64,
    /// Neither pawns nor `#n`.
    pub unreadable: u64,
}

impl EvalCounts {
    pub(crate) fn count(&mut self, side: EvalSide) {
        match side {
            EvalSide::After => self.after += 1,
            EvalSide::Mover => self.mover += 1,
            EvalSide::Before | EvalSide::Auto => self.before += 1,
        }
    }

    pub(crate) fn add(&mut self, other: EvalCounts) {
        self.before += other.before;
        self.after += other.after;
        self.mover += other.mover;
        self.unreadable += other.unreadable;
    }
}

impl fmt::Display for EvalCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.before, "of the position before the move"),
            (self.after, "of the position after the move"),
            (self.mover, "of the position before the move, for the side that moves"),
        ];
        let taken = counts.iter().filter(|(count, _)| *count > 0);
        let mut named: Vec<String> = taken.map(|(count, what)| format!("{count} taken as {what}")).collect();
        if self.unreadable > 0 {
            named.push(format!(
                "{} left out, because they are neither pawns (0.31) nor mates (#3)",
                self.unreadable
            ));
        }
        f.write_str(if named.is_empty() { "none" } else { "" })?;
        f.write_str(&named.join(", "))
    }
}

/// From White's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum EvalComment {
    Centipawns(i16),
    Mate {
        winner: Color,
        /// Plies or moves, by convention.
        count: u32,
    },
}

/// The first `[%eval …]` of a comment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FoundEval {
    None,
    Unreadable,
    /// With a depth, integers are centipawns (ChessBase); other scores are decimal pawns.
    Score {
        score: EvalComment,
        has_depth: bool,
    },
}

pub(crate) fn find(comment: &[u8]) -> FoundEval {
    const MARK: &[u8] = b"[%eval";
    // Not `[%eval_depth …]`.
    let is_longer =
        |rest: &[u8]| rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let mut found = memchr::memmem::find_iter(comment, MARK).map(|start| &comment[start + MARK.len()..]);
    let Some(rest) = found.find(|rest| !is_longer(rest)) else { return FoundEval::None };
    let rest = rest.trim_ascii_start();
    let ends = |byte: &u8| matches!(byte, b']' | b',' | b'/') || byte.is_ascii_whitespace();
    let end = rest.iter().position(ends).unwrap_or(rest.len());
    let has_depth = matches!(rest.get(end), Some(b',' | b'/'));
    let text = std::str::from_utf8(&rest[..end]).unwrap_or_default();
    let score = match text.parse::<i64>() {
        Ok(centipawns) if has_depth => {
            let limit = i64::from(MAX_CENTIPAWNS);
            Some(EvalComment::Centipawns(centipawns.clamp(-limit, limit) as i16))
        }
        _ => parse(text).filter(|_| end < rest.len()),
    };
    score.map_or(FoundEval::Unreadable, |score| FoundEval::Score { score, has_depth })
}

fn parse(text: &str) -> Option<EvalComment> {
    // Some write M5 or +M5 for #5.
    let text = text.replace('M', "#");
    let text = text.strip_prefix('+').filter(|mate| mate.starts_with('#')).unwrap_or(&text);
    let Some(mate) = text.strip_prefix('#').or_else(|| text.strip_prefix("-#").map(|_| text)) else {
        let pawns: f64 = text.parse().ok()?;
        let limit = f64::from(MAX_CENTIPAWNS);
        return pawns
            .is_finite()
            .then(|| EvalComment::Centipawns((pawns * 100.0).round().clamp(-limit, limit) as i16));
    };
    let (winner, digits) = match mate.strip_prefix('-') {
        Some(digits) => (Color::Black, digits.trim_start_matches('#')),
        None => (Color::White, mate.trim_start_matches('+')),
    };
    Some(EvalComment::Mate { winner, count: digits.parse().ok()? })
}

/// Score as in `games/1`.
pub(crate) fn mate(winner: Color, plies: u32) -> i16 {
    let distance = i16::try_from(plies.min(MATE_LIMIT)).expect("at most 999");
    winner.fold_wb(MATE_SCORE - distance, distance - MATE_SCORE)
}

impl EvalComment {
    pub(crate) fn for_other_side(self) -> EvalComment {
        match self {
            EvalComment::Centipawns(score) => EvalComment::Centipawns(-score),
            EvalComment::Mate { winner, count } => EvalComment::Mate { winner: !winner, count },
        }
    }

    /// For the position before the commented move. `#0` does not name the winner and is no score, except after a mating
    /// move: then the mover mates in one ply.
    pub(crate) fn before(self, mover: Color, gives_mate: bool) -> i16 {
        match self {
            EvalComment::Centipawns(score) => score,
            EvalComment::Mate { count: 0, .. } if gives_mate => mate(mover, 1),
            EvalComment::Mate { count: 0, .. } => NO_EVAL,
            EvalComment::Mate { winner, count } => mate(winner, count),
        }
    }

    /// For the position after the commented move, with `turn` to move.
    pub(crate) fn after(self, turn: Color) -> i16 {
        match self {
            EvalComment::Centipawns(score) => score,
            EvalComment::Mate { count: 0, .. } => NO_EVAL,
            EvalComment::Mate { winner, count } => {
                let plies = count.saturating_mul(2);
                mate(winner, if winner == turn { plies - 1 } else { plies })
            }
        }
    }
}

/// Pawns for White (with [`EvalSide::Mover`] for the side to move, `turn`), or `#n` for a mate: moves with
/// [`EvalSide::After`], otherwise plies. `None` without a score.
pub(crate) fn write(eval: i16, side: EvalSide, turn: Color) -> Option<String> {
    if eval == NO_EVAL {
        return None;
    }
    let (eval, turn) = if side == EvalSide::Mover && turn.is_black() { (-eval, !turn) } else { (eval, turn) };
    let plies = MATE_SCORE - eval.abs();
    if plies >= MATE_SCORE - MAX_CENTIPAWNS {
        return Some(format!("{:.2}", f64::from(eval) / 100.0));
    }
    let winner = if eval > 0 { Color::White } else { Color::Black };
    let count = match side {
        EvalSide::After => (plies + i16::from(winner == turn)) / 2,
        EvalSide::Before | EvalSide::Auto | EvalSide::Mover => plies,
    };
    Some(format!("#{}{count}", winner.fold_wb("", "-")))
}

/// Centipawns at which P(win) = ½. This and [`SCALE`] are maximum-likelihood fits to 2.4 million evaluated positions of
/// engine games at long time controls: log-loss 0.531, base rates alone 0.937.
const HALF_WON: f32 = 146.0;
/// Centipawns that change the odds by a factor of e.
const SCALE: f32 = 60.0;

/// WDL for White at a score as in `games/1`. `P(win) = σ((cp − 146)/60)`, `P(loss) = σ((−cp − 146)/60)`.
pub fn wdl_of_eval(eval: i16) -> [f32; 3] {
    if eval >= MATE {
        return [1.0, 0.0, 0.0];
    }
    if eval <= -MATE {
        return [0.0, 0.0, 1.0];
    }
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    let win = sigmoid((f32::from(eval) - HALF_WON) / SCALE);
    let loss = sigmoid((-f32::from(eval) - HALF_WON) / SCALE);
    [win, 1.0 - win - loss, loss]
}

/// Scores from ±this on are mates.
const MATE: i16 = 29_001;

#[cfg(test)]
mod tests {
    use super::*;

    fn centipawns(comment: &str) -> Option<i16> {
        match find(comment.as_bytes()) {
            FoundEval::Score { score: EvalComment::Centipawns(score), .. } => Some(score),
            _ => None,
        }
    }

    fn found(comment: &str) -> EvalComment {
        match find(comment.as_bytes()) {
            FoundEval::Score { score, .. } => score,
            other => panic!("{comment}: {other:?}"),
        }
    }

    #[test]
    fn pawns_become_centipawns() {
        assert_eq!(centipawns("[%eval 0.29]"), Some(29));
        assert_eq!(centipawns(" best. [%eval -1.15] [%clk 0:01:00]"), Some(-115));
        assert_eq!(centipawns("[%eval 2.5,31]"), Some(250), "with a depth");
        assert_eq!(centipawns("[%eval 290.00]"), Some(29_000));
        assert_eq!(centipawns("[%eval -1000]"), Some(-29_000));
        let with_depth = |score| FoundEval::Score { score: EvalComment::Centipawns(score), has_depth: true };
        assert_eq!(find(b"[%eval 23,14]"), with_depth(23), "ChessBase");
        assert_eq!(find(b"[%eval -32745,0]"), with_depth(-29_000));
        assert_eq!(find(b"[%eval 0.23,14]"), with_depth(23), "python-chess");
        assert_eq!(find(b"[%eval 0.23/14]"), with_depth(23));
        assert_eq!(centipawns("[%eval_depth 20] [%eval -0.6\n]"), Some(-60));
        for none in ["", "[%clk 0:01:00]", "[%evaluation 0.3]"] {
            assert_eq!(find(none.as_bytes()), FoundEval::None, "{none}");
        }
        for bad in ["[%eval ]", "[%eval NaN]", "[%eval 1.2", "[%eval x]", "[%eval", "[%eval mate 5]"] {
            assert_eq!(find(bad.as_bytes()), FoundEval::Unreadable, "{bad}");
        }
    }

    #[test]
    fn mates_before_the_move_count_plies() {
        let score = |text: &str| found(text).before(Color::White, false);
        assert_eq!(score("[%eval #5]"), 29_995);
        assert_eq!(score("[%eval #-6]"), -29_994);
        assert_eq!(score("[%eval -#6]"), -29_994);
        assert_eq!([score("[%eval M5]"), score("[%eval +M5]"), score("[%eval +#5]")], [29_995; 3]);
        assert_eq!(score("[%eval -M6]"), -29_994);
        assert_eq!(score("[%eval #5000]"), 29_001);
        assert_eq!(score("[%eval #0]"), NO_EVAL);
        assert_eq!(found("[%eval #0]").before(Color::Black, true), -29_999);
    }

    #[test]
    fn mates_after_the_move_count_moves() {
        let score = |text: &str, turn| found(text).after(turn);
        assert_eq!(score("[%eval #1]", Color::White), 29_999, "White mates at once");
        assert_eq!(score("[%eval #1]", Color::Black), 29_998, "Black moves first");
        assert_eq!(score("[%eval #-3]", Color::Black), -29_995);
    }

    #[test]
    fn written_scores_are_read_back() {
        for turn in Color::ALL {
            for eval in [0, 7, -115, 29_000, -29_000, 29_995, -29_994, 29_999, 29_001] {
                let read = |text: Option<String>| Some(found(&format!("[%eval {}]", text?)));
                let before = read(write(eval, EvalSide::Before, turn)).unwrap();
                assert_eq!(before.before(turn, false), eval, "{eval} before");
                // Plies to mate are odd for the winner to move, even for the loser.
                let winner = if eval > 0 { Color::White } else { Color::Black };
                if eval.abs() <= MAX_CENTIPAWNS || (MATE_SCORE - eval.abs()) % 2 == i16::from(winner == turn)
                {
                    assert_eq!(
                        read(write(eval, EvalSide::After, turn)).unwrap().after(turn),
                        eval,
                        "{eval} after"
                    );
                }
            }
        }
        assert_eq!(write(NO_EVAL, EvalSide::Before, Color::White), None);
        assert_eq!(write(-29_994, EvalSide::After, Color::White).as_deref(), Some("#-3"));
    }
}
