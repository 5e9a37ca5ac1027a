use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use engine::chess::position::Game;
use engine::nets::encoding::PolicyIndex;
use engine::nets::eval::Wdl;
use shakmaty::Move;

use super::judged_network::{Prediction, SearchResult};
use super::tsv;

#[derive(Clone, Debug)]
pub enum Criterion {
    /// Plays one of these moves: the most probable without search, the best with search.
    Plays(Vec<Move>),
    Avoids(Vec<Move>),
    /// Plays one of these moves after a search; not graded without search.
    Finds(Vec<Move>),
    /// Reports mate in at most this many moves after a search. Without search, plays one of the moves, if any are
    /// given.
    Mates(u32, Vec<Move>),
    Says(Vec<Bound>),
    /// The bounds hold for the predictions here minus those in another position.
    Differs(Box<Game>, Vec<Bound>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    quantity: Quantity,
    /// Whether the quantity must be above or below the bound.
    above: bool,
    bound: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// P(win) for the side to move. Between two positions, quantities up to `Top` are differences, here minus there.
    Win,
    Draw,
    Loss,
    /// Win minus loss, −1 to 1.
    Q,
    /// Win plus draw plus loss.
    Total,
    /// Effective number of moves: e to the policy's entropy.
    Choices,
    Top,
    /// Between two positions: total variation distance of the policies by index.
    Policy,
    /// Between two positions: largest difference in win, draw or loss.
    Wdl,
    /// Between positions with different sides to move: |Q here + Q there|, 0 if they agree.
    Opposed,
}

const NAMES: [(&str, Quantity); 10] = [
    ("win", Quantity::Win),
    ("draw", Quantity::Draw),
    ("loss", Quantity::Loss),
    ("q", Quantity::Q),
    ("total", Quantity::Total),
    ("choices", Quantity::Choices),
    ("top", Quantity::Top),
    ("policy", Quantity::Policy),
    ("wdl", Quantity::Wdl),
    ("opposed", Quantity::Opposed),
];

impl Criterion {
    /// `other` is the position to compare with, or "".
    pub fn parse(game: &Game, kind: &str, expected: &str, other: &str) -> Result<Criterion> {
        let moves = |text: &str| {
            let moves = tsv::moves(game, text)?;
            ensure!(!moves.is_empty(), "no moves are expected");
            anyhow::Ok(moves)
        };
        let between = !other.is_empty();
        ensure!(between == (kind == "differs"), "another position is for \"differs\", which needs one");
        match kind {
            "plays" => Ok(Criterion::Plays(moves(expected)?)),
            "avoids" => Ok(Criterion::Avoids(moves(expected)?)),
            "finds" => Ok(Criterion::Finds(moves(expected)?)),
            "mates" => Criterion::mates(expected, Vec::new()),
            "says" => Ok(Criterion::Says(bounds(expected, between)?)),
            "differs" => Ok(Criterion::Differs(Box::new(tsv::position(other)?), bounds(expected, between)?)),
            _ => bail!("no question is called \"{kind}\""),
        }
    }

    /// `moves` are first moves of the mate, if known.
    pub fn mates(count: &str, moves: Vec<Move>) -> Result<Criterion> {
        let count = count.parse().with_context(|| format!("\"{count}\" is not a number of moves"))?;
        Ok(Criterion::Mates(count, moves))
    }

    pub fn other(&self) -> Option<&Game> {
        match self {
            Criterion::Differs(other, _) => Some(other),
            _ => None,
        }
    }

    /// Grades an answer without search. `None` if the criterion does not apply. `other` is the prediction for the
    /// position to compare with.
    pub fn grade(&self, prediction: &Prediction, other: Option<&Prediction>) -> Option<bool> {
        let most_probable = || prediction.policy.first().map(|(m, _)| *m);
        match self {
            Criterion::Plays(moves) => Some(most_probable().is_some_and(|m| moves.contains(&m))),
            Criterion::Avoids(moves) => Some(most_probable().is_some_and(|m| !moves.contains(&m))),
            Criterion::Mates(_, moves) if !moves.is_empty() => {
                Some(most_probable().is_some_and(|m| moves.contains(&m)))
            }
            Criterion::Finds(_) | Criterion::Mates(..) => None,
            Criterion::Says(bounds) | Criterion::Differs(_, bounds) => {
                Some(bounds.iter().all(|bound| bound.holds(bound.quantity.of(prediction, other))))
            }
        }
    }

