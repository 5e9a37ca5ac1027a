//! What a player is asked about a position, and whether the answer is right.

use std::collections::BTreeMap;

use engine::encoding::PolicyIndex;
use engine::eval::Wdl;
use engine::position::Game;
use shakmaty::Move;

use super::player::{Found, Opinion};
use super::tsv;

/// One question with the answers that count as right.
#[derive(Clone, Debug)]
pub enum Question {
    /// Plays one of these moves: the likeliest one alone, the best one after a search.
    Plays(Vec<Move>),
    /// Plays none of these moves.
    Avoids(Vec<Move>),
    /// Finds one of these moves by search; alone nobody has to.
    Finds(Vec<Move>),
    /// Announces mate in at most so many moves after a search; alone plays one of these moves, if any
    /// are known.
    Mates(u32, Vec<Move>),
    /// All this holds of its opinion.
    Says(Vec<Claim>),
    /// All this holds of its opinion here compared with that of another position.
    Differs(Box<Game>, Vec<Claim>),
}

/// A bound for one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    quantity: Quantity,
    /// Whether the number is to be above the bound, or below.
    above: bool,
    bound: f32,
}

/// A number in an opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// The probability that the mover wins; between two positions, like all to `Top`: how much more it is here.
    Win,
    /// That of a draw.
    Draw,
    /// That the mover loses.
    Loss,
    /// The expected result, −1 to 1.
    Q,
    /// Win, draw and loss together.
    Total,
    /// How many moves are in question: the exponential of the policy's entropy.
    Choices,
    /// The likeliest move's share.
    Top,
    /// Between two positions only: half the sum of the policies' differences, by policy index.
    Policy,
    /// Between two positions only: the greatest difference in win, draw or loss.
    Wdl,
    /// Between two positions with different movers only: how far the two expected results are from being
    /// each other's opposite.
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

impl Question {
    /// Reads a question about `game`: its kind, what is expected, and the other position, if it has one.
    ///
    /// # Errors
    ///
    /// What can't be read, or asks for the impossible.
    pub fn parse(game: &Game, kind: &str, expected: &str, other: &str) -> Result<Question, String> {
        let moves = |text: &str| {
            let moves = tsv::moves(game, text)?;
            if moves.is_empty() { Err("no moves are expected".to_owned()) } else { Ok(moves) }
        };
        let between = !other.is_empty();
        if between != (kind == "differs") {
            return Err("another position goes with \"differs\", and only with it".into());
        }
        match kind {
            "plays" => Ok(Question::Plays(moves(expected)?)),
            "avoids" => Ok(Question::Avoids(moves(expected)?)),
            "finds" => Ok(Question::Finds(moves(expected)?)),
            "mates" => Question::mates(expected, Vec::new()),
            "says" => Ok(Question::Says(claims(expected, between)?)),
            "differs" => Ok(Question::Differs(Box::new(tsv::position(other)?), claims(expected, between)?)),
            _ => Err(format!("no question is called \"{kind}\"")),
        }
    }

    /// Whether a mate in `count` is announced, of which one of `moves` is known to be the first.
    ///
    /// # Errors
    ///
    /// If the count is no number.
    pub fn mates(count: &str, moves: Vec<Move>) -> Result<Question, String> {
        let count = count.parse().map_err(|_| format!("\"{count}\" is no number of moves"))?;
        Ok(Question::Mates(count, moves))
    }

    /// The other position that an opinion is needed of.
    pub fn other(&self) -> Option<&Game> {
        match self {
            Question::Differs(other, _) => Some(other),
            _ => None,
        }
    }

    /// Whether a network alone answers rightly; `None` if it isn't asked. `other` is its opinion of the other
    /// position, if there is one.
    pub fn grade(&self, opinion: &Opinion, other: Option<&Opinion>) -> Option<bool> {
        let favourite = || opinion.policy.first().map(|(m, _)| *m);
        match self {
            Question::Plays(moves) => Some(favourite().is_some_and(|m| moves.contains(&m))),
            Question::Avoids(moves) => Some(favourite().is_some_and(|m| !moves.contains(&m))),
            Question::Mates(_, moves) if !moves.is_empty() => {
                Some(favourite().is_some_and(|m| moves.contains(&m)))
            }
            Question::Finds(_) | Question::Mates(..) => None,
            Question::Says(claims) | Question::Differs(_, claims) => {
                Some(claims.iter().all(|claim| claim.holds(claim.quantity.of(opinion, other))))
            }
        }
    }

