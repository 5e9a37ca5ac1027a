//! The sequential probability ratio test (SPRT) on pairs of games.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::results::{MatchResults, SCORES, score_of_elo};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sprt {
    /// Elo of H0.
    pub elo0: f64,
    /// Elo of H1.
    pub elo1: f64,
    /// Probability of accepting H1 if H0 is true.
    pub alpha: f64,
    /// Probability of accepting H0 if H1 is true.
    pub beta: f64,
}

impl Default for Sprt {
    fn default() -> Sprt {
        Sprt { elo0: 0.0, elo1: 35.0, alpha: 0.05, beta: 0.05 }
    }
}

#[derive(Clone, Debug, PartialEq, Error)]
pub enum SprtError {
    #[error("sprt.elo0 is {0}, must be below sprt.elo1, {1}")]
    Order(f64, f64),
    #[error("sprt.alpha and sprt.beta must be between 0 and 0.5")]
    Rates,
    #[error("\"{0}\" is no number")]
    Number(String),
    #[error("expected two numbers, as in 0,35")]
    Form,
}

impl FromStr for Sprt {
    type Err = SprtError;

    fn from_str(text: &str) -> Result<Sprt, SprtError> {
        let number = |text: &str| text.trim().parse().map_err(|_| SprtError::Number(text.to_owned()));
        let (elo0, elo1) = text.split_once(',').ok_or(SprtError::Form)?;
        let sprt = Sprt { elo0: number(elo0)?, elo1: number(elo1)?, ..Sprt::default() };
        sprt.check()?;
        Ok(sprt)
    }
}

/// Log-likelihood ratios (LLR) that end the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SprtBounds {
    /// Accepts H0 at or below this.
    pub lower: f64,
    /// Accepts H1 at or above this.
    pub upper: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SprtDecision {
    /// Accepts H0.
    Rejected,
    Open,
    /// Accepts H1.
    Accepted,
}

impl Sprt {
    pub fn check(&self) -> Result<(), SprtError> {
        if !(self.elo0.is_finite() && self.elo1.is_finite() && self.elo0 < self.elo1) {
            return Err(SprtError::Order(self.elo0, self.elo1));
        }
        let fits = |share: f64| share > 0.0 && share < 0.5;
        if fits(self.alpha) && fits(self.beta) { Ok(()) } else { Err(SprtError::Rates) }
    }

    /// Wald's bounds.
    pub fn bounds(&self) -> SprtBounds {
        SprtBounds {
            lower: (self.beta / (1.0 - self.alpha)).ln(),
            upper: ((1.0 - self.beta) / self.alpha).ln(),
        }
    }

    /// LLR of H1 against H0, each with its maximum-likelihood distribution over pairs (generalised SPRT, Van den Bergh;
    /// as in fishtest and, for logistic Elo, in fastchess). Ignores single games.
    pub fn llr(&self, results: &MatchResults) -> f64 {
        if results.count() == 0 {
            return 0.0;
        }
        // A score that has not occurred yet is still possible.
        let counts = results.pairs.map(|n| if n == 0 { 1e-3 } else { n as f64 });
        let (s0, s1) = (score_of_elo(self.elo0), score_of_elo(self.elo1));
        let (tilt0, tilt1) = (tilt(&counts, s0), tilt(&counts, s1));
        let term = |(n, score): (&f64, f64)| {
            n * ((1.0 + tilt0 * (score - s0)).ln() - (1.0 + tilt1 * (score - s1)).ln())
        };
        counts.iter().zip(SCORES).map(term).sum()
    }

    /// Pairs after which H1 can be accepted if every game is won; at most 2⁴⁰.
    pub fn least_pairs(&self) -> u64 {
        let is_enough = |won| {
            let results = MatchResults { pairs: [0, 0, 0, 0, won], ..MatchResults::default() };
            self.decision(&results) == SprtDecision::Accepted
        };
        let (mut short, mut enough) = (0, 1);
        while enough < 1 << 40 && !is_enough(enough) {
            (short, enough) = (enough, 2 * enough);
        }
        while enough - short > 1 {
            let middle = short + (enough - short) / 2;
            if is_enough(middle) { enough = middle } else { short = middle }
        }
        enough
    }