    pub fn needs_search(&self) -> bool {
        match self {
            Criterion::Plays(_) | Criterion::Avoids(_) | Criterion::Finds(_) | Criterion::Mates(..) => true,
            Criterion::Says(bounds) => bounds.iter().all(|bound| bound.quantity.of_wdl(Wdl::DRAW).is_some()),
            Criterion::Differs(..) => false,
        }
    }

    pub fn grade_search(&self, found: &SearchResult) -> Option<bool> {
        match self {
            Criterion::Plays(moves) | Criterion::Finds(moves) => Some(moves.contains(&found.best)),
            Criterion::Avoids(moves) => Some(!moves.contains(&found.best)),
            Criterion::Mates(count, _) => Some(found.mate.is_some_and(|mate| mate <= *count)),
            Criterion::Says(bounds) => {
                let each = bounds.iter().map(|bound| Some(bound.holds(bound.quantity.of_wdl(found.wdl)?)));
                each.collect::<Option<Vec<_>>>().map(|each| each.into_iter().all(|holds| holds))
            }
            Criterion::Differs(..) => None,
        }
    }
}

/// Such as `win > 0.5, draw < 0.2`.
fn bounds(text: &str, between: bool) -> Result<Vec<Bound>> {
    let bound = |text: &str| {
        let invalid = || format!("\"{text}\" is not a bound like \"win > 0.5\"");
        let mut words = text.split_whitespace();
        let [Some(name), Some(sign), Some(bound), None] = [(); 4].map(|()| words.next()) else {
            bail!(invalid());
        };
        let (_, quantity) = *NAMES.iter().find(|(known, _)| *known == name).with_context(invalid)?;
        let above = match sign {
            ">" => true,
            "<" => false,
            _ => bail!(invalid()),
        };
        let bound: f32 = bound.parse().ok().filter(|bound: &f32| bound.is_finite()).with_context(invalid)?;
        if !between && matches!(quantity, Quantity::Policy | Quantity::Wdl | Quantity::Opposed) {
            bail!("{name} needs two positions");
        }
        Ok(Bound { quantity, above, bound })
    };
    text.split(',').map(|text| bound(text.trim())).collect()
}

impl Bound {
    fn holds(&self, number: f32) -> bool {
        if self.above { number > self.bound } else { number < self.bound }
    }
}

impl Quantity {
    fn of(self, here: &Prediction, there: Option<&Prediction>) -> f32 {
        let Some(there) = there else { return self.alone(here) };
        let wdl = |o: &Prediction| [o.wdl.win, o.wdl.draw, o.wdl.loss];
        match self {
            Quantity::Policy => distance(&here.indices, &there.indices),
            Quantity::Wdl => wdl(here).iter().zip(wdl(there)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max),
            Quantity::Opposed => (here.wdl.q() + there.wdl.q()).abs(),
            _ => self.alone(here) - self.alone(there),
        }
    }

    /// NaN for quantities that need two predictions.
    fn alone(self, prediction: &Prediction) -> f32 {
        let priors = || prediction.policy.iter().map(|(_, prior)| *prior);
        match self {
            Quantity::Choices => {
                let entropy: f32 =
                    priors().filter(|prior| *prior > 0.0).map(|prior| -prior * prior.ln()).sum();
                entropy.exp()
            }
            Quantity::Top => priors().next().unwrap_or(0.0),
            _ => self.of_wdl(prediction.wdl).unwrap_or(f32::NAN),
        }
    }

