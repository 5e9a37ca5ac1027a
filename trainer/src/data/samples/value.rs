//! Value targets: a game's result mixed with an evaluation by an engine or a search.

use shakmaty::Color;

use crate::data::record::{NO_EVAL, wdl_of_eval};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueTarget {
    /// Weight of the game's result. At 1 evaluations are not used even if the result is unknown.
    pub lambda: f32,
}

impl Default for ValueTarget {
    fn default() -> ValueTarget {
        ValueTarget { lambda: 0.5 }
    }
}

impl ValueTarget {
    pub const RESULT: ValueTarget = ValueTarget { lambda: 1.0 };

    /// WDL for `mover`. `result` is 1, 0 or −1 for White, 2 if unknown; `eval` is White's score as in `games/1`. If
    /// only `result` or `eval` is known, it is the target.
    pub fn for_mover(&self, mover: Color, result: i8, eval: Option<i16>) -> Option<[f32; 3]> {
        let eval = eval.filter(|eval| *eval != NO_EVAL).map(wdl_of_eval);
        self.blended(result, eval).map(|wdl| for_side(mover, wdl))
    }

    /// Takes a search's WDL for `mover` as the evaluation.
    pub fn for_mover_searched(&self, mover: Color, result: i8, searched: [f32; 3]) -> Option<[f32; 3]> {
        self.blended(result, Some(for_side(mover, searched))).map(|wdl| for_side(mover, wdl))
    }

    /// WDL for White.
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

/// Swaps wins and losses for Black.
fn for_side(mover: Color, [win, draw, loss]: [f32; 3]) -> [f32; 3] {
    if mover.is_white() { [win, draw, loss] } else { [loss, draw, win] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_symmetric_and_half_won_at_its_midpoint() {
        assert!((wdl_of_eval(146)[0] - 0.5).abs() < 1e-6);
        let (up, down) = (wdl_of_eval(80), wdl_of_eval(-80));
        assert_eq!((up[0], up[2]), (down[2], down[0]));
        assert!(wdl_of_eval(0)[1] > 0.8, "most level games of strong engines are drawn");
        assert_eq!(wdl_of_eval(29_995), [1.0, 0.0, 0.0]);
        assert_eq!(wdl_of_eval(-29_995), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn results_are_for_the_mover() {
        let target = ValueTarget::default();
        assert_eq!(target.for_mover(Color::White, 1, None), Some([1.0, 0.0, 0.0]));
        assert_eq!(target.for_mover(Color::Black, 1, None), Some([0.0, 0.0, 1.0]));
        assert_eq!(target.for_mover(Color::Black, 0, Some(NO_EVAL)), Some([0.0, 1.0, 0.0]));
        assert_eq!(target.for_mover(Color::White, 2, None), None);
    }

    #[test]
    fn at_lambda_one_evaluations_are_not_used() {
        let target = ValueTarget { lambda: 1.0 };
        assert_eq!(target.for_mover(Color::White, 2, Some(300)), None);
        assert_eq!(target.for_mover(Color::White, 0, Some(300)), Some([0.0, 1.0, 0.0]));
    }

    #[test]
    fn lambda_mixes_result_and_evaluation() {
        // White mates in a drawn game: the draw has weight λ, the win the rest.
        let target = ValueTarget { lambda: 0.25 };
        assert_eq!(target.for_mover(Color::White, 0, Some(29_990)), Some([0.75, 0.25, 0.0]));
        assert_eq!(target.for_mover(Color::Black, 0, Some(29_990)), Some([0.0, 0.25, 0.75]));
        assert_eq!(target.for_mover(Color::White, 2, Some(29_990)), Some([1.0, 0.0, 0.0]));
    }
}
