//! When a match has proven enough: the sequential probability ratio test on pairs of games.

use serde::{Deserialize, Serialize};

use crate::config::Sprt;

use super::tally::{SCORES, Tally, score_of_elo};

/// Where the test ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// At or below it elo0 is accepted.
    pub lower: f64,
    /// At or above it elo1 is accepted.
    pub upper: f64,
}

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// elo0: nothing was gained.
    Rejected,
    /// Not enough games yet.
    Open,
    /// elo1: something was.
    Accepted,
}

impl Sprt {
    /// Wald's bounds.
    pub fn bounds(&self) -> Bounds {
        Bounds { lower: (self.beta / (1.0 - self.alpha)).ln(), upper: ((1.0 - self.beta) / self.alpha).ln() }
    }

    /// The logarithm of how much likelier the results are at elo1 than at elo0, each with the distribution over pairs
    /// that fits the results best (generalised SPRT, Van den Bergh; as fishtest and fastchess do for logistic Elo).
    pub fn llr(&self, tally: &Tally) -> f64 {
        if tally.count() == 0 {
            return 0.0;
        }
        // A kind of result that hasn't come yet may come.
        let counts = tally.pairs.map(|n| if n == 0 { 1e-3 } else { n as f64 });
        let (s0, s1) = (score_of_elo(self.elo0), score_of_elo(self.elo1));
        let (tilt0, tilt1) = (tilt(&counts, s0), tilt(&counts, s1));
        let term = |(n, score): (&f64, f64)| {
            n * ((1.0 + tilt0 * (score - s0)).ln() - (1.0 + tilt1 * (score - s1)).ln())
        };
        counts.iter().zip(SCORES).map(term).sum()
    }

    /// Pairs after which elo1 can be accepted at the earliest: so many, if every game is won. Where that is more than
    /// 2⁴⁰, it is 2⁴⁰.
    pub fn least_pairs(&self) -> u64 {
        let suffice = |won| {
            let tally = Tally { pairs: [0, 0, 0, 0, won], ..Tally::default() };
            self.decision(&tally) == Decision::Accepted
        };
        let (mut short, mut enough) = (0, 1);
        while enough < 1 << 40 && !suffice(enough) {
            (short, enough) = (enough, 2 * enough);
        }
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            if suffice(middle) { enough = middle } else { short = middle }
        }
        enough
    }

    /// Where the test stands.
    pub fn decision(&self, tally: &Tally) -> Decision {
        let (llr, Bounds { lower, upper }) = (self.llr(tally), self.bounds());
        match llr {
            llr if llr >= upper => Decision::Accepted,
            llr if llr <= lower => Decision::Rejected,
            _ => Decision::Open,
        }
    }
}

/// The θ for which the distribution `p / (1 + θ (a − s))` has the mean `s`: of all that have it the likeliest. Found
/// by bisection: the mean of `(a − s) / (1 + θ (a − s))` falls with θ.
fn tilt(counts: &[f64; 5], s: f64) -> f64 {
    let excess = |theta: f64| -> f64 {
        counts.iter().zip(SCORES).map(|(n, score)| n * (score - s) / (1.0 + theta * (score - s))).sum()
    };
    let (mut low, mut high) = (-1.0 / (1.0 - s), 1.0 / s);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(pairs: [u64; 5]) -> Tally {
        Tally { pairs, games: [0; 3] }
    }

    #[test]
    fn the_bounds_are_walds() {
        let Bounds { lower, upper } = Sprt::default().bounds();
        assert!((lower + 2.944_439).abs() < 1e-6 && (upper - 2.944_439).abs() < 1e-6);
    }

    /// For small differences the ratio is that of two normal distributions: N (s1 − s0)(2 m − s0 − s1) / (2 σ²).
    #[test]
    fn small_differences_are_normal() {
        let sprt = Sprt { elo0: 0.0, elo1: 5.0, ..Sprt::default() };
        let tally = tally([100, 1000, 2200, 1100, 110]);
        let (n, mean) = (tally.count() as f64, tally.score());
        let variance: f64 =
            tally.pairs.iter().zip(SCORES).map(|(c, s)| *c as f64 / n * (s - mean) * (s - mean)).sum();
        let (s0, s1) = (0.5, score_of_elo(5.0));
        let normal = n * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance);
        let llr = sprt.llr(&tally);
        assert!((llr - normal).abs() < 0.02 * normal.abs(), "{llr} {normal}");
    }

    #[test]
    fn the_likeliest_distribution_has_the_mean_that_is_asked_for() {
        let counts = [3.0, 7.0, 20.0, 9.0, 4.0];
        for s in [0.3, 0.5, 0.61] {
            let theta = tilt(&counts, s);
            let p: Vec<f64> =
                counts.iter().zip(SCORES).map(|(n, a)| n / 43.0 / (1.0 + theta * (a - s))).collect();
            let mean: f64 = p.iter().zip(SCORES).map(|(p, a)| p * a).sum();
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9 && (mean - s).abs() < 1e-9);
        }
    }

    #[test]
    fn it_decides_when_enough_is_proven() {
        let sprt = Sprt::default();
        assert_eq!(sprt.decision(&tally([0; 5])), Decision::Open);
        assert_eq!(sprt.decision(&tally([1, 2, 4, 3, 1])), Decision::Open);
        assert_eq!(sprt.decision(&tally([0, 1, 6, 13, 18])), Decision::Accepted);
        assert_eq!(sprt.decision(&tally([18, 13, 6, 1, 0])), Decision::Rejected);
        assert_eq!(sprt.decision(&tally([0, 0, 0, 0, 40])), Decision::Accepted, "also without a loss");
        // The longer a level match goes on, the surer it is that 35 Elo weren't gained.
        assert_eq!(sprt.decision(&tally([20, 60, 120, 60, 20])), Decision::Rejected);
    }

    /// Of all distributions with the mean ½ the likeliest for pairs that all were won has half of them won: a pair
    /// won is 2 s1 times as likely at elo1, and counts 0.09566 for 35 Elo. The bound is 2.94444, 30.78 times that.
    #[test]
    fn winning_every_game_decides_after_a_number_that_can_be_told() {
        let sprt = Sprt::default();
        let [short, enough] = [30, 31].map(|won| sprt.llr(&tally([0, 0, 0, 0, won])));
        assert!((short - 30.0 * 0.09566).abs() < 0.01 && (enough - 31.0 * 0.09566).abs() < 0.01);
        assert_eq!(sprt.least_pairs(), 31);
        // ln 19 / ln (2 · 0.909091) is 4.93; at 800 Elo, ln 19 / ln (2 · 0.990099) is 4.31.
        assert_eq!(Sprt { elo1: 400.0, ..Sprt::default() }.least_pairs(), 5);
        assert_eq!(Sprt { elo1: 800.0, ..Sprt::default() }.least_pairs(), 5);
        // ln 1.5 / ln (0.990099 / 0.5) is 0.59.
        assert_eq!(Sprt { elo1: 800.0, alpha: 0.4, beta: 0.4, ..Sprt::default() }.least_pairs(), 1);
        assert_eq!(
            Sprt { elo1: 1e-12, ..Sprt::default() }.least_pairs(),
            1 << 40,
            "they can't be told apart"
        );
    }
}
