//! Results of pairs of games, and the difference in strength that they show.

use serde::{Deserialize, Serialize};

/// Points of a pair of games, in halves of a game: 0, ½, 1, 1½, 2; as a share of both games.
pub const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// 95 % of a normal distribution.
pub(super) const SIGMAS: f64 = 1.959_964;

/// The expected score of a player who is stronger by `elo`.
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The difference in strength that leads to this score; infinite for all or nothing.
pub fn elo_of_score(score: f64) -> f64 {
    // An even score is zero, not minus zero.
    0.0 - 400.0 * (1.0 / score - 1.0).log10()
}

/// Results of one player against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs of games on one opening with colours reversed, by the points made in both: 0, ½, 1, 1½, 2.
    ///
    /// The games of a pair aren't independent, pairs are: that is why they are counted (pentanomial statistics).
    pub pairs: [u64; 5],
    /// Wins, draws and losses, also of games whose pair isn't complete.
    pub games: [u64; 3],
}

/// A difference in Elo with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Share of the points.
    pub score: f64,
    /// Elo; infinite if all or no points were made.
    pub elo: f64,
    /// The interval's lower end, …
    pub least: f64,
    /// … and its upper end.
    pub most: f64,
}

impl Tally {
    /// Counts a pair by its games' points, each 0, 1 (half) or 2 halves.
    pub fn add_pair(&mut self, halves: [u8; 2]) {
        self.pairs[usize::from(halves[0] + halves[1])] += 1;
        halves.into_iter().for_each(|half| self.games[usize::from(2 - half)] += 1);
    }

    /// Complete pairs.
    pub fn count(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// Share of the points; ½ before any.
    pub fn score(&self) -> f64 {
        let points: f64 = self.pairs.iter().zip(SCORES).map(|(n, score)| *n as f64 * score).sum();
        if self.count() == 0 { 0.5 } else { points / self.count() as f64 }
    }

    /// The difference in strength, from the variance of the pairs.
    pub fn estimate(&self) -> Estimate {
        let (score, n) = (self.score(), self.count().max(1) as f64);
        let square = |s: f64| (s - score) * (s - score);
        let variance: f64 = self.pairs.iter().zip(SCORES).map(|(c, s)| *c as f64 / n * square(s)).sum();
        // Alike results show no variance: then an interval from none of the other kind (rule of three).
        let wide = if variance > 0.0 { SIGMAS * (variance / n).sqrt() } else { 3.0 / n };
        let bounded = |score: f64| elo_of_score(score.clamp(0.0, 1.0));
        Estimate { score, elo: bounded(score), least: bounded(score - wide), most: bounded(score + wide) }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [wins, draws, losses] = self.games;
        let Estimate { score, elo, least, most } = self.estimate();
        let pairs = self.pairs.map(|n| n.to_string()).join(" ");
        write!(f, "+{wins} ={draws} -{losses}, {:.1} %, ", 100.0 * score)?;
        write!(f, "Elo {elo:+.0} ({least:+.0} to {most:+.0}), pairs 0 ½ 1 1½ 2: {pairs}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_by_their_points() {
        let mut tally = Tally::default();
        [[2, 2], [2, 0], [1, 2], [0, 0]].into_iter().for_each(|pair| tally.add_pair(pair));
        assert_eq!((tally.pairs, tally.games), ([1, 0, 1, 1, 1], [4, 1, 3]));
        assert_eq!(tally.score(), 4.5 / 8.0);
    }

    #[test]
    fn elo_and_score_are_two_names_of_the_same() {
        assert!((score_of_elo(100.0) - 0.640_065).abs() < 1e-6);
        assert!((elo_of_score(score_of_elo(-37.0)) + 37.0).abs() < 1e-9);
        assert_eq!(elo_of_score(1.0), f64::INFINITY);
    }

    /// README's match of 100 games against Stockfish at 1800, which scripts/match.py rated +7 ± 62.
    #[test]
    fn the_interval_comes_from_the_pairs() {
        let tally = Tally { pairs: [8, 6, 21, 6, 9], games: [44, 14, 42] };
        let Estimate { elo, least, most, .. } = tally.estimate();
        assert!((elo - 7.0).abs() < 0.5, "{elo}");
        assert!(((most - least) / 2.0 - 62.0).abs() < 3.0, "{least} {most}");
    }

    #[test]
    fn alike_results_still_have_an_interval() {
        let all = Tally { pairs: [0, 0, 0, 0, 10], games: [20, 0, 0] }.estimate();
        assert!(all.elo.is_infinite() && all.most.is_infinite() && all.least > 100.0, "{all:?}");
    }
}
