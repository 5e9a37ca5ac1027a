//! The score of a match, and the difference in Elo that it means.

use serde::Serialize;

use crate::play::Winner;

/// Standard deviations of a 95 % interval.
const NORMAL_95: f64 = 1.96;

/// The score of the first engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatchScore {
    /// Games that it has won.
    pub wins: u32,
    /// Drawn games.
    pub draws: u32,
    /// Games that it has lost.
    pub losses: u32,
    /// Pairs of games from one opening by half-points, 0 to 4: the pentanomial statistics.
    pub pairs: [u32; 5],
    /// Half-points of a pair's first game.
    #[serde(skip)]
    open: Option<usize>,
}

/// A difference in Elo with the half-width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rated {
    /// Of the first engine above the second.
    pub elo: f64,
    /// Half of the interval.
    pub error: f64,
}

impl MatchScore {
    /// Adds a game in which the first engine had White or not; two in a row are a pair.
    pub fn add(&mut self, winner: Winner, first_is_white: bool) {
        let half_points = match (winner, first_is_white) {
            (Winner::Draw, _) => 1,
            (Winner::White, true) | (Winner::Black, false) => 2,
            _ => 0,
        };
        *[&mut self.losses, &mut self.draws, &mut self.wins][half_points] += 1;
        match self.open.take() {
            Some(before) => self.pairs[before + half_points] += 1,
            None => self.open = Some(half_points),
        }
    }

    /// Games played.
    pub fn games(&self) -> u32 {
        self.wins + self.draws + self.losses
    }

    /// The difference in Elo by the logistic curve, from whole pairs, whose games are not independent; `None` before
    /// two pairs, if all are equal, or if all games have one winner.
    pub fn rated(&self) -> Option<Rated> {
        let pairs: u32 = self.pairs.iter().sum();
        let n = f64::from(pairs);
        let value = |half_points: usize| half_points as f64 / 4.0;
        let weighted = || self.pairs.iter().enumerate().map(|(i, count)| (value(i), f64::from(*count)));
        let mean = weighted().map(|(score, count)| score * count).sum::<f64>() / n;
        let variance =
            weighted().map(|(score, count)| count * (score - mean).powi(2)).sum::<f64>() / (n - 1.0);
        if pairs < 2 || variance <= 0.0 || mean <= 0.0 || mean >= 1.0 {
            return None;
        }
        let slope = 400.0 / std::f64::consts::LN_10 / (mean * (1.0 - mean));
        let elo = -400.0 * (1.0 / mean - 1.0).log10();
        Some(Rated { elo, error: NORMAL_95 * slope * (variance / n).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_elo_are_those_of_a_hand_computation() {
        let mut score = MatchScore::default();
        // Pairs of 2, 1.5, 1 and 0.5 points.
        let games = [
            (Winner::White, true),
            (Winner::Black, false),
            (Winner::White, true),
            (Winner::Draw, false),
            (Winner::Draw, true),
            (Winner::Draw, false),
            (Winner::Black, true),
            (Winner::Draw, false),
        ];
        for (winner, first_is_white) in games {
            score.add(winner, first_is_white);
        }
        assert_eq!((score.wins, score.draws, score.losses, score.pairs), (3, 4, 1, [0, 1, 1, 1, 1]));
        // Mean 0.625, variance of pairs (0.375² + 0.125² + 0.125² + 0.375²) / 3 = 0.10417.
        let rated = score.rated().unwrap();
        assert!((rated.elo - 88.74).abs() < 0.01, "{rated:?}");
        assert!((rated.error - 1.96 * 741.18 * 0.161_37).abs() < 0.1, "{rated:?}");
    }

    #[test]
    fn too_little_says_nothing() {
        let mut score = MatchScore::default();
        assert_eq!(score.rated(), None);
        for _ in 0..5 {
            score.add(Winner::White, true);
            score.add(Winner::Black, false);
        }
        assert_eq!((score.rated(), score.games()), (None, 10), "all games have one winner");
    }
}
