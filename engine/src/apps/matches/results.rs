use std::fmt;

use serde::{Deserialize, Serialize};

/// Scores of a pair of games with 0, ½, 1, 1½ and 2 points.
pub const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Standard deviations in half of a two-sided 95 % interval of a normal distribution.
pub const SIGMAS: f64 = 1.959_964;
/// Error probability of the interval after a match of only wins or only losses.
const ONE_SIDED: f64 = 0.05;

/// Logistic model.
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Infinite for scores 0 and 1.
pub fn elo_of_score(score: f64) -> f64 {
    // Subtracting from 0 avoids −0 for an even score.
    0.0 - 400.0 * (1.0 / score - 1.0).log10()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchResults {
    /// Pentanomial counts: pairs of games on one opening with colours reversed, by points 0, ½, 1, 1½, 2. Pairs are
    /// independent, the games of a pair are not.
    pub pairs: [u64; 5],
    /// Wins, draws and losses, paired or not.
    pub games: [u64; 3],
    /// Of unpaired games.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub single: [u64; 3],
}

fn is_zero(counts: &[u64; 3]) -> bool {
    *counts == [0; 3]
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EloEstimate {
    pub score: f64,
    pub elo: f64,
    pub low: f64,
    pub high: f64,
}

/// A pair or a single game: a result independent of the others.
#[derive(Clone, Copy)]
struct Unit {
    count: f64,
    games: f64,
    points: f64,
}

impl MatchResults {
    /// `halves` are the games' half-points: 0, 1 or 2.
    pub fn add_pair(&mut self, halves: [u8; 2]) {
        self.pairs[usize::from(halves[0] + halves[1])] += 1;
        halves.into_iter().for_each(|half| self.games[usize::from(2 - half)] += 1);
    }

    pub fn add_single(&mut self, halves: u8) {
        self.single[usize::from(2 - halves)] += 1;
        self.games[usize::from(2 - halves)] += 1;
    }

    pub fn count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    pub fn total(&self) -> u64 {
        2 * self.count() + self.single.iter().sum::<u64>()
    }

    pub fn points(&self) -> f64 {
        self.units().map(|unit| unit.count * unit.points).sum()
    }

    /// 0 to 1; ½ before any game.
    pub fn score(&self) -> f64 {
        if self.total() == 0 { 0.5 } else { self.points() / self.total() as f64 }
    }

    pub fn reversed(&self) -> MatchResults {
        let mut reversed = *self;
        reversed.pairs.reverse();
        reversed.games.reverse();
        reversed.single.reverse();
        reversed
    }

    pub fn add(&mut self, other: &MatchResults) {
        let sums = self.pairs.iter_mut().zip(other.pairs);
        let sums = sums.chain(self.games.iter_mut().zip(other.games));
        sums.chain(self.single.iter_mut().zip(other.single)).for_each(|(sum, more)| *sum += more);
    }

    fn units(&self) -> impl Iterator<Item = Unit> + '_ {
        let pairs = self.pairs.iter().zip(SCORES);
        let pairs = pairs.map(|(n, score)| Unit { count: *n as f64, games: 2.0, points: 2.0 * score });
        let single = self.single.iter().zip([1.0, 0.5, 0.0]);
        pairs.chain(single.map(|(n, points)| Unit { count: *n as f64, games: 1.0, points }))
    }

    /// Σ (points − games · p)² over pairs and single games.
    pub fn squared_residuals(&self, p: f64) -> f64 {
        self.units().map(|unit| unit.count * (unit.points - unit.games * p).powi(2)).sum()
    }

    pub fn varies(&self) -> bool {
        self.squared_residuals(self.score()) > 0.0
    }

    /// The variance of the score is Σ (x − g s)² / n² over pairs (g = 2 games) and single games (g = 1) with x points,
    /// where s is the score and n the number of games. After only wins, the interval is one-sided and ends at the score
    /// s with sⁿ = 0.05; likewise after only losses. Other results without variance get the half-width 3 / (pairs +
    /// single games) (rule of three).
    pub fn estimate(&self) -> EloEstimate {
        let (score, games) = (self.score(), self.total() as f64);
        let bounded = |score: f64| elo_of_score(score.clamp(0.0, 1.0));
        let [low, high] = if self.varies() {
            let wide = SIGMAS * self.squared_residuals(score).sqrt() / games;
            [score - wide, score + wide]
        } else if games > 0.0 && (score == 0.0 || score == 1.0) {
            let bound = ONE_SIDED.powf(1.0 / games);
            if score == 1.0 { [bound, 1.0] } else { [0.0, 1.0 - bound] }
        } else {
            let wide = 3.0 / (self.count() + self.single.iter().sum::<u64>()).max(1) as f64;
            [score - wide, score + wide]
        };
        EloEstimate { score, elo: bounded(score), low: bounded(low), high: bounded(high) }
    }
}

impl fmt::Display for EloEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EloEstimate { elo, low, high, .. } = *self;
        match (elo.is_finite(), low.is_finite(), high.is_finite()) {
            (_, false, false) => write!(f, "unknown"),
            (false, true, _) => write!(f, "at least {low:+.0}"),
            (false, _, true) => write!(f, "at most {high:+.0}"),
            (true, true, false) => write!(f, "{elo:+.0}, at least {low:+.0}"),
            (true, false, true) => write!(f, "{elo:+.0}, at most {high:+.0}"),
            (_, true, true) => write!(f, "{elo:+.0} ± {:.0}", (high - low) / 2.0),
        }
    }
}

