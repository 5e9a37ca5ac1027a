//! What the value head should answer: the game's result blended with an engine's evaluation.

use shakmaty::Color;

use crate::record::{NO_EVAL, wdl_of_eval};

/// How a position's value target is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueTarget {
    /// The result's share where a position has an evaluation; the rest is the evaluation's. At 1 evaluations
    /// count for nothing, also where the result is unknown.
    pub lambda: f32,
}

impl Default for ValueTarget {
    fn default() -> ValueTarget {
        ValueTarget { lambda: 0.5 }
    }
}

impl ValueTarget {
    /// The result alone.
    pub const RESULT: ValueTarget = ValueTarget { lambda: 1.0 };

    /// Win, draw and loss for the side `mover`.
    ///
    /// `result` is White's (1, 0, −1; 2 for unknown), `eval` the position's score for White as in
    /// `games/1`. Without an evaluation the result counts alone, without a result the evaluation;
    /// without either there is no target.
    pub fn for_mover(&self, mover: Color, result: i8, eval: Option<i16>) -> Option<[f32; 3]> {
        let eval = eval.filter(|eval| *eval != NO_EVAL).map(wdl_of_eval);
        self.blended(result, eval).map(|wdl| seen_by(mover, wdl))
    }

    /// [`ValueTarget::for_mover`] with win, draw and loss as a search found them, for `mover`, instead of a score.
    pub fn for_mover_searched(&self, mover: Color, result: i8, searched: [f32; 3]) -> Option<[f32; 3]> {
        self.blended(result, Some(seen_by(mover, searched))).map(|wdl| seen_by(mover, wdl))
    }

    /// Win, draw and loss for White.
    fn blended(&self, result: i8, eval: Option<[f32; 3]>) -> Option<[f32; 3]> {
        let result = match result {
            1 => Some([1.0, 0.0, 0.0]),
            0 => Some([0.0, 1.0, 0.0]),
            -1 => Some([0.0, 0.0, 1.0]),
            _ => None,
        };
        let eval = eval.filter(|_| self.lambda < 1.0);
        match (result, eval) {
            (Some(result), Some(eval)) => {
                Some(std::array::from_fn(|i| self.lambda * result[i] + (1.0 - self.lambda) * eval[i]))
            }
            (known, None) | (None, known) => known,
        }
    }
}

/// Win, draw and loss of White as `mover` sees them, or the other way round.
fn seen_by(mover: Color, [win, draw, loss]: [f32; 3]) -> [f32; 3] {
    if mover.is_white() { [win, draw, loss] } else { [loss, draw, win] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_half_won_at_its_midpoint_and_symmetric() {
        assert!((wdl_of_eval(146)[0] - 0.5).abs() < 1e-6);
        let (up, down) = (wdl_of_eval(80), wdl_of_eval(-80));
        assert_eq!((up[0], up[2]), (down[2], down[0]));
        assert!(wdl_of_eval(0)[1] > 0.8, "most level games of strong engines are drawn");
        assert_eq!(wdl_of_eval(29_995), [1.0, 0.0, 0.0]);
        assert_eq!(wdl_of_eval(-29_995), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn results_are_seen_by_the_mover() {
        let target = ValueTarget::default();
        assert_eq!(target.for_mover(Color::White, 1, None), Some([1.0, 0.0, 0.0]));
        assert_eq!(target.for_mover(Color::Black, 1, None), Some([0.0, 0.0, 1.0]));
        assert_eq!(target.for_mover(Color::Black, 0, Some(NO_EVAL)), Some([0.0, 1.0, 0.0]));
        assert_eq!(target.for_mover(Color::White, 2, None), None);
    }

    #[test]
    fn without_a_share_an_evaluation_is_no_result() {
        let target = ValueTarget { lambda: 1.0 };
        assert_eq!(target.for_mover(Color::White, 2, Some(300)), None);
        assert_eq!(target.for_mover(Color::White, 0, Some(300)), Some([0.0, 1.0, 0.0]));
    }

    #[test]
    fn lambda_blends() {
        // A drawn game, a mate for White on the board: λ of the draw, the rest a win.
        let target = ValueTarget { lambda: 0.25 };
        assert_eq!(target.for_mover(Color::White, 0, Some(29_990)), Some([0.75, 0.25, 0.0]));
        assert_eq!(target.for_mover(Color::Black, 0, Some(29_990)), Some([0.0, 0.25, 0.75]));
        assert_eq!(target.for_mover(Color::White, 2, Some(29_990)), Some([1.0, 0.0, 0.0]));
    }
}
