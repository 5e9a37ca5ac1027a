//! Lichess's formulas (lila's `Advice` and `AccuracyPercent`, scalachess's `WinPercent`), but with win probabilities
//! from WDL where known.

use shakmaty::Color;

use crate::nets::eval::Wdl;

/// Of Lichess's curve from centipawns to win probability (lila, pull request 11148).
const STEEPNESS: f64 = 0.003_682_08;
/// Lichess's cap of centipawns, and its value of a mate.
const CENTIPAWN_CEILING: i32 = 1000;
/// Cap of the centipawns written for a win probability.
const MOST_CENTIPAWNS: f64 = 9999.0;

/// Smallest loss of win probability per mark, in percentage points.
const THRESHOLDS: [(f64, Mark); 3] = [(15.0, Mark::Blunder), (10.0, Mark::Mistake), (5.0, Mark::Inaccuracy)];
/// A best move is the only good one if the second best loses more, in percentage points.
const ONLY_MOVE: f64 = 10.0;
/// A move gains if the mover's win probability rose by more, in points, since before the opponent's move.
const GAIN: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedMate {
    pub winner: Color,
    /// 0 for checkmate on the board.
    pub moves: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionValue {
    /// White's, in per cent; a draw counts as half.
    pub white: f64,
    pub mate: Option<JudgedMate>,
}

impl PositionValue {
    pub const DRAW: PositionValue = PositionValue { white: 50.0, mate: None };

    /// `wdl` is `mover`'s.
    pub fn from_wdl(wdl: Wdl, mover: Color, mate: Option<JudgedMate>) -> PositionValue {
        let percent = 100.0 * (f64::from(wdl.win) + f64::from(wdl.draw) / 2.0);
        PositionValue { white: mover.fold_wb(percent, 100.0 - percent), mate }
    }

    /// By Lichess's curve; `centipawns` are the mover's.
    pub fn from_centipawns(centipawns: i32, mover: Color) -> PositionValue {
        let centipawns = mover.fold_wb(1, -1) * centipawns.clamp(-CENTIPAWN_CEILING, CENTIPAWN_CEILING);
        PositionValue { white: percent_of(f64::from(centipawns)), mate: None }
    }

    /// For engines that report no WDL, as in Lichess.
    pub fn from_mate(mate: JudgedMate) -> PositionValue {
        let value = PositionValue::from_centipawns(CENTIPAWN_CEILING, mate.winner);
        PositionValue { mate: Some(mate), ..value }
    }

    /// `None` is a draw.
    pub fn of_end(winner: Option<Color>) -> PositionValue {
        winner.map_or(PositionValue::DRAW, |winner| PositionValue {
            white: winner.fold_wb(100.0, 0.0),
            mate: Some(JudgedMate { winner, moves: 0 }),
        })
    }

    pub fn of(&self, side: Color) -> f64 {
        side.fold_wb(self.white, 100.0 - self.white)
    }

    /// White's, by the inverse of Lichess's curve.
    pub fn centipawns(&self) -> f64 {
        let p = self.white / 100.0;
        ((p / (1.0 - p)).ln() / STEEPNESS).clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS)
    }

    /// For `[%eval …]`: White's pawns, or `#n`. `None` for checkmate on the board.
    pub fn comment(&self) -> Option<String> {
        match self.mate {
            None => Some(format!("{:.2}", self.centipawns() / 100.0).replace("-0.00", "0.00")),
            Some(JudgedMate { moves: 0, .. }) => None,
            Some(JudgedMate { winner, moves }) => Some(format!("#{}{moves}", winner.fold_wb("", "-"))),
        }
    }
}

