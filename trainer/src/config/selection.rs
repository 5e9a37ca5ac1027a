use anyhow::{Result, anyhow, bail, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::result::GameResult;

/// What to do with a game if ratings are bounded and one is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnknownElo {
    /// Uses the game if the other rating fits.
    #[default]
    Keep,
    Drop,
}

/// A game may be of several kinds, but [`GameKind::Standard`] excludes the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GameKind {
    /// By people or engines, from any start position.
    Standard,
    Chess960,
    Puzzle,
    SelfPlay,
}

/// Which games to use. Bounds are inclusive; the default accepts all games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Least rating of both players, or of a puzzle.
    pub min_elo: u16,
    /// Highest rating of both players, or of a puzzle.
    pub max_elo: u16,
    /// What becomes of a game with an unknown rating if ratings are bounded: `keep` uses it if the other rating fits.
    pub unknown_elo: UnknownElo,
    /// Plies of the shortest game.
    pub min_plies: u16,
    /// Plies of the longest game.
    pub max_plies: u16,
    /// First date, yyyymmdd. A game's unknown month or day counts as 00, a game without a date as 0.
    pub since: u32,
    /// Last date, yyyymmdd.
    pub until: u32,
    /// Results of the games that are taken.
    #[schemars(with = "Vec<String>")]
    pub results: Vec<GameResult>,
    /// A game's kinds must all be in this list.
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

/// Checks the keys of a source that every family has. An error names the source and the key.
pub(super) fn check_source(name: &str, weight: f64, fraction: f64, select: &Selection) -> Result<()> {
    ensure!(weight.is_finite() && weight >= 0.0, "source {name}: weight is {weight}, must not be negative");
    ensure!(
        fraction > 0.0 && fraction <= 1.0,
        "source {name}: fraction is {fraction}, must be above 0 and at most 1"
    );
    select.check().map_err(|why| anyhow!("source {name}: select: {why}"))
}

/// Metrics and lists of sources are by name.
pub(super) fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        ensure!(!known.contains(&name), "two sources are called {name}");
        known.push(name);
    }
    Ok(())
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
        for (key, date) in [("since", self.since), ("until", self.until)] {
            let (month, day) = (date / 100 % 100, date % 100);
            let is_open = date == 99_999_999;
            let is_date = is_open || date >= 10_000_000 && month <= 12 && day <= 31;
            ensure!(date == 0 || is_date, "{key} is {date}: a date is yyyymmdd, such as 20180101");
        }
        Ok(())
    }
}