    /// `None` if the WDL does not determine the quantity.
    fn of_wdl(self, wdl: Wdl) -> Option<f32> {
        match self {
            Quantity::Win => Some(wdl.win),
            Quantity::Draw => Some(wdl.draw),
            Quantity::Loss => Some(wdl.loss),
            Quantity::Q => Some(wdl.q()),
            Quantity::Total => Some(wdl.win + wdl.draw + wdl.loss),
            _ => None,
        }
    }
}

/// Total variation distance, 0 to 1.
fn distance(p: &[(PolicyIndex, f32)], q: &[(PolicyIndex, f32)]) -> f32 {
    let mut differences: BTreeMap<usize, f32> = BTreeMap::new();
    for (index, prior) in p {
        *differences.entry(index.offset()).or_default() += prior;
    }
    for (index, prior) in q {
        *differences.entry(index.offset()).or_default() -= prior;
    }
    differences.values().map(|difference| difference.abs()).sum::<f32>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";

    fn prediction(game: &Game, priors: &[(&str, f32)], [win, draw, loss]: [f32; 3]) -> Prediction {
        let policy = priors.iter().map(|(text, prior)| (game.parse_uci(text).unwrap(), *prior));
        let policy: Vec<_> = policy.collect();
        let turn = game.turn();
        let index = |(m, prior): &(Move, f32)| (engine::nets::encoding::az4672::index(turn, *m), *prior);
        Prediction {
            wdl: Wdl { win, draw, loss },
            has_value: true,
            indices: policy.iter().map(index).collect(),
            policy,
        }
    }

    fn parse(game: &Game, kind: &str, expected: &str) -> Criterion {
        Criterion::parse(game, kind, expected, "").unwrap()
    }

    #[test]
    fn the_most_probable_move_is_graded_alone_and_the_best_move_of_a_search() {
        let game = tsv::position(MATE).unwrap();
        let prediction = prediction(&game, &[("g1f1", 0.6), ("a1a8", 0.4)], [0.5, 0.3, 0.2]);
        let best = game.parse_uci("a1a8").unwrap();
        let found = SearchResult { best, wdl: Wdl::WIN, mate: Some(2) };
        for (kind, expected, alone, search) in [
            ("plays", "a1a8", Some(false), Some(true)),
            ("plays", "g1h1 g1f1", Some(true), Some(false)),
            ("avoids", "a1a8", Some(true), Some(false)),
            ("avoids", "g1f1", Some(false), Some(true)),
            ("finds", "a1a8", None, Some(true)),
            ("mates", "1", None, Some(false)),
            ("mates", "2", None, Some(true)),
            ("says", "win > 0.4, loss < 0.3", Some(true), Some(true)),
            ("says", "win > 0.4, loss > 0.3", Some(false), Some(false)),
            ("says", "q > 0.29, q < 0.31, total > 0.99", Some(true), Some(false)),
            ("says", "top < 0.7, choices < 2", Some(true), None),
            ("says", "top > 0.7", Some(false), None),
        ] {
            let criterion = parse(&game, kind, expected);
            assert_eq!(criterion.grade(&prediction, None), alone, "{kind} {expected} alone");
            assert_eq!(criterion.grade_search(&found), search, "{kind} {expected} by search");
            assert_eq!(criterion.needs_search(), search.is_some(), "{kind} {expected}");
        }
        let known = Criterion::Mates(1, vec![best]);
        assert_eq!(known.grade(&prediction, None), Some(false));
        let unproven = SearchResult { mate: None, ..found };
        assert_eq!(known.grade_search(&unproven), Some(false));
    }

    #[test]
    fn choices_are_the_exponential_of_the_entropy() {
        let game = tsv::position(MATE).unwrap();
        let even = prediction(
            &game,
            &[("g1f1", 0.25), ("a1a8", 0.25), ("a1a7", 0.25), ("h2h3", 0.25)],
            [1.0, 0.0, 0.0],
        );
        assert!((Quantity::Choices.alone(&even) - 4.0).abs() < 1e-5);
        let sure = prediction(&game, &[("a1a8", 1.0), ("g1f1", 0.0)], [1.0, 0.0, 0.0]);
        assert_eq!(Quantity::Choices.alone(&sure), 1.0);
    }

    #[test]
    fn two_positions_are_compared_by_policy_index_and_value() {
        let game = tsv::position("startpos").unwrap();
        let mirrored = tsv::position("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1").unwrap();
        let here = prediction(&game, &[("e2e4", 0.75), ("d2d4", 0.25)], [0.5, 0.3, 0.2]);
        let there = prediction(&mirrored, &[("e7e5", 0.5), ("c7c5", 0.5)], [0.3, 0.3, 0.4]);
        let between = |quantity: Quantity| quantity.of(&here, Some(&there));
        for (quantity, expected) in [
            (Quantity::Policy, 0.5),
            (Quantity::Wdl, 0.2),
            (Quantity::Win, 0.2),
            (Quantity::Q, 0.4),
            (Quantity::Top, 0.25),
            (Quantity::Opposed, 0.2),
        ] {
            assert!((between(quantity) - expected).abs() < 1e-6, "{quantity:?}: {}", between(quantity));
        }
        let differs = |bound: &str| {
            let criterion = Criterion::parse(&game, "differs", bound, "startpos moves e2e4").unwrap();
            assert!(!criterion.needs_search() && criterion.other().is_some());
            criterion.grade(&here, Some(&there))
        };
        assert_eq!(differs("q > 0.3"), Some(true));
        assert_eq!(differs("q > 0.3, policy < 0.4"), Some(false));
    }

    #[test]
    fn nan_satisfies_no_bound() {
        let bound = |text: &str| bounds(text, false).unwrap()[0];
        assert!(!bound("q > 0").holds(f32::NAN) && !bound("q < 0").holds(f32::NAN));
    }
}