    pub fn summary(&self, results: &MatchResults) -> String {
        let decision = match self.decision(results) {
            SprtDecision::Accepted => format!("stronger by {} Elo", self.elo1),
            SprtDecision::Rejected => format!("stronger by no more than {} Elo", self.elo0),
            SprtDecision::Open => "undecided".into(),
        };
        let SprtBounds { lower, upper } = self.bounds();
        format!("{decision}: LLR {:.2} between {lower:.2} and {upper:.2}", self.llr(results))
    }

    pub fn decision(&self, results: &MatchResults) -> SprtDecision {
        let (llr, SprtBounds { lower, upper }) = (self.llr(results), self.bounds());
        match llr {
            llr if llr >= upper => SprtDecision::Accepted,
            llr if llr <= lower => SprtDecision::Rejected,
            _ => SprtDecision::Open,
        }
    }
}

/// Returns the θ for which the maximum-likelihood distribution `p / (1 + θ (a − s))` has the mean `s`. Bisects the mean
/// of `(a − s) / (1 + θ (a − s))`, which falls with θ.
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

    fn results(pairs: [u64; 5]) -> MatchResults {
        MatchResults { pairs, ..MatchResults::default() }
    }

    #[test]
    fn the_bounds_are_walds() {
        let SprtBounds { lower, upper } = Sprt::default().bounds();
        assert!((lower + 2.944_439).abs() < 1e-6 && (upper - 2.944_439).abs() < 1e-6);
    }

    /// For small differences, the LLR is N (s1 − s0)(2 m − s0 − s1) / (2 σ²).
    #[test]
    fn small_differences_are_normal() {
        let sprt = Sprt { elo0: 0.0, elo1: 5.0, ..Sprt::default() };
        let results = results([100, 1000, 2200, 1100, 110]);
        let (n, mean) = (results.count() as f64, results.score());
        let variance: f64 =
            results.pairs.iter().zip(SCORES).map(|(c, s)| *c as f64 / n * (s - mean) * (s - mean)).sum();
        let (s0, s1) = (0.5, score_of_elo(5.0));
        let normal = n * (s1 - s0) * (2.0 * mean - s0 - s1) / (2.0 * variance);
        let llr = sprt.llr(&results);
        assert!((llr - normal).abs() < 0.02 * normal.abs(), "{llr} {normal}");
    }

    #[test]
    fn the_fitted_distribution_has_the_mean_asked_for() {
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
    fn it_decides_when_there_is_enough_evidence() {
        let sprt = Sprt::default();
        assert_eq!(sprt.decision(&results([0; 5])), SprtDecision::Open);
        assert_eq!(sprt.decision(&results([1, 2, 4, 3, 1])), SprtDecision::Open);
        assert_eq!(sprt.decision(&results([0, 1, 6, 13, 18])), SprtDecision::Accepted);
        assert_eq!(sprt.decision(&results([18, 13, 6, 1, 0])), SprtDecision::Rejected);
        assert_eq!(sprt.decision(&results([0, 0, 0, 0, 40])), SprtDecision::Accepted, "also without a loss");
        // A long even match shows that 35 Elo were not gained.
        assert_eq!(sprt.decision(&results([20, 60, 120, 60, 20])), SprtDecision::Rejected);
    }

    /// The distribution with mean ½ has half of the pairs won, so a won pair is 2 s1 times as likely under H1: an LLR
    /// of 0.09566 at 35 Elo. The bound, 2.94444, is 30.78 times that.
    #[test]
    fn winning_every_game_decides_after_a_number_worked_out_by_hand() {
        let sprt = Sprt::default();
        let [short, enough] = [30, 31].map(|won| sprt.llr(&results([0, 0, 0, 0, won])));
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
            "they cannot be told apart"
        );
    }
}
