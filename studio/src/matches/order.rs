use engine::apps::matches::Sprt;
use serde::{Deserialize, Serialize};

use crate::engines::Roster;
use crate::play::ActionError;

const GAMES: std::ops::RangeInclusive<u32> = 2..=20_000;
const AT_ONCE: std::ops::RangeInclusive<u32> = 1..=16;

/// In milliseconds.
const MOVE_TIMES: std::ops::RangeInclusive<u32> = 10..=60_000;
const BASE_TIMES: std::ops::RangeInclusive<u32> = 100..=7_200_000;
const MOST_INCREMENT: u32 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingTime {
    MoveMs(u32),
    Clock {
        base_ms: u32,
        /// Added after each move.
        increment_ms: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchOrder {
    /// The engine whose score is counted.
    pub first: String,
    pub second: String,
    /// A maximum; each opening is played twice, with colours reversed.
    pub games: u32,
    pub time: ThinkingTime,
    #[serde(default = "one")]
    pub at_once: u32,
    /// Name of a book; empty for the first.
    #[serde(default)]
    pub openings: String,
    #[serde(default)]
    pub sprt: Option<Sprt>,
}

fn one() -> u32 {
    1
}

impl MatchOrder {
    pub fn check(&self, roster: &Roster, books: &[String]) -> Result<(), ActionError> {
        let invalid = |text: String| Err(ActionError::Invalid(text));
        for name in [&self.first, &self.second] {
            if roster.find(name).is_none() {
                return invalid(format!("There is no engine called {name}: choose another."));
            }
        }
        if !self.openings.is_empty() && !books.contains(&self.openings) {
            return invalid(format!("There is no book called {}: choose another.", self.openings));
        }
        if !GAMES.contains(&self.games) || !self.games.is_multiple_of(2) {
            return invalid(
                "A match has 2 to 20,000 games, an even number: colours are reversed.".to_owned(),
            );
        }
        if !AT_ONCE.contains(&self.at_once) {
            return invalid("A match has 1 to 16 games at once.".to_owned());
        }
        match self.time {
            ThinkingTime::MoveMs(ms) if !MOVE_TIMES.contains(&ms) => {
                return invalid("An engine's time for a move is 0.01 to 60 seconds.".to_owned());
            }
            ThinkingTime::Clock { base_ms, increment_ms }
                if !BASE_TIMES.contains(&base_ms) || increment_ms > MOST_INCREMENT =>
            {
                return invalid(
                    "A clock has 0.1 seconds to 2 hours, and up to 60 seconds a move.".to_owned(),
                );
            }
            _ => (),
        }
        match self.sprt.as_ref().map(Sprt::check) {
            Some(Err(error)) => invalid(format!("The test makes no sense: {error}.")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_make_no_sense_are_refused() {
        let roster = Roster::new(None, vec!["A=x".parse().unwrap()]).unwrap();
        let good = MatchOrder {
            first: "A".into(),
            second: "A".into(),
            games: 4,
            time: ThinkingTime::MoveMs(10),
            at_once: 2,
            openings: String::new(),
            sprt: Some(Sprt::default()),
        };
        let check = |change: &dyn Fn(&mut MatchOrder)| {
            let mut order = good.clone();
            change(&mut order);
            order.check(&roster, &["Book".to_owned()]).is_ok()
        };
        assert!(check(&|_| ()) && check(&|order| order.openings = "Book".into()));
        assert!(check(&|order| order.time = ThinkingTime::Clock { base_ms: 1000, increment_ms: 0 }));
        assert!(!check(&|order| order.second = "/bin/rm".into()));
        assert!(!check(&|order| order.openings = "/etc/passwd".into()));
        assert!(!check(&|order| order.games = 3) && !check(&|order| order.games = 0));
        assert!(!check(&|order| order.at_once = 0) && !check(&|order| order.at_once = 1000));
        assert!(!check(&|order| order.time = ThinkingTime::MoveMs(1)));
        assert!(!check(&|order| order.time = ThinkingTime::Clock { base_ms: 0, increment_ms: 0 }));
        assert!(!check(&|order| order.sprt = Some(Sprt { elo0: 5.0, elo1: 0.0, ..Sprt::default() })));
    }
}
