//! Which games of a file are used.

use serde::{Deserialize, Serialize};

use crate::record::GameResult;

/// What to do with a game in which a rating is unknown, when ratings are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownElo {
    /// Take it, if the other rating fits.
    #[default]
    Keep,
    /// Leave it out.
    Drop,
}

/// A kind of game; one may be of several, [`Kind::Standard`] is what is of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Played by people or engines from the usual position, or one set up.
    Standard,
    /// Played by the rules of Chess960.
    Chess960,
    /// A puzzle.
    Puzzle,
    /// Played by a network against itself.
    SelfPlay,
}

/// Bounds on games, both ends included; the default takes everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Least rating of either player, or of a puzzle.
    pub min_elo: u16,
    /// Highest rating of either player, or of a puzzle.
    pub max_elo: u16,
    /// Games in which a rating is unknown.
    pub unknown_elo: UnknownElo,
    /// Fewest plies.
    pub min_plies: u16,
    /// Most plies.
    pub max_plies: u16,
    /// First date, yyyymmdd; unknown parts of a game's date are zeros. Games without a date only fit if this is 0.
    pub since: u32,
    /// Last date, yyyymmdd.
    pub until: u32,
    /// Results.
    pub results: Vec<GameResult>,
    /// Kinds: every kind that a game is of must be among them.
    pub kinds: Vec<Kind>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            min_elo: 0,
            max_elo: u16::MAX,
            unknown_elo: UnknownElo::Keep,
            min_plies: 1,
            max_plies: u16::MAX,
            since: 0,
            until: 99_999_999,
            results: vec![GameResult::White, GameResult::Black, GameResult::Draw, GameResult::Unknown],
            kinds: vec![Kind::Standard, Kind::Chess960, Kind::Puzzle, Kind::SelfPlay],
        }
    }
}

impl Selection {
    /// Checks that a game can fit.
    ///
    /// # Errors
    /// One line that names the keys at fault.
    pub fn check(&self) -> Result<(), String> {
        let ranges = [
            ("min_elo", "max_elo", u32::from(self.min_elo), u32::from(self.max_elo)),
            ("min_plies", "max_plies", u32::from(self.min_plies), u32::from(self.max_plies)),
            ("since", "until", self.since, self.until),
        ];
        for (first, last, from, to) in ranges {
            if from > to {
                return Err(format!("{first} is {from}, beyond {last}, {to}"));
            }
        }
        Ok(())
    }
}