    /// Whether a search is worth while for this question.
    pub fn wants_search(&self) -> bool {
        match self {
            Question::Plays(_) | Question::Avoids(_) | Question::Finds(_) | Question::Mates(..) => true,
            Question::Says(claims) => claims.iter().all(|claim| claim.quantity.of_wdl(Wdl::DRAW).is_some()),
            Question::Differs(..) => false,
        }
    }

    /// Whether a search answers rightly; `None` if it isn't asked.
    pub fn grade_search(&self, found: &Found) -> Option<bool> {
        match self {
            Question::Plays(moves) | Question::Finds(moves) => Some(moves.contains(&found.best)),
            Question::Avoids(moves) => Some(!moves.contains(&found.best)),
            Question::Mates(count, _) => Some(found.mate.is_some_and(|mate| mate <= *count)),
            Question::Says(claims) => {
                let each = claims.iter().map(|claim| Some(claim.holds(claim.quantity.of_wdl(found.wdl)?)));
                each.collect::<Option<Vec<_>>>().map(|each| each.into_iter().all(|holds| holds))
            }
            Question::Differs(..) => None,
        }
    }
}

/// Reads claims like `win > 0.5, draw < 0.2`.
fn claims(text: &str, between: bool) -> Result<Vec<Claim>, String> {
    let claim = |text: &str| {
        let unreadable = || format!("\"{text}\" is no claim like \"win > 0.5\"");
        let mut words = text.split_whitespace();
        let [Some(name), Some(sign), Some(bound), None] = [(); 4].map(|()| words.next()) else {
            return Err(unreadable());
        };
        let (_, quantity) = *NAMES.iter().find(|(known, _)| *known == name).ok_or_else(unreadable)?;
        let above = match sign {
            ">" => true,
            "<" => false,
            _ => return Err(unreadable()),
        };
        let bound: f32 = bound.parse().ok().filter(|bound: &f32| bound.is_finite()).ok_or_else(unreadable)?;
        if !between && matches!(quantity, Quantity::Policy | Quantity::Wdl | Quantity::Opposed) {
            return Err(format!("{name} is known of two positions only"));
        }
        Ok(Claim { quantity, above, bound })
    };
    text.split(',').map(|text| claim(text.trim())).collect()
}

impl Claim {
    fn holds(&self, number: f32) -> bool {
        if self.above { number > self.bound } else { number < self.bound }
    }
}

impl Quantity {
    /// The number in an opinion, or between two.
    fn of(self, here: &Opinion, there: Option<&Opinion>) -> f32 {
        let Some(there) = there else { return self.alone(here) };
        let wdl = |o: &Opinion| [o.wdl.win, o.wdl.draw, o.wdl.loss];
        match self {
            Quantity::Policy => distance(&here.indices, &there.indices),
            Quantity::Wdl => wdl(here).iter().zip(wdl(there)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max),
            Quantity::Opposed => (here.wdl.q() + there.wdl.q()).abs(),
            _ => self.alone(here) - self.alone(there),
        }
    }

    /// The number in one opinion; not a number for what takes two.
    fn alone(self, opinion: &Opinion) -> f32 {
        let shares = || opinion.policy.iter().map(|(_, share)| *share);
        match self {
            Quantity::Choices => {
                let entropy: f32 =
                    shares().filter(|share| *share > 0.0).map(|share| -share * share.ln()).sum();
                entropy.exp()
            }
            Quantity::Top => shares().next().unwrap_or(0.0),
            _ => self.of_wdl(opinion.wdl).unwrap_or(f32::NAN),
        }
    }