impl fmt::Display for MatchResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total() == 0 {
            return write!(f, "no finished games");
        }
        let [wins, draws, losses] = self.games;
        let estimate = self.estimate();
        let pairs = self.pairs.map(|n| n.to_string()).join(" ");
        write!(f, "+{wins} ={draws} -{losses}, {:.1} %, ", 100.0 * estimate.score)?;
        write!(f, "Elo {estimate}, pairs 0 ½ 1 1½ 2: {pairs}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_by_their_points() {
        let mut results = MatchResults::default();
        [[2, 2], [2, 0], [1, 2], [0, 0]].into_iter().for_each(|pair| results.add_pair(pair));
        assert_eq!((results.pairs, results.games), ([1, 0, 1, 1, 1], [4, 1, 3]));
        assert_eq!(results.score(), 4.5 / 8.0);
        results.add_single(2);
        assert_eq!((results.single, results.games, results.total()), ([1, 0, 0], [5, 1, 3], 9));
        assert_eq!(results.score(), 5.5 / 9.0);
        let reversed = results.reversed();
        assert_eq!(
            (reversed.pairs, reversed.games, reversed.single),
            ([1, 1, 1, 0, 1], [3, 1, 5], [0, 0, 1])
        );
        assert_eq!(reversed.score(), 3.5 / 9.0);
    }

    #[test]
    fn elo_and_score_are_two_names_of_the_same() {
        assert!((score_of_elo(100.0) - 0.640_065).abs() < 1e-6);
        assert!((elo_of_score(score_of_elo(-37.0)) + 37.0).abs() < 1e-9);
        assert_eq!(elo_of_score(1.0), f64::INFINITY);
    }

    /// 100 games against Stockfish at UCI_Elo 1800, published as +7 ± 62.
    #[test]
    fn the_interval_comes_from_the_pairs() {
        let results =
            MatchResults { pairs: [8, 6, 21, 6, 9], games: [44, 14, 42], ..MatchResults::default() };
        let estimate = results.estimate();
        let EloEstimate { elo, low, high, .. } = estimate;
        assert!((elo - 7.0).abs() < 0.5, "{elo}");
        assert!(((high - low) / 2.0 - 62.0).abs() < 3.0, "{low} {high}");
        assert_eq!(estimate.to_string(), "+7 ± 62");
    }

    /// Mean of the pairs 9/16, variance 19/256, error of the mean 1.96 · √19/32 = 0.26698: 0.29552 is −151 Elo, 0.82948
    /// is +275 Elo.
    #[test]
    fn the_interval_can_be_worked_out_by_hand() {
        let EloEstimate { elo, low, high, .. } =
            MatchResults { pairs: [0, 1, 2, 0, 1], ..MatchResults::default() }.estimate();
        assert!((elo - 400.0 * (9f64 / 7.0).log10()).abs() < 1e-9);
        assert_eq!((low.round(), high.round()), (-151.0, 275.0));
    }

    /// A game's variance is ½ · ¼ = 1/8, the error of the score 1.96 · √(1/3200) = 0.034648, which is 24.1 Elo at ½.
    /// Without draws it would be √2 times that.
    #[test]
    fn draws_narrow_the_interval_of_single_games() {
        let results = MatchResults { single: [100, 200, 100], ..MatchResults::default() };
        let EloEstimate { elo, low, high, .. } = results.estimate();
        assert!(elo == 0.0 && (high - 24.1).abs() < 0.1 && (low + high).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn equal_results_still_have_an_interval() {
        let all =
            MatchResults { pairs: [0, 0, 0, 0, 10], games: [20, 0, 0], ..MatchResults::default() }.estimate();
        assert!(all.elo.is_infinite() && all.high.is_infinite() && all.low > 100.0, "{all:?}");
        // Ten of ten: a player with expected score 0.05^(1/10) = 0.741 (+183 Elo) does it once in twenty.
        let sweep = MatchResults { pairs: [0, 0, 0, 0, 5], ..MatchResults::default() };
        assert_eq!(sweep.estimate().to_string(), "at least +183");
        assert_eq!(sweep.reversed().estimate().to_string(), "at most -183");
        // 100 pairs of one point each: at most 3 % are other pairs.
        let even = MatchResults { pairs: [0, 0, 100, 0, 0], ..MatchResults::default() }.estimate();
        assert!(
            (even.high - elo_of_score(0.53)).abs() < 1e-9 && (even.low + even.high).abs() < 1e-9,
            "{even:?}"
        );
        assert_eq!(MatchResults::default().estimate().to_string(), "unknown");
        assert_eq!(MatchResults::default().to_string(), "no finished games");
    }
}
