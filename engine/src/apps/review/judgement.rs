//! Classes by lost expected points; accuracy by Lichess's formulas (lila's `AccuracyPercent`, scalachess's
//! `WinPercent`).

use shakmaty::Color;

use crate::nets::eval::Wdl;

/// Power of our network's win, draw and loss that predicts deep Stockfish's best, among 1,000 positions of human games
/// that were searched with 3,000 nodes: squared error 0.0122, unchanged values 0.0219.
const SHARPNESS: f32 = 2.3;
/// Centipawns of Stockfish per unit of the logit of expected points; the best fit in the same positions.
const CENTIPAWNS_PER_LOGIT: f64 = 108.6;
/// Of Lichess's curve from centipawns to win probability (lila, pull request 11148).
const STEEPNESS: f64 = 0.003_682_08;
/// Lichess's cap of centipawns, and its value of a mate.
const CENTIPAWN_CEILING: f64 = 1000.0;
/// Cap of the centipawns written for a win probability.
const MOST_CENTIPAWNS: f64 = 9999.0;

/// Smallest loss of expected points per mark, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    inaccuracy: f64,
    mistake: f64,
    blunder: f64,
}

impl Thresholds {
    /// By definition.
    pub const EXACT: Thresholds = Thresholds { inaccuracy: 10.0, mistake: 20.0, blunder: 30.0 };
    /// Of our own search, whose losses err by several points: most moves that it finds to lose 10 to 14 lose less.
    /// Chosen for the best agreement with `tests/data/review_labels.tsv`.
    pub const OWN: Thresholds = Thresholds { inaccuracy: 14.0, mistake: 22.0, blunder: 30.0 };

    fn mark(self, loss: f64) -> Option<Mark> {
        let marks = [
            (self.blunder, Mark::Blunder),
            (self.mistake, Mark::Mistake),
            (self.inaccuracy, Mark::Inaccuracy),
        ];
        marks.into_iter().find(|(least, _)| loss >= *least).map(|(_, mark)| mark)
    }
}