/// In per cent, for White's centipawns.
fn percent_of(centipawns: f64) -> f64 {
    50.0 + 50.0 * (2.0 / (1.0 + (-STEEPNESS * centipawns).exp()) - 1.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// `!!`: the only good move, and a sacrifice.
    Brilliant,
    /// `!`: the only good move, which gained.
    Good,
    /// `?!`
    Inaccuracy,
    /// `?`
    Mistake,
    /// `??`
    Blunder,
}

impl Mark {
    pub const ALL: [Mark; 5] = [Mark::Brilliant, Mark::Good, Mark::Inaccuracy, Mark::Mistake, Mark::Blunder];

    pub fn symbol(self) -> &'static str {
        match self {
            Mark::Brilliant => "!!",
            Mark::Good => "!",
            Mark::Inaccuracy => "?!",
            Mark::Mistake => "?",
            Mark::Blunder => "??",
        }
    }

    pub fn nag(self) -> u8 {
        match self {
            Mark::Brilliant => 3,
            Mark::Good => 1,
            Mark::Inaccuracy => 6,
            Mark::Mistake => 2,
            Mark::Blunder => 4,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Mark::Brilliant => "Brilliant move",
            Mark::Good => "Good move",
            Mark::Inaccuracy => "Inaccuracy",
            Mark::Mistake => "Mistake",
            Mark::Blunder => "Blunder",
        }
    }

    pub fn is_error(self) -> bool {
        self >= Mark::Inaccuracy
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MateChange {
    /// The opponent now has a forced mate.
    Created,
    /// The mover no longer has a forced mate.
    Lost,
}

/// `None` if the move is no error.
pub fn judge_error(
    before: &PositionValue,
    after: &PositionValue,
    mover: Color,
) -> Option<(Mark, Option<MateChange>)> {
    let had = before.mate.map(|mate| mate.winner == mover);
    let has = after.mate.map(|mate| mate.winner == mover);
    let centipawns = |value: &PositionValue| match value.mate {
        // lila counts a mate for the other side as 0.
        Some(_) => 0.0,
        None => mover.fold_wb(1.0, -1.0) * value.centipawns(),
    };
    let by = |excess: f64| match excess {
        excess if excess > 999.0 => Mark::Inaccuracy,
        excess if excess > 700.0 => Mark::Mistake,
        _ => Mark::Blunder,
    };
    match (had, has) {
        (None, Some(false)) => Some((by(-centipawns(before)), Some(MateChange::Created))),
        (Some(true), None | Some(false)) => Some((by(centipawns(after)), Some(MateChange::Lost))),
        (None, None) => {
            let loss = before.of(mover) - after.of(mover);
            let found = THRESHOLDS.into_iter().find(|(least, _)| loss >= *least);
            found.map(|(_, mark)| (mark, None))
        }
        _ => None,
    }
}

/// Win probabilities are the mover's, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Praise {
    /// Before the opponent's last move.
    pub earlier: Option<f64>,
    /// After the played move, which is the judge's first choice.
    pub best: f64,
    /// After the second best move.
    pub second: Option<f64>,
    pub sacrifice: bool,
}

impl Praise {
    /// `!!` for an only good move that is a sacrifice, `!` for one that gained, as in En Croissant.
    pub fn mark(&self) -> Option<Mark> {
        if self.second.is_none_or(|second| self.best - second <= ONLY_MOVE) {
            None
        } else if self.sacrifice {
            Some(Mark::Brilliant)
        } else {
            (self.best - self.earlier.unwrap_or(50.0) > GAIN).then_some(Mark::Good)
        }
    }
}

/// 0 to 100, from the mover's win probabilities in per cent.
pub fn move_accuracy(before: f64, after: f64) -> f64 {
    if after >= before {
        return 100.0;
    }
    let raw =
        103.166_810_071_164_9 * (-0.043_544_153_869_539_51 * (before - after)).exp() - 3.166_924_740_191_411;
    // Lichess adds a point because the analysis is imperfect.
    (raw + 1.0).clamp(0.0, 100.0)
}

/// White's and Black's accuracy; `first` is to move in the first position. Averages the moves' harmonic mean accuracy
/// and the mean weighted by the standard deviation of the win probability around each move.
pub fn game_accuracy(values: &[PositionValue], first: Color) -> [Option<f64>; 2] {
    let white: Vec<f64> = values.iter().map(|value| value.white).collect();
    let moves = white.len().saturating_sub(1);
    let window = (moves / 10).clamp(2, 8);
    // The first moves share a window.
    let repeated = window.min(white.len()).saturating_sub(2);
    let first_window = white.get(..window).into_iter();
    let windows = first_window.cycle().take(repeated).chain(white.windows(window));
    let weights: Vec<f64> = windows.map(|window| deviation(window).clamp(0.5, 12.0)).collect();
    let accuracies = |side: Color| -> Vec<(f64, f64)> {
        let of = |ply: usize| side.fold_wb(white[ply], 100.0 - white[ply]);
        let own = |ply: &usize| ply.is_multiple_of(2) == (side == first);
        (0..moves).filter(own).map(|ply| (move_accuracy(of(ply), of(ply + 1)), weights[ply])).collect()
    };
    [Color::White, Color::Black].map(|side| mean_accuracy(&accuracies(side)))
}

/// `moves` are (accuracy, weight).
fn mean_accuracy(moves: &[(f64, f64)]) -> Option<f64> {
    if moves.is_empty() {
        return None;
    }
    let weights: f64 = moves.iter().map(|(_, weight)| weight).sum();
    let weighted = moves.iter().map(|(accuracy, weight)| accuracy * weight).sum::<f64>() / weights;
    // Accuracies count as 1 at least, as in scalalib.
    let harmonic =
        moves.len() as f64 / moves.iter().map(|(accuracy, _)| 1.0 / accuracy.max(1.0)).sum::<f64>();
    Some((weighted + harmonic) / 2.0)
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Black, White};

    fn cp(centipawns: i32) -> PositionValue {
        PositionValue::from_centipawns(centipawns, White)
    }

    fn mate(winner: Color, moves: u32) -> PositionValue {
        let wdl = if winner == White { Wdl::WIN } else { Wdl::LOSS };
        PositionValue::from_wdl(wdl, White, Some(JudgedMate { winner, moves }))
    }

    #[test]
    fn win_probability_is_of_win_and_half_the_draws() {
        let wdl = Wdl { win: 0.5, draw: 0.3, loss: 0.2 };
        assert!((PositionValue::from_wdl(wdl, White, None).white - 65.0).abs() < 1e-5);
        assert!((PositionValue::from_wdl(wdl, Black, None).white - 35.0).abs() < 1e-5);
        assert!((PositionValue::from_wdl(wdl, Black, None).of(Black) - 65.0).abs() < 1e-5);
        // 100 / (1 + e^(−0.368208)) = 59.10; 100 / (1 + e^(−3.68208)) = 97.54.
        assert!((cp(100).white - 59.102).abs() < 1e-3 && (cp(-100).white - 40.898).abs() < 1e-3);
        assert!((cp(5000).white - 97.545).abs() < 1e-3, "{}", cp(5000).white);
        assert_eq!(PositionValue::from_mate(JudgedMate { winner: Black, moves: 3 }).white, cp(-1000).white);
        assert_eq!(PositionValue::from_centipawns(30, Black).white, cp(-30).white);
    }

    #[test]
    fn written_evaluations_give_win_probability_back_through_lichess_curve() {
        // ln(0.75 / 0.25) / 0.00368208 = 298.4.
        let wdl = Wdl { win: 0.5, draw: 0.5, loss: 0.0 };
        assert_eq!(PositionValue::from_wdl(wdl, White, None).comment().as_deref(), Some("2.98"));
        assert_eq!(PositionValue::from_wdl(wdl, Black, None).comment().as_deref(), Some("-2.98"));
        for percent in 1..100 {
            let value = PositionValue { white: f64::from(percent), mate: None };
            let read: f64 = value.comment().unwrap().parse().unwrap();
            assert!((percent_of(100.0 * read) - value.white).abs() < 0.06, "{percent}");
        }
        for (white, text) in [(100.0, "99.99"), (0.0, "-99.99"), (49.999_99, "0.00"), (50.0, "0.00")] {
            assert_eq!(PositionValue { white, mate: None }.comment().as_deref(), Some(text));
        }
        assert_eq!(mate(White, 3).comment().as_deref(), Some("#3"));
        assert_eq!(mate(Black, 12).comment().as_deref(), Some("#-12"));
        assert_eq!(PositionValue::of_end(Some(Black)).comment(), None);
        assert_eq!(PositionValue::of_end(None).comment().as_deref(), Some("0.00"));
    }

    #[test]
    fn losses_of_5_10_and_15_points_are_marked() {
        let value = |white| PositionValue { white, mate: None };
        let mark =
            |before, after, mover| judge_error(&value(before), &value(after), mover).map(|(mark, _)| mark);
        for (loss, expected) in [
            (-20.0, None),
            (4.9, None),
            (5.0, Some(Mark::Inaccuracy)),
            (9.9, Some(Mark::Inaccuracy)),
            (10.0, Some(Mark::Mistake)),
            (15.0, Some(Mark::Blunder)),
            (60.0, Some(Mark::Blunder)),
        ] {
            assert_eq!(mark(70.0, 70.0 - loss, White), expected, "{loss}");
            assert_eq!(mark(30.0, 30.0 + loss, Black), expected, "{loss}");
        }
        // Lichess's blunder is 0.3 of winning chances: 168.1 centipawns from 0.
        assert_eq!(judge_error(&cp(0), &cp(-169), White).unwrap().0, Mark::Blunder);
        assert_eq!(judge_error(&cp(0), &cp(-168), White).unwrap().0, Mark::Mistake);
    }

    #[test]
    fn mates_created_and_lost_are_judged_by_what_there_was_besides() {
        let judged = |before: PositionValue, after: PositionValue| judge_error(&before, &after, White);
        let of = |white| PositionValue { white, mate: None };
        let at = |centipawns: f64| of(percent_of(centipawns));
        let created = |mark| Some((mark, Some(MateChange::Created)));
        assert_eq!(judged(at(0.0), mate(Black, 5)), created(Mark::Blunder));
        assert_eq!(judged(at(-700.0), mate(Black, 5)), created(Mark::Blunder));
        assert_eq!(judged(at(-701.0), mate(Black, 5)), created(Mark::Mistake));
        assert_eq!(judged(at(-998.0), mate(Black, 5)), created(Mark::Mistake));
        assert_eq!(judged(at(-1000.0), mate(Black, 5)), created(Mark::Inaccuracy));
        let lost = |mark| Some((mark, Some(MateChange::Lost)));
        assert_eq!(judged(mate(White, 2), at(0.0)), lost(Mark::Blunder));
        assert_eq!(judged(mate(White, 2), at(701.0)), lost(Mark::Mistake));
        assert_eq!(judged(mate(White, 2), at(1000.0)), lost(Mark::Inaccuracy));
        assert_eq!(judged(mate(White, 2), mate(Black, 5)), lost(Mark::Blunder));
        // A mate delayed, found, or suffered already.
        for (before, after) in [
            (mate(White, 2), mate(White, 9)),
            (at(0.0), mate(White, 3)),
            (mate(Black, 2), mate(Black, 1)),
            (mate(Black, 2), at(0.0)),
        ] {
            assert_eq!(judged(before, after), None);
        }
        // The same for Black.
        let mirrored = judge_error(&mate(Black, 2), &at(-701.0), Black);
        assert_eq!(mirrored, lost(Mark::Mistake));
    }

    #[test]
    fn only_good_moves_are_praised() {
        let praise = Praise { earlier: Some(50.0), best: 60.0, second: Some(49.0), sacrifice: false };
        assert_eq!(praise.mark(), Some(Mark::Good));
        assert_eq!(Praise { sacrifice: true, earlier: Some(60.0), ..praise }.mark(), Some(Mark::Brilliant));
        assert_eq!(Praise { earlier: Some(55.0), ..praise }.mark(), None, "no gain");
        assert_eq!(Praise { second: Some(50.0), ..praise }.mark(), None, "not the only one");
        assert_eq!(Praise { second: None, sacrifice: true, ..praise }.mark(), None, "no choice");
    }

    #[test]
    fn accuracy_of_a_move_by_hand() {
        assert_eq!((move_accuracy(50.0, 50.0), move_accuracy(50.0, 60.0)), (100.0, 100.0));
        // 103.16681·e^(−0.4354415) − 2.16692 = 64.58; at 5: 80.82; at 100: below 0.
        for (loss, expected) in [(5.0, 80.815), (10.0, 64.580), (20.0, 41.017), (40.0, 15.909), (100.0, 0.0)]
        {
            assert!(
                (move_accuracy(100.0, 100.0 - loss) - expected).abs() < 0.002,
                "{loss}: {}",
                move_accuracy(100.0, 100.0 - loss)
            );
        }
        assert!(move_accuracy(50.0, 49.99) <= 100.0);
    }

    /// Values and tolerances of lila's `AccuracyPercentTest`, which assumes 15 centipawns before the first move.
    #[test]
    fn accuracy_of_games_as_in_lilas_tests() {
        let of = |first: Color, centipawns: Vec<i32>| {
            let values: Vec<PositionValue> = std::iter::once(15).chain(centipawns).map(cp).collect();
            game_accuracy(&values, first)
        };
        let pairs = |count: usize, pair: [i32; 2]| pair.repeat(count);
        let then = |count: usize, last: i32| [vec![15; count], vec![last]].concat();
        for (first, game, white, black) in [
            (White, vec![15, 15], (100.0, 1.0), (100.0, 1.0)),
            (White, vec![-900, -900], (10.0, 5.0), (100.0, 1.0)),
            (White, vec![15, 900], (100.0, 1.0), (10.0, 5.0)),
            (White, vec![-900, 0], (10.0, 5.0), (10.0, 5.0)),
            (White, vec![15; 20], (100.0, 1.0), (100.0, 1.0)),
            (White, then(20, -900), (50.0, 5.0), (100.0, 1.0)),
            (White, then(21, 900), (100.0, 1.0), (50.0, 5.0)),
            (White, pairs(5, [-50, 15]), (76.0, 8.0), (76.0, 8.0)),
            (White, pairs(50, [-50, 15]), (76.0, 8.0), (76.0, 8.0)),
            (White, pairs(50, [-135, 15]), (54.0, 8.0), (54.0, 8.0)),
            (White, pairs(50, [-435, 15]), (20.0, 8.0), (20.0, 8.0)),
            (Black, vec![15, 15], (100.0, 1.0), (100.0, 1.0)),
            (Black, vec![900, 900], (100.0, 1.0), (10.0, 5.0)),
            (Black, vec![15, -900], (10.0, 5.0), (100.0, 1.0)),
            (Black, vec![900, 0], (10.0, 5.0), (10.0, 5.0)),
        ] {
            for (got, (expected, tolerance)) in of(first, game.clone()).into_iter().zip([white, black]) {
                let got = got.expect("both have moved");
                assert!((got - expected).abs() <= tolerance, "{game:?}: {got}, not {expected}");
            }
        }
        assert_eq!(of(White, Vec::new()), [None, None]);
        assert_eq!(of(White, vec![15]), [Some(100.0), None]);
    }
}
