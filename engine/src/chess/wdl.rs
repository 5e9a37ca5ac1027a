/// Probabilities for the side to move, which sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    pub win: f32,
    pub draw: f32,
    pub loss: f32,
}

impl Wdl {
    pub const WIN: Wdl = Wdl { win: 1.0, draw: 0.0, loss: 0.0 };
    pub const DRAW: Wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
    pub const LOSS: Wdl = Wdl { win: 0.0, draw: 0.0, loss: 1.0 };

    /// −1 to 1.
    pub fn q(self) -> f32 {
        self.win - self.loss
    }

    /// For the mover. A game counts as two independent half points, each won with probability `(1 + q) / 2`, where `q`
    /// is [`q_of_centipawns`].
    pub fn of_centipawns(centipawns: i32) -> Wdl {
        let q = q_of_centipawns(centipawns);
        let both = |q: f32| (1.0 + q) * (1.0 + q) / 4.0;
        Wdl { win: both(q), draw: (1.0 - q * q) / 2.0, loss: both(-q) }
    }

    pub fn flipped(self) -> Wdl {
        Wdl { win: self.loss, draw: self.draw, loss: self.win }
    }

    pub fn from_logits(logits: [f32; 3]) -> Wdl {
        let mut p = logits;
        softmax(&mut p);
        Wdl { win: p[0], draw: p[1], loss: p[2] }
    }
}

/// lc0's conversion of expected results to centipawns: `90 · tan(1.5637541897 · q)`.
const CURVE: (f32, f32) = (90.0, 1.563_754_2);

/// lc0's conversion, for stored games; users see `shown_centipawns`.
pub fn centipawns_of_q(q: f32) -> i32 {
    (CURVE.0 * (CURVE.1 * q.clamp(-1.0, 1.0)).tan()).round() as i32
}

pub fn q_of_centipawns(centipawns: i32) -> f32 {
    ((centipawns as f32 / CURVE.0).atan() / CURVE.1).clamp(-1.0, 1.0)
}

/// In place. Returns log-sum-exp.
pub fn softmax(logits: &mut [f32]) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for x in logits.iter_mut() {
        *x = (*x - max).exp();
        sum += *x;
    }
    logits.iter_mut().for_each(|x| *x /= sum);
    max + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_of_logarithms_gives_proportions() {
        let mut logits = [1f32.ln(), 2f32.ln() + 50.0, 5f32.ln()];
        logits[1] -= 50.0;
        softmax(&mut logits);
        for (got, want) in logits.iter().zip([0.125, 0.25, 0.625]) {
            assert!((got - want).abs() < 1e-5);
        }
    }

    #[test]
    fn centipawns_and_expected_results_convert_both_ways() {
        for centipawns in [-1200, -310, -35, 0, 1, 100, 900, 5000] {
            let round_trip = centipawns_of_q(q_of_centipawns(centipawns));
            // Near ±1 a rounding error of q is many centipawns.
            assert!((round_trip - centipawns).abs() <= centipawns.abs() / 500, "{round_trip}");
            assert_eq!(Wdl::of_centipawns(centipawns), Wdl::of_centipawns(-centipawns).flipped());
        }
        assert!((q_of_centipawns(90) - std::f32::consts::FRAC_PI_4 / 1.563_754_2).abs() < 1e-6);
        assert_eq!(q_of_centipawns(i32::MAX), 1.0);
    }

    #[test]
    fn flipping_twice_changes_nothing() {
        let wdl = Wdl::from_logits([2.0, 1.0, -1.0]);
        assert_eq!(wdl.flipped().flipped(), wdl);
        assert_eq!(wdl.flipped().q(), -wdl.q());
    }
}