    /// The number, if win, draw and loss tell it.
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

/// The total variation distance of two policies, 0 to 1.
fn distance(p: &[(PolicyIndex, f32)], q: &[(PolicyIndex, f32)]) -> f32 {
    let mut differences: BTreeMap<usize, f32> = BTreeMap::new();
    for (index, share) in p {
        *differences.entry(index.offset()).or_default() += share;
    }
    for (index, share) in q {
        *differences.entry(index.offset()).or_default() -= share;
    }
    differences.values().map(|difference| difference.abs()).sum::<f32>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";

    /// An opinion with these moves' shares, of a network that expects `wdl`.
    fn opinion(game: &Game, shares: &[(&str, f32)], [win, draw, loss]: [f32; 3]) -> Opinion {
        let policy = shares.iter().map(|(text, share)| (game.parse_uci(text).unwrap(), *share));
        let policy: Vec<_> = policy.collect();
        let turn = game.turn();
        let index = |(m, share): &(Move, f32)| (engine::encoding::az4672::index(turn, *m), *share);
        Opinion {
            wdl: Wdl { win, draw, loss },
            valued: true,
            indices: policy.iter().map(index).collect(),
            policy,
        }
    }

    fn ask(game: &Game, kind: &str, expected: &str) -> Question {
        Question::parse(game, kind, expected, "").unwrap()
    }

    #[test]
    fn the_favourite_move_decides_alone_and_the_best_one_in_a_search() {
        let game = tsv::position(MATE).unwrap();
        let opinion = opinion(&game, &[("g1f1", 0.6), ("a1a8", 0.4)], [0.5, 0.3, 0.2]);
        let best = game.parse_uci("a1a8").unwrap();
        let found = Found { best, wdl: Wdl::WIN, mate: Some(2) };
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
            let question = ask(&game, kind, expected);
            assert_eq!(question.grade(&opinion, None), alone, "{kind} {expected} alone");
            assert_eq!(question.grade_search(&found), search, "{kind} {expected} by search");
            assert_eq!(question.wants_search(), search.is_some(), "{kind} {expected}");
        }
        let known = Question::Mates(1, vec![best]);
        assert_eq!(known.grade(&opinion, None), Some(false));
        let unproven = Found { mate: None, ..found };
        assert_eq!(known.grade_search(&unproven), Some(false));
    }

    #[test]
    fn choices_are_the_moves_that_would_be_as_uncertain() {
        let game = tsv::position(MATE).unwrap();
        let even = opinion(
            &game,
            &[("g1f1", 0.25), ("a1a8", 0.25), ("a1a7", 0.25), ("h2h3", 0.25)],
            [1.0, 0.0, 0.0],
        );
        assert!((Quantity::Choices.alone(&even) - 4.0).abs() < 1e-5);
        let sure = opinion(&game, &[("a1a8", 1.0), ("g1f1", 0.0)], [1.0, 0.0, 0.0]);
        assert_eq!(Quantity::Choices.alone(&sure), 1.0);
    }

    #[test]
    fn two_positions_are_compared_by_policy_index_and_value() {
        let game = tsv::position("startpos").unwrap();
        let mirrored = tsv::position("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1").unwrap();
        let here = opinion(&game, &[("e2e4", 0.75), ("d2d4", 0.25)], [0.5, 0.3, 0.2]);
        let there = opinion(&mirrored, &[("e7e5", 0.5), ("c7c5", 0.5)], [0.3, 0.3, 0.4]);
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
        let differs = |claim: &str| {
            let question = Question::parse(&game, "differs", claim, "startpos moves e2e4").unwrap();
            assert!(!question.wants_search() && question.other().is_some());
            question.grade(&here, Some(&there))
        };
        assert_eq!(differs("q > 0.3"), Some(true));
        assert_eq!(differs("q > 0.3, policy < 0.4"), Some(false));
    }

    #[test]
    fn a_number_that_is_none_is_never_right() {
        let claim = |text: &str| claims(text, false).unwrap()[0];
        assert!(!claim("q > 0").holds(f32::NAN) && !claim("q < 0").holds(f32::NAN));
    }
}
