use std::collections::{BTreeMap, BTreeSet, HashMap};

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use engine::apps::matches::{MatchResults, SIGMAS};

/// Natural log-odds per Elo point.
const LOGIT: f64 = std::f64::consts::LN_10 / 400.0;
/// Virtual draws per pair of players that met, so that an all-winning player's rating is finite.
const PRIOR: f64 = 0.5;

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
    /// On the anchors' scale, or relative to the mean of the players connected with the first.
    pub elo: f64,
    /// Half width of the 95 % interval; 0 for an anchor, infinite without a connection.
    pub error: f64,
    pub games: f64,
}

/// Maximum likelihood (Bradley and Terry 1952, a draw is half a win) by Newton's method. `anchors` have a fixed Elo;
/// without anchors the mean of those whom games connect with the first player is 0.
///
/// Errors come from the observed variance of pairs and games (sandwich estimator H⁻¹ G H⁻¹ with curvature H and squared
/// residuals G), so draws and balanced pairs make errors smaller. Players whom no games connect to an anchor, or to the
/// first player, are rated among themselves, with an infinite error.
pub fn rate(meetings: &[HeadToHead], anchors: &[(&str, f64)]) -> Vec<Rating> {
    let mut names: Vec<&str> = Vec::new();
    let mut index: HashMap<&str, usize> = HashMap::new();
    let met = meetings.iter().flat_map(|meeting| [meeting.first.as_str(), meeting.second.as_str()]);
    for name in anchors.iter().map(|(name, _)| *name).chain(met) {
        index.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    let mut ratings: Vec<Rating> = names
        .iter()
        .map(|name| Rating { name: (*name).to_owned(), elo: 0.0, error: 0.0, games: 0.0 })
        .collect();
    for (player, (_, elo)) in anchors.iter().enumerate() {
        ratings[player].elo = *elo;
    }
    for meeting in meetings {
        for name in [&meeting.first, &meeting.second] {
            ratings[index[name.as_str()]].games += meeting.games;
        }
    }
    let sides =
        meetings.iter().map(|meeting| [index[meeting.first.as_str()], index[meeting.second.as_str()]]);
    let sides: Vec<[usize; 2]> = sides.collect();
    let group_of = groups(names.len(), &sides);
    let mut by_group: BTreeMap<usize, Vec<(&HeadToHead, [usize; 2])>> = BTreeMap::new();
    for (meeting, sides) in meetings.iter().zip(&sides) {
        by_group.entry(group_of[sides[0]]).or_default().push((meeting, *sides));
    }
    for group in by_group.into_values() {
        rate_group(&group, anchors.len(), &mut ratings);
    }
    ratings
}

/// The smallest number of a player whom games connect with each of `players`, directly or through others.
pub fn groups(players: usize, sides: &[[usize; 2]]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..players).collect();
    let root = |parent: &mut Vec<usize>, mut player: usize| {
        while parent[player] != player {
            parent[player] = parent[parent[player]];
            player = parent[player];
        }
        player
    };
    for side in sides {
        let [one, other] = side.map(|player| root(&mut parent, player));
        parent[one.max(other)] = one.min(other);
    }
    (0..players).map(|player| root(&mut parent, player)).collect()
}

