use serde::{Deserialize, Serialize};

use engine::apps::matches::{MatchResults, SIGMAS};

/// Natural log-odds per Elo point.
const LOGIT: f64 = std::f64::consts::LN_10 / 400.0;
/// Virtual draws per pair of players that met, so that an all-winning player's rating is finite.
const PRIOR: f64 = 0.5;
/// A small curvature that fixes players unconnected to the anchor.
const RIDGE: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadToHead {
    pub first: String,
    pub second: String,
    pub games: f64,
    pub points: f64,
    #[serde(default)]
    pub results: MatchResults,
}

impl HeadToHead {
    pub fn new(first: &str, second: &str, results: MatchResults) -> HeadToHead {
        let (games, points) = (results.total() as f64, results.points());
        HeadToHead { first: first.to_owned(), second: second.to_owned(), games, points, results }
    }

    /// Variance of the points if a game's expected score is `expected`: as observed, or that of games without draws if
    /// results are unknown or all equal.
    fn variance(&self, expected: f64) -> f64 {
        let (known, binomial) = (self.results.total() as f64, expected * (1.0 - expected));
        let observed =
            if self.results.varies() { self.results.squared_residuals(expected) } else { known * binomial };
        observed + (self.games - known).max(0.0) * binomial
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    pub name: String,
    /// On the anchors' scale, or relative to the mean of all players.
    pub elo: f64,
    /// Half width of the 95 % interval; 0 for an anchor.
    pub error: f64,
    pub games: f64,
}

/// Maximum likelihood (Bradley and Terry 1952, a draw is half a win) by Newton's method. `anchors` have a fixed Elo;
/// without anchors the mean is 0.
///
/// Errors come from the observed variance of pairs and games (sandwich estimator H⁻¹ G H⁻¹ with curvature H and squared
/// residuals G), so draws and balanced pairs make errors smaller. A player unconnected to the anchors gets a rating
/// near 0 and a very large error.
pub fn rate(meetings: &[HeadToHead], anchors: &[(&str, f64)]) -> Vec<Rating> {
    let mut names: Vec<&str> = anchors.iter().map(|(name, _)| *name).collect();
    for name in meetings.iter().flat_map(|meeting| [meeting.first.as_str(), meeting.second.as_str()]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let index = |name: &str| names.iter().position(|other| *other == name).expect("collected above");
    let sides: Vec<(usize, usize)> =
        meetings.iter().map(|meeting| (index(&meeting.first), index(&meeting.second))).collect();
    // The first `fixed` players are the anchors, or one reference player at 0. The other `n` are free.
    let fixed = anchors.len().max(1);
    let n = names.len() - fixed;
    let mut strength = vec![0.0f64; names.len()];
    strength.iter_mut().zip(anchors).for_each(|(strength, (_, elo))| *strength = elo * LOGIT);
    let mean = strength[..fixed].iter().sum::<f64>() / fixed as f64;
    strength[fixed..].fill(mean);
    let expected = |strength: &[f64], (a, b): (usize, usize)| 1.0 / (1.0 + (strength[b] - strength[a]).exp());
    let mut inverse = vec![vec![0.0; n]; n];
    for _ in 0..50 {
        let mut gradient = vec![0.0; names.len()];
        let mut curvature = Vec::with_capacity(meetings.len());
        for (meeting, (a, b)) in meetings.iter().zip(&sides) {
            let (games, points) = (meeting.games + PRIOR, meeting.points + PRIOR / 2.0);
            let expected = expected(&strength, (*a, *b));
            gradient[*a] += points - games * expected;
            gradient[*b] -= points - games * expected;
            curvature.push(games * expected * (1.0 - expected));
        }
        inverse = invert(differences(&sides, &curvature, fixed, n));
        let mut greatest: f64 = 0.0;
        for i in 0..n {
            let step: f64 = (0..n).map(|j| inverse[i][j] * gradient[j + fixed]).sum();
            let step = step.clamp(-2.0, 2.0);
            strength[i + fixed] += step;
            greatest = greatest.max(step.abs());
        }
        if greatest < 1e-9 {
            break;
        }
    }
    let variances: Vec<f64> = meetings
        .iter()
        .zip(&sides)
        .map(|(meeting, sides)| meeting.variance(expected(&strength, *sides)))
        .collect();
    let residuals = differences(&sides, &variances, fixed, n);
    let mut covariance = vec![vec![0.0; names.len()]; names.len()];
    for (i, row) in product(&product(&inverse, &residuals), &inverse).into_iter().enumerate() {
        covariance[i + fixed][fixed..].copy_from_slice(&row);
    }
    if anchors.is_empty() {
        centre(&mut strength, &mut covariance);
    }
    let games = |name: &str| {
        let own = meetings.iter().filter(|meeting| meeting.first == name || meeting.second == name);
        own.map(|meeting| meeting.games).sum()
    };
    let rating = |(i, name): (usize, &&str)| Rating {
        name: (*name).to_owned(),
        elo: anchors.get(i).map_or(strength[i] / LOGIT, |(_, elo)| *elo),
        error: SIGMAS * covariance[i][i].max(0.0).sqrt() / LOGIT,
        games: games(name),
    };
    names.iter().enumerate().map(rating).collect()
}

/// Σ w (eₐ − e_b)(eₐ − e_b)ᵀ over meetings of a and b, plus a small ridge, without the first `fixed` rows and columns.
fn differences(sides: &[(usize, usize)], weights: &[f64], fixed: usize, n: usize) -> Vec<Vec<f64>> {
    let mut sum = vec![vec![0.0; n]; n];
    (0..n).for_each(|i| sum[i][i] = RIDGE);
    for ((a, b), weight) in sides.iter().zip(weights) {
        for (i, j, sign) in [(*a, *a, 1.0), (*b, *b, 1.0), (*a, *b, -1.0), (*b, *a, -1.0)] {
            if i >= fixed && j >= fixed {
                sum[i - fixed][j - fixed] += sign * weight;
            }
        }
    }
    sum
}

/// Shifts the mean strength to 0, and the covariances accordingly.
fn centre(strength: &mut [f64], covariance: &mut [Vec<f64>]) {
    let n = strength.len() as f64;
    let mean = strength.iter().sum::<f64>() / n;
    strength.iter_mut().for_each(|x| *x -= mean);
    let rows: Vec<f64> = covariance.iter().map(|row| row.iter().sum::<f64>() / n).collect();
    let all = rows.iter().sum::<f64>() / n;
    for (row, own) in covariance.iter_mut().zip(&rows) {
        row.iter_mut().zip(&rows).for_each(|(x, other)| *x += all - own - other);
    }
}

fn product(left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = right.first().map_or(0, Vec::len);
    let cell =
        |row: &[f64], column: usize| row.iter().zip(right).map(|(x, other)| x * other[column]).sum::<f64>();
    left.iter().map(|row| (0..columns).map(|column| cell(row, column)).collect()).collect()
}

/// Gauss-Jordan elimination; the matrix must be positive definite.
fn invert(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    for column in 0..n {
        let pivot = matrix[column][column];
        for rows in [&mut matrix, &mut inverse] {
            rows[column].iter_mut().for_each(|x| *x /= pivot);
        }
        for row in (0..n).filter(|row| *row != column) {
            let factor = matrix[row][column];
            for rows in [&mut matrix, &mut inverse] {
                let above = rows[column].clone();
                rows[row].iter_mut().zip(above).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(first: &str, second: &str, games: f64, points: f64) -> HeadToHead {
        let results = MatchResults::default();
        HeadToHead { first: first.into(), second: second.into(), games, points, results }
    }

    fn of<'a>(ratings: &'a [Rating], name: &str) -> &'a Rating {
        ratings.iter().find(|rating| rating.name == name).unwrap()
    }

    #[test]
    fn two_players_are_as_far_apart_as_their_score_says() {
        let ratings = rate(&[meeting("new", "old", 10_000.0, 6401.0)], &[("old", 0.0)]);
        assert!((of(&ratings, "new").elo - 100.0).abs() < 0.5, "{ratings:?}");
        assert_eq!((of(&ratings, "old").elo, of(&ratings, "old").error), (0.0, 0.0));
        // 95 % interval of a binomial score in 10,000 games, in Elo: 1.96 · 400 / ln 10 / √(n p (1 − p)).
        assert!((of(&ratings, "new").error - 7.09).abs() < 0.05, "{ratings:?}");
    }

    #[test]
    fn strength_adds_up_along_a_chain() {
        let chain = [meeting("b", "a", 4000.0, 2560.3), meeting("c", "b", 4000.0, 2560.3)];
        let ratings = rate(&chain, &[("a", 0.0)]);
        assert!((of(&ratings, "b").elo - 100.0).abs() < 0.5 && (of(&ratings, "c").elo - 200.0).abs() < 1.0);
        assert!(of(&ratings, "c").error > 1.3 * of(&ratings, "b").error, "errors add up as well");
    }

    #[test]
    fn winning_everything_is_not_infinite_and_strangers_do_no_harm() {
        let ratings =
            rate(&[meeting("a", "random", 20.0, 20.0), meeting("x", "y", 10.0, 7.0)], &[("random", 0.0)]);
        let best = of(&ratings, "a");
        assert!(best.elo > 400.0 && best.elo < 1200.0 && best.error > 200.0, "{best:?}");
        assert!(of(&ratings, "x").elo > of(&ratings, "y").elo);
    }

    /// 100 wins, 200 draws, 100 losses: fitted score ½, curvature 400.5 · ¼ = 100.125, sum of squared residuals 200 · ¼
    /// = 50; 1.96 · √50 / 100.125 · 400 / ln 10 = 24.05 Elo. Without draws it would be 34.
    #[test]
    fn draws_make_errors_smaller() {
        let drawish = MatchResults { single: [100, 200, 100], ..MatchResults::default() };
        let ratings = rate(&[HeadToHead::new("new", "old", drawish)], &[("old", 0.0)]);
        let new = of(&ratings, "new");
        assert!(new.elo.abs() < 1e-6 && (new.error - 24.05).abs() < 0.05, "{ratings:?}");
        let plain = rate(&[meeting("new", "old", 400.0, 200.0)], &[("old", 0.0)]);
        assert!((of(&plain, "new").error - 34.0).abs() < 0.1, "{plain:?}");
    }

    /// Of 100 pairs, 98 score 1:1, one 2:0 and one 0:2. Sum of squared residuals 2, curvature 204.5 · ¼: 1.96 · √2 /
    /// 51.125 · 400 / ln 10 = 9.42 Elo.
    #[test]
    fn pairs_that_balance_make_errors_smaller() {
        let results = MatchResults { pairs: [1, 0, 100, 0, 1], ..MatchResults::default() };
        let ratings = rate(&[HeadToHead::new("new", "old", results)], &[("old", 0.0)]);
        assert!((of(&ratings, "new").error - 9.42).abs() < 0.01, "{ratings:?}");
    }

    /// 64.01 % against 3000 means 3100, 50 % against 3120 means 3120. With equally many games the likeliest rating lies
    /// between.
    #[test]
    fn several_anchors_keep_their_ratings() {
        let anchors = [("weak", 3000.0), ("strong", 3120.0), ("absent", 2000.0)];
        let games = [meeting("new", "weak", 10_000.0, 6401.0), meeting("strong", "new", 10_000.0, 5000.0)];
        let ratings = rate(&games, &anchors);
        for (name, elo) in anchors {
            assert!(
                (of(&ratings, name).elo - elo).abs() < 1e-9 && of(&ratings, name).error == 0.0,
                "{ratings:?}"
            );
        }
        let new = of(&ratings, "new");
        assert!((3108.0..3112.0).contains(&new.elo), "{ratings:?}");
        assert!(new.error < 5.1, "less than of either alone: {ratings:?}");
    }

    #[test]
    fn without_an_anchor_the_mean_is_zero() {
        let results = MatchResults { single: [100, 200, 100], ..MatchResults::default() };
        let ratings = rate(&[HeadToHead::new("a", "b", results)], &[]);
        // Each error is half that of the ratings' difference.
        for rating in &ratings {
            assert!((rating.error - 24.05 / 2.0).abs() < 0.03, "{ratings:?}");
        }
        // Three wins, a loss and half a virtual draw: 3.25 to 1.25 points.
        let ratings = rate(&[meeting("a", "b", 4.0, 3.0)], &[]);
        let difference = 400.0 * (3.25f64 / 1.25).log10();
        assert!((of(&ratings, "a").elo - difference / 2.0).abs() < 1e-6, "{ratings:?}");
        assert!((of(&ratings, "a").elo + of(&ratings, "b").elo).abs() < 1e-9);
        assert!(rate(&[], &[]).is_empty());
    }
}
