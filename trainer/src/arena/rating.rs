//! Many players on one scale.

use super::tally::SIGMAS;
use serde::{Deserialize, Serialize};

/// Natural logarithms of odds an Elo.
const LOGIT: f64 = std::f64::consts::LN_10 / 400.0;
/// Virtual draws of every meeting, so that who won everything isn't infinitely strong.
const PRIOR: f64 = 0.5;

/// What one player made against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meeting {
    /// A player, …
    pub first: String,
    /// … another, …
    pub second: String,
    /// … their games, …
    pub games: f64,
    /// … and the first one's points.
    pub points: f64,
}

/// A player's place on the scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Who.
    pub name: String,
    /// Elo above the anchor.
    pub elo: f64,
    /// 95 % are within this; 0 for the anchor.
    pub error: f64,
    /// Games played.
    pub games: f64,
}

/// Fits one strength for each player such that all results together are likeliest (Bradley–Terry, draws as half a
/// win), by Newton's method; errors come from the curvature there. `anchor` is 0; players who never met it, not even
/// by others, are near 0 with great errors.
pub fn rate(meetings: &[Meeting], anchor: &str) -> Vec<Rating> {
    let mut names: Vec<&str> = vec![anchor];
    for name in meetings.iter().flat_map(|meeting| [meeting.first.as_str(), meeting.second.as_str()]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let place = |name: &str| names.iter().position(|other| *other == name).expect("named above");
    let n = names.len() - 1;
    let mut strength = vec![0.0f64; n + 1];
    let mut inverse = vec![vec![0.0; n]; n];
    for _ in 0..50 {
        let (mut gradient, mut curvature) = (vec![0.0; n + 1], vec![vec![0.0; n + 1]; n + 1]);
        for meeting in meetings {
            let (a, b) = (place(&meeting.first), place(&meeting.second));
            let (games, points) = (meeting.games + PRIOR, meeting.points + PRIOR / 2.0);
            let expected = 1.0 / (1.0 + (strength[b] - strength[a]).exp());
            let (slope, weight) = (points - games * expected, games * expected * (1.0 - expected));
            gradient[a] += slope;
            gradient[b] -= slope;
            for (i, j, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                curvature[i][j] += sign * weight;
            }
        }
        // The anchor stays; a breath of curvature keeps those apart from it in place.
        let free: Vec<Vec<f64>> = (1..=n)
            .map(|i| (1..=n).map(|j| curvature[i][j] + if i == j { 1e-6 } else { 0.0 }).collect())
            .collect();
        inverse = invert(free);
        let mut greatest: f64 = 0.0;
        for i in 0..n {
            let step: f64 = (0..n).map(|j| inverse[i][j] * gradient[j + 1]).sum();
            let step = step.clamp(-2.0, 2.0);
            strength[i + 1] += step;
            greatest = greatest.max(step.abs());
        }
        if greatest < 1e-9 {
            break;
        }
    }
    let games = |name: &str| {
        let own = meetings.iter().filter(|meeting| meeting.first == name || meeting.second == name);
        own.map(|meeting| meeting.games).sum()
    };
    let rating = |(i, name): (usize, &&str)| Rating {
        name: (*name).to_owned(),
        elo: strength[i] / LOGIT,
        error: if i == 0 { 0.0 } else { SIGMAS * inverse[i - 1][i - 1].max(0.0).sqrt() / LOGIT },
        games: games(name),
    };
    names.iter().enumerate().map(rating).collect()
}

/// The inverse of a positive definite matrix, by Gauss and Jordan.
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

    fn meeting(first: &str, second: &str, games: f64, points: f64) -> Meeting {
        Meeting { first: first.into(), second: second.into(), games, points }
    }

    fn of<'a>(ratings: &'a [Rating], name: &str) -> &'a Rating {
        ratings.iter().find(|rating| rating.name == name).unwrap()
    }

    #[test]
    fn two_players_are_as_far_apart_as_their_score_says() {
        let ratings = rate(&[meeting("new", "old", 10_000.0, 6401.0)], "old");
        assert!((of(&ratings, "new").elo - 100.0).abs() < 0.5, "{ratings:?}");
        assert_eq!((of(&ratings, "old").elo, of(&ratings, "old").error), (0.0, 0.0));
        // 95 % of a binomial share of 10,000 games, in Elo: 1.96 · 400 / ln 10 / √(n p (1 − p)).
        assert!((of(&ratings, "new").error - 7.09).abs() < 0.05, "{ratings:?}");
    }

    #[test]
    fn strength_adds_up_along_a_chain() {
        let chain = [meeting("b", "a", 4000.0, 2560.3), meeting("c", "b", 4000.0, 2560.3)];
        let ratings = rate(&chain, "a");
        assert!((of(&ratings, "b").elo - 100.0).abs() < 0.5 && (of(&ratings, "c").elo - 200.0).abs() < 1.0);
        assert!(of(&ratings, "c").error > 1.3 * of(&ratings, "b").error, "errors add up as well");
    }

    #[test]
    fn winning_everything_is_not_infinite_and_strangers_do_no_harm() {
        let ratings = rate(&[meeting("a", "random", 20.0, 20.0), meeting("x", "y", 10.0, 7.0)], "random");
        let best = of(&ratings, "a");
        assert!(best.elo > 400.0 && best.elo < 1200.0 && best.error > 200.0, "{best:?}");
        assert!(of(&ratings, "x").elo > of(&ratings, "y").elo);
    }
}