/// Of players who are all connected. The first `anchors` of `ratings` have their Elo.
fn rate_group(meetings: &[(&HeadToHead, [usize; 2])], anchors: usize, ratings: &mut [Rating]) {
    let players: BTreeSet<usize> = meetings.iter().flat_map(|(_, sides)| *sides).collect();
    let is_anchored = players.first().is_some_and(|player| *player < anchors);
    // Anchors come first; without one, the first player stands at 0 until all are centred.
    let players: Vec<usize> = players.into_iter().collect();
    let fixed = players.iter().filter(|player| **player < anchors).count().max(1);
    let n = players.len() - fixed;
    if n == 0 {
        return;
    }
    let place: HashMap<usize, usize> = players.iter().copied().zip(0..).collect();
    let sides: Vec<[usize; 2]> = meetings.iter().map(|(_, sides)| sides.map(|side| place[&side])).collect();
    let mut strength = DVector::from_iterator(players.len(), players.iter().map(|p| ratings[*p].elo * LOGIT));
    let mean = strength.rows(0, fixed).mean();
    strength.rows_mut(fixed, n).fill(mean);
    let expected =
        |strength: &DVector<f64>, [a, b]: [usize; 2]| 1.0 / (1.0 + (strength[b] - strength[a]).exp());
    let mut last = None;
    for _ in 0..50 {
        let mut gradient = DVector::zeros(players.len());
        let mut curvature = Vec::with_capacity(meetings.len());
        for ((meeting, _), sides) in meetings.iter().zip(&sides) {
            let (games, points) = (meeting.games + PRIOR, meeting.points + PRIOR / 2.0);
            let expected = expected(&strength, *sides);
            gradient[sides[0]] += points - games * expected;
            gradient[sides[1]] -= points - games * expected;
            curvature.push(games * expected * (1.0 - expected));
        }
        let cholesky = differences(&sides, &curvature, fixed, n).cholesky();
        let cholesky = cholesky.expect("connected players have a positive definite curvature");
        let step = cholesky.solve(&gradient.rows(fixed, n).into_owned()).map(|step| step.clamp(-2.0, 2.0));
        let mut free = strength.rows_mut(fixed, n);
        free += &step;
        last = Some(cholesky);
        if step.amax() < 1e-9 {
            break;
        }
    }
    let inverse = last.expect("there was a step").inverse();
    let variances = meetings.iter().zip(&sides);
    let variances = variances.map(|((meeting, _), sides)| meeting.variance(expected(&strength, *sides)));
    let residuals = differences(&sides, &variances.collect::<Vec<_>>(), fixed, n);
    let mut covariance = DMatrix::zeros(players.len(), players.len());
    covariance.view_mut((fixed, fixed), (n, n)).copy_from(&(&inverse * residuals * &inverse));
    if !is_anchored {
        centre(&mut strength, &mut covariance);
    }
    let is_known = is_anchored || (anchors == 0 && players[0] == 0);
    for (place, player) in players.into_iter().enumerate().filter(|(_, player)| *player >= anchors) {
        ratings[player].elo = strength[place] / LOGIT;
        let error = SIGMAS * covariance[(place, place)].max(0.0).sqrt() / LOGIT;
        ratings[player].error = if is_known { error } else { f64::INFINITY };
    }
}

/// Σ w (eₐ − e_b)(eₐ − e_b)ᵀ over meetings of a and b, without the first `fixed` rows and columns.
fn differences(sides: &[[usize; 2]], weights: &[f64], fixed: usize, n: usize) -> DMatrix<f64> {
    let mut sum = DMatrix::zeros(n, n);
    for ([a, b], weight) in sides.iter().zip(weights) {
        for (i, j, sign) in [(*a, *a, 1.0), (*b, *b, 1.0), (*a, *b, -1.0), (*b, *a, -1.0)] {
            if i >= fixed && j >= fixed {
                sum[(i - fixed, j - fixed)] += sign * weight;
            }
        }
    }
    sum
}

/// Shifts the mean strength to 0, and the covariances accordingly.
fn centre(strength: &mut DVector<f64>, covariance: &mut DMatrix<f64>) {
    strength.add_scalar_mut(-strength.mean());
    let rows = covariance.column_mean();
    let all = rows.mean();
    for (i, own) in rows.iter().enumerate() {
        for (j, other) in rows.iter().enumerate() {
            covariance[(i, j)] += all - own - other;
        }
    }
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
        assert!(of(&ratings, "x").elo > of(&ratings, "y").elo && of(&ratings, "x").error.is_infinite());
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
    fn strangers_do_not_move_the_mean() {
        let pair = [meeting("a", "b", 4.0, 3.0)];
        let with_strangers = [pair[0].clone(), meeting("x", "y", 10.0, 9.0), meeting("y", "z", 10.0, 9.0)];
        let (alone, all) = (rate(&pair, &[]), rate(&with_strangers, &[]));
        assert_eq!(of(&alone, "a"), of(&all, "a"));
        assert!(["x", "y", "z"].iter().all(|name| of(&all, name).error.is_infinite()));
        assert_eq!(groups(5, &[[3, 1], [4, 3], [0, 2]]), [0, 1, 0, 1, 1]);
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
