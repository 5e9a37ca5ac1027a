use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::base::result::GameResult;

/// For games with an unknown rating, if ratings are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownElo {
    /// Uses them if the other rating fits.
    #[default]
    Keep,
    Drop,
}

/// A kind of game. A game may be of several kinds, but [`GameKind::Standard`] excludes the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GameKind {
    /// Played by people or engines, from the initial position or another.
    Standard,
    Chess960,
    Puzzle,
    SelfPlay,
}

/// Bounds of the games to use, both ends included. The default is all games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Lowest rating of either player, or of a puzzle.
    pub min_elo: u16,
    /// Highest rating of either player, or of a puzzle.
    pub max_elo: u16,
    pub unknown_elo: UnknownElo,
    pub min_plies: u16,
    pub max_plies: u16,
    /// First date, yyyymmdd; unknown parts of a game's date are zeros. Games without a date fit only if this is 0.
    pub since: u32,
    /// Last date, yyyymmdd.
    pub until: u32,
    pub results: Vec<GameResult>,
    /// Accepted kinds. Every kind of a game must be among them.
    pub kinds: Vec<GameKind>,
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
            kinds: vec![GameKind::Standard, GameKind::Chess960, GameKind::Puzzle, GameKind::SelfPlay],
        }
    }
}

impl Selection {
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("min_elo", "max_elo", u32::from(self.min_elo), u32::from(self.max_elo)),
            ("min_plies", "max_plies", u32::from(self.min_plies), u32::from(self.max_plies)),
            ("since", "until", self.since, self.until),
        ];
        for (first, last, from, to) in ranges {
            if from > to {
                bail!("{first} is {from}, beyond {last}, {to}");
            }
        }
        Ok(())
    }
}