/// A best move is the only good one if the second best loses more, in percentage points.
const ONLY_MOVE: f64 = 20.0;
/// A brilliant move is better than the second best by more, in percentage points.
const BRILLIANT: f64 = 10.0;
/// Least expected points of the mover after a sound sacrifice, in per cent.
const SOUND: f64 = 45.0;
/// A move gains if the mover's expected points rose by more, in points, since before the opponent's move.
const GAIN: f64 = 5.0;
/// A win is missed if the expected points fall from `WON` or more to `NOT_WON` or less, in per cent.
pub const WON: f64 = 85.0;
const NOT_WON: f64 = 65.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedMate {
    pub winner: Color,
    /// 0 for checkmate on the board.
    pub moves: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionValue {
    /// White's expected points, in per cent.
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

    /// `centipawns` are the mover's.
    pub fn from_centipawns(centipawns: i32, mover: Color) -> PositionValue {
        let logit = f64::from(mover.fold_wb(1, -1) * centipawns) / CENTIPAWNS_PER_LOGIT;
        PositionValue { white: 100.0 / (1.0 + (-logit).exp()), mate: None }
    }

    pub fn from_mate(mate: JudgedMate) -> PositionValue {
        PositionValue { white: mate.winner.fold_wb(100.0, 0.0), mate: Some(mate) }
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

    /// Turns the value after `mover`'s move into the value before it, where a mate by the mover takes one move more.
    pub fn before(self, mover: Color) -> PositionValue {
        let longer =
            |mate: JudgedMate| JudgedMate { moves: mate.moves + u32::from(mate.winner == mover), ..mate };
        PositionValue { mate: self.mate.map(longer), ..self }
    }

    /// White's.
    pub fn centipawns(&self) -> f64 {
        let p = self.white / 100.0;
        ((p / (1.0 - p)).ln() * CENTIPAWNS_PER_LOGIT).clamp(-MOST_CENTIPAWNS, MOST_CENTIPAWNS)
    }

    /// White's win probability on Lichess, in per cent.
    pub fn lichess_percent(&self) -> f64 {
        let centipawns = match self.mate {
            Some(mate) => mate.winner.fold_wb(CENTIPAWN_CEILING, -CENTIPAWN_CEILING),
            None => self.centipawns().clamp(-CENTIPAWN_CEILING, CENTIPAWN_CEILING),
        };
        100.0 / (1.0 + (-STEEPNESS * centipawns).exp())
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

/// Our network's values are flatter than what becomes of the games; this corrects them.
pub fn sharpened(wdl: Wdl) -> Wdl {
    let [win, draw, loss] = [wdl.win, wdl.draw, wdl.loss].map(|share| share.max(0.0).powf(SHARPNESS));
    let sum = win + draw + loss;
    Wdl { win: win / sum, draw: draw / sum, loss: loss / sum }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// `!!`: a sound sacrifice that is best by a margin.
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

/// Of every reviewed move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reaches a position of the opening book, and loses less than an inaccuracy.
    Book,
    /// The only legal move.
    Forced,
    /// Keeps the result that the tablebases name.
    Tablebase,
    Brilliant,
    /// All other moves lose.
    Only,
    Best,
    Good,
    Inaccuracy,
    Mistake,
    Blunder,
    /// A mistake or blunder that gives up a won position.
    MissedWin,
    /// The searches did not agree before the budget ended.
    Unclear,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Book => "Book",
            Class::Forced => "Forced",
            Class::Tablebase => "Tablebase",
            Class::Brilliant => "Brilliant",
            Class::Only => "Only move",
            Class::Best => "Best",
            Class::Good => "Good",
            Class::Inaccuracy => "Inaccuracy",
            Class::Mistake => "Mistake",
            Class::Blunder => "Blunder",
            Class::MissedWin => "Missed win",
            Class::Unclear => "Unclear",
        }
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
    thresholds: Thresholds,
) -> Option<(Mark, Option<MateChange>)> {
    let mark = thresholds.mark(before.of(mover) - after.of(mover))?;
    let had = before.mate.map(|mate| mate.winner == mover);
    let has = after.mate.map(|mate| mate.winner == mover);
    let mate = match (had, has) {
        (None | Some(true), Some(false)) => Some(MateChange::Created),
        (Some(true), None) => Some(MateChange::Lost),
        _ => None,
    };
    Some((mark, mate))
}

/// Whether a mover who had a won position no longer has one.
pub fn misses_win(before: &PositionValue, after: &PositionValue, mover: Color) -> bool {
    before.of(mover) >= WON && after.of(mover) <= NOT_WON
}

/// What sets a best move apart. Values are the mover's expected points, in per cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Praise {
    /// Before the opponent's last move.
    pub earlier: Option<f64>,
    /// After the move.
    pub best: f64,
    /// After the second best move.
    pub second: f64,
    pub sacrifice: bool,
    pub recapture: bool,
}

impl Praise {
    /// Whether a move may be praised, before anybody knows whether it is a sacrifice.
    pub fn is_possible(best: f64, second: f64) -> bool {
        best - second > BRILLIANT.min(ONLY_MOVE)
    }

    /// `!!` for a sound sacrifice that is best by a margin, `!` for an only good move that gained.
    pub fn class(&self) -> (Class, Option<Mark>) {
        let margin = self.best - self.second;
        let gained = self.best - self.earlier.unwrap_or(50.0) > GAIN;
        if self.sacrifice && margin > BRILLIANT && self.best >= SOUND {
            (Class::Brilliant, Some(Mark::Brilliant))
        } else if margin > ONLY_MOVE {
            (Class::Only, (gained && !self.recapture).then_some(Mark::Good))
        } else {
            (Class::Best, None)
        }
    }
}

/// 0 to 100, from the mover's win probabilities on Lichess, in per cent.
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
    let white: Vec<f64> = values.iter().map(PositionValue::lichess_percent).collect();
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
    fn expected_points_are_of_win_and_half_the_draws() {
        let wdl = Wdl { win: 0.5, draw: 0.3, loss: 0.2 };
        assert!((PositionValue::from_wdl(wdl, White, None).white - 65.0).abs() < 1e-5);
        assert!((PositionValue::from_wdl(wdl, Black, None).white - 35.0).abs() < 1e-5);
        assert!((PositionValue::from_wdl(wdl, Black, None).of(Black) - 65.0).abs() < 1e-5);
        // 100 / (1 + e^(−100/108.6)) = 71.52.
        assert!((cp(100).white - 71.52).abs() < 0.01 && (cp(-100).white - 28.48).abs() < 0.01);
        let mated = PositionValue::from_mate(JudgedMate { winner: Black, moves: 3 });
        assert_eq!((mated.white, mated.before(White)), (0.0, mated));
        assert_eq!(mated.before(Black).mate, Some(JudgedMate { winner: Black, moves: 4 }));
        assert_eq!(PositionValue::from_centipawns(30, Black).white, cp(-30).white);
        // 0.5^2.3, 0.3^2.3 and 0.2^2.3 are 0.2031, 0.0627 and 0.0247.
        let sharp = sharpened(wdl);
        assert!((sharp.win - 0.699).abs() < 1e-3 && (sharp.loss - 0.085).abs() < 1e-3, "{sharp:?}");
        assert_eq!(sharpened(Wdl::WIN), Wdl::WIN);
    }

    #[test]
    fn written_evaluations_give_expected_points_back() {
        // 108.6·ln(0.75 / 0.25) = 119.3.
        let wdl = Wdl { win: 0.5, draw: 0.5, loss: 0.0 };
        assert_eq!(PositionValue::from_wdl(wdl, White, None).comment().as_deref(), Some("1.19"));
        assert_eq!(PositionValue::from_wdl(wdl, Black, None).comment().as_deref(), Some("-1.19"));
        for percent in 1..100 {
            let value = PositionValue { white: f64::from(percent), mate: None };
            let read: f64 = value.comment().unwrap().parse().unwrap();
            assert!((cp((100.0 * read).round() as i32).white - value.white).abs() < 0.15, "{percent}");
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
    fn lichess_win_probability_is_of_centipawns() {
        // 100 / (1 + e^(−0.368208)) = 59.10; 100 / (1 + e^(−3.68208)) = 97.54.
        assert!((cp(100).lichess_percent() - 59.102).abs() < 1e-3);
        assert!((cp(5000).lichess_percent() - 97.545).abs() < 1e-3);
        assert!((mate(Black, 3).lichess_percent() - 2.455).abs() < 1e-3);
    }

    #[test]
    fn losses_of_10_20_and_30_points_are_marked() {
        let value = |white| PositionValue { white, mate: None };
        let judge_error = |before: &_, after: &_, mover| judge_error(before, after, mover, Thresholds::EXACT);
        let mark =
            |before, after, mover| judge_error(&value(before), &value(after), mover).map(|(mark, _)| mark);
        for (loss, expected) in [
            (-20.0, None),
            (9.9, None),
            (10.0, Some(Mark::Inaccuracy)),
            (19.9, Some(Mark::Inaccuracy)),
            (20.0, Some(Mark::Mistake)),
            (30.0, Some(Mark::Blunder)),
            (60.0, Some(Mark::Blunder)),
        ] {
            assert_eq!(mark(70.0, 70.0 - loss, White), expected, "{loss}");
            assert_eq!(mark(30.0, 30.0 + loss, Black), expected, "{loss}");
        }
        let own = |loss| Thresholds::OWN.mark(loss);
        assert_eq!([13.9, 14.0, 21.9].map(own), [None, Some(Mark::Inaccuracy), Some(Mark::Inaccuracy)]);
        assert_eq!(
            [22.0, 29.9, 30.0].map(own),
            [Some(Mark::Mistake), Some(Mark::Mistake), Some(Mark::Blunder)]
        );
        // Two pawns less are a blunder in an equal position, and nothing where seven pawns win as five do.
        assert_eq!(judge_error(&cp(0), &cp(-200), White).unwrap().0, Mark::Blunder);
        assert_eq!(judge_error(&cp(700), &cp(500), White), None);
        assert!(misses_win(&cp(300), &cp(50), White) && !misses_win(&cp(150), &cp(-50), White));
    }

    #[test]
    fn mates_count_by_the_points_they_change() {
        let judge_error = |before: &_, after: &_, mover| judge_error(before, after, mover, Thresholds::OWN);
        let judged = |before: PositionValue, after: PositionValue| judge_error(&before, &after, White);
        let created = Some(MateChange::Created);
        assert_eq!(judged(cp(0), mate(Black, 5)), Some((Mark::Blunder, created)));
        assert_eq!(judged(mate(White, 2), mate(Black, 5)), Some((Mark::Blunder, created)));
        assert_eq!(judged(mate(White, 2), cp(0)), Some((Mark::Blunder, Some(MateChange::Lost))));
        // A lost position is lost, and a won one is won.
        for (before, after) in [
            (cp(-700), mate(Black, 5)),
            (mate(White, 2), cp(900)),
            (mate(White, 2), mate(White, 9)),
            (cp(0), mate(White, 3)),
            (mate(Black, 2), mate(Black, 1)),
            (mate(Black, 2), cp(0)),
        ] {
            assert_eq!(judged(before, after), None);
        }
        assert_eq!(judge_error(&mate(Black, 2), &cp(100), Black).unwrap().0, Mark::Blunder);
    }

    #[test]
    fn praise_needs_a_margin_and_a_sound_sacrifice_or_a_gain() {
        let only =
            Praise { earlier: Some(50.0), best: 70.0, second: 49.0, sacrifice: false, recapture: false };
        assert_eq!(only.class(), (Class::Only, Some(Mark::Good)));
        assert_eq!(Praise { earlier: Some(66.0), ..only }.class(), (Class::Only, None), "no gain");
        assert_eq!(Praise { recapture: true, ..only }.class(), (Class::Only, None), "all see it");
        assert_eq!(Praise { second: 55.0, ..only }.class(), (Class::Best, None), "not the only one");
        let sacrifice = Praise { sacrifice: true, second: 55.0, earlier: Some(70.0), ..only };
        assert_eq!(sacrifice.class(), (Class::Brilliant, Some(Mark::Brilliant)));
        assert_eq!(Praise { second: 61.0, ..sacrifice }.class(), (Class::Best, None), "no margin");
        assert_eq!(Praise { best: 40.0, second: 25.0, ..sacrifice }.class(), (Class::Best, None), "unsound");
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
