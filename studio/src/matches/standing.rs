//! The standing of a match: score, pairs, Elo, SPRT.

use std::collections::BTreeMap;

use engine::apps::matches::{MatchResults, Sprt, SprtDecision};
use serde::Serialize;

use crate::play::Winner;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LlrView {
    /// Log-likelihood ratio.
    pub llr: f64,
    /// At or below this, the first engine counts as no stronger than `elo0`.
    pub lower: f64,
    /// At or above this, the first engine counts as stronger by `elo1`.
    pub upper: f64,
    pub decision: SprtDecision,
    pub text: String,
}

/// From the first engine's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub games: [u64; 3],
    /// Pentanomial counts: pairs on one opening by half-points, 0 to 4.
    pub pairs: [u64; 5],
    /// The Elo difference with its 95 % interval, in words; `None` before the first game.
    pub elo: Option<String>,
    pub sprt: Option<LlrView>,
}

/// Results by game number. Games 2 n and 2 n + 1 form a pair; the first engine has White in game 2 n.
pub fn results(games: &BTreeMap<usize, Winner>) -> MatchResults {
    let halves = |number: usize| {
        games.get(&number).map(|winner| match (winner, number % 2) {
            (Winner::Draw, _) => 1,
            (Winner::White, 0) | (Winner::Black, 1) => 2,
            _ => 0,
        })
    };
    let mut results = MatchResults::default();
    let mut last = None;
    for number in games.keys() {
        let pair = number / 2;
        if last.replace(pair) == Some(pair) {
            continue;
        }
        match (halves(2 * pair), halves(2 * pair + 1)) {
            (Some(first), Some(second)) => results.add_pair([first, second]),
            (Some(single), None) | (None, Some(single)) => results.add_single(single),
            (None, None) => (),
        }
    }
    results
}

impl Standing {
    pub fn of(results: &MatchResults, sprt: Option<&Sprt>) -> Standing {
        let elo = (results.total() > 0).then(|| results.estimate().to_string());
        Standing {
            games: results.games,
            pairs: results.pairs,
            elo: elo.filter(|text| text != "unknown"),
            sprt: sprt.map(|sprt| {
                let bounds = sprt.bounds();
                LlrView {
                    llr: sprt.llr(results),
                    lower: bounds.lower,
                    upper: bounds.upper,
                    decision: sprt.decision(results),
                    text: sprt.summary(results),
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_number_and_games_without_their_partner_count_alone() {
        // Pairs of 2 and 1.5 points, then a win and a loss without their partners.
        let games = [
            (0, Winner::White),
            (1, Winner::Black),
            (3, Winner::Draw),
            (2, Winner::White),
            (4, Winner::White),
            (7, Winner::White),
        ];
        let results = results(&games.into_iter().collect());
        assert_eq!((results.pairs, results.games, results.single), ([0, 0, 0, 1, 1], [4, 1, 1], [1, 0, 1]));
        let standing = Standing::of(&results, Some(&Sprt::default()));
        assert!(standing.elo.unwrap().starts_with('+'));
        let test = standing.sprt.unwrap();
        assert!(test.llr > 0.0 && test.decision == SprtDecision::Open && test.text.starts_with("undecided"));
        assert_eq!(Standing::of(&MatchResults::default(), None).elo, None);
    }
}
