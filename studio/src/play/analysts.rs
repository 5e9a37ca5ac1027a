//! The engines that analyse the position that is looked at, and what a person sets about them.

use std::time::Duration;

use engine::chess::pgn::Step;
use engine::chess::position::Game;
use serde::{Deserialize, Serialize};

use super::played::PlayedGame;
use super::seats::ActionError;
use super::thoughts::Thoughts;
use super::view::EngineView;

/// Two that a person sets up, and the one that searches for the threat.
pub const ANALYSTS: usize = 3;

/// The first is in the bar, and its search tree and policy are shown.
pub const FIRST: usize = 0;

/// Searches the position as if the side to move passed.
pub const THREAT: usize = 2;

const MOST_LINES: u8 = 10;

/// Searches without a time limit are ended by `stop`, or by a process that ends.
const UNLIMITED: Duration = Duration::from_secs(365 * 86_400);

const MILLISECONDS: std::ops::RangeInclusive<u64> = 10..=86_400_000;
const DEPTHS: std::ops::RangeInclusive<u32> = 1..=200;
const NODES: std::ops::RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Of the search of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchLimit {
    Infinite,
    Depth(u32),
    Nodes(u64),
    Ms(u64),
}

impl SearchLimit {
    fn check(self) -> Result<(), ActionError> {
        let is_sensible = match self {
            SearchLimit::Infinite => true,
            SearchLimit::Depth(depth) => DEPTHS.contains(&depth),
            SearchLimit::Nodes(nodes) => NODES.contains(&nodes),
            SearchLimit::Ms(ms) => MILLISECONDS.contains(&ms),
        };
        let text =
            "A position is searched to a depth of 1 to 200, for 1 to 10¹² nodes, or for 0.01 s to a day.";
        is_sensible.then_some(()).ok_or_else(|| ActionError::Invalid(text.to_owned()))
    }

    /// The `go` command, and its maximum time.
    pub fn go(self) -> (String, Duration) {
        match self {
            SearchLimit::Infinite => ("go infinite".to_owned(), UNLIMITED),
            SearchLimit::Depth(depth) => (format!("go depth {depth}"), UNLIMITED),
            SearchLimit::Nodes(nodes) => (format!("go nodes {nodes}"), UNLIMITED),
            SearchLimit::Ms(ms) => (format!("go movetime {ms}"), Duration::from_millis(ms)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalystSettings {
    /// Its process runs.
    pub on: bool,
    /// Its search is stopped; what it has found stays.
    #[serde(default)]
    pub paused: bool,
    /// Name in the roster; `None` is the first one.
    #[serde(default)]
    pub engine: Option<String>,
    pub limit: SearchLimit,
    pub lines: u8,
    /// `None` leaves it to the engine.
    #[serde(default)]
    pub threads: Option<u32>,
    /// In MiB.
    #[serde(default)]
    pub hash: Option<u32>,
}

impl AnalystSettings {
    fn of(number: usize) -> AnalystSettings {
        let (limit, lines) = match number {
            THREAT => (SearchLimit::Ms(2000), 1),
            _ => (SearchLimit::Ms(30_000), 3),
        };
        AnalystSettings { on: false, paused: false, engine: None, limit, lines, threads: None, hash: None }
    }

    /// `engines` are those of the roster.
    pub fn check(&self, engines: &[EngineView]) -> Result<(), ActionError> {
        let invalid = |text: String| Err(ActionError::Invalid(text));
        self.limit.check()?;
        if !(1..=MOST_LINES).contains(&self.lines) {
            return invalid(format!("An engine shows 1 to {MOST_LINES} lines."));
        }
        let chosen = |view: &&EngineView| self.engine.as_ref().is_none_or(|name| view.name == *name);
        let Some(view) = engines.iter().find(chosen) else {
            let name = self.engine.as_deref().unwrap_or("that");
            return invalid(format!("There is no engine called {name}: choose another."));
        };
        for (option, value, range) in
            [("Threads", self.threads, view.threads), ("Hash", self.hash, view.hash)]
        {
            match (value.map(i64::from), range) {
                (Some(_), None) => {
                    return invalid(format!("{} has no option {option}: leave it empty.", view.name));
                }
                (Some(value), Some((low, high))) if !(low..=high).contains(&value) => {
                    return invalid(format!("{option} of {} is {low} to {high}.", view.name));
                }
                _ => (),
            }
        }
        Ok(())
    }

    pub fn options(&self) -> Vec<(String, String)> {
        let option = |name: &str, value: String| (name.to_owned(), value);
        let mut options = vec![
            option("MultiPV", self.lines.to_string()),
            option("UCI_ShowWDL", "true".to_owned()),
            option("UCI_AnalyseMode", "true".to_owned()),
            option("LogLiveStats", "true".to_owned()),
        ];
        options.extend(self.threads.map(|threads| option("Threads", threads.to_string())));
        options.extend(self.hash.map(|hash| option("Hash", hash.to_string())));
        options
    }

    /// An option that is left to the engine again needs another process.
    pub fn needs_restart(&self, new: &AnalystSettings) -> bool {
        (self.threads.is_some() && new.threads.is_none()) || (self.hash.is_some() && new.hash.is_none())
    }
}

#[derive(Debug)]
pub struct Analyst {
    pub settings: AnalystSettings,
    /// Grows with every search that differs from the one before.
    pub search: u64,
    /// `None` if there is nothing to search.
    pub game: Option<PlayedGame>,
    pub thoughts: Thoughts,
}

impl Analyst {
    /// All of them, with the settings that were saved.
    pub fn all(saved: Vec<AnalystSettings>) -> [Analyst; ANALYSTS] {
        let mut saved = saved.into_iter();
        std::array::from_fn(|number| Analyst {
            settings: saved.next().unwrap_or_else(|| AnalystSettings::of(number)),
            search: 0,
            game: None,
            thoughts: Thoughts::default(),
        })
    }

    pub fn settings(all: &[Analyst]) -> Vec<AnalystSettings> {
        all.iter().map(|analyst| analyst.settings.clone()).collect()
    }

    /// Another position to search, or other settings.
    pub fn turn_to(&mut self, node: u32, game: Option<PlayedGame>) {
        self.search += 1;
        self.thoughts = Thoughts::of(node);
        self.game = game.filter(|game| game.end().is_none());
        self.thoughts.done = self.game.is_none();
    }
}

/// The position if the side to move passed; `None` in check.
pub fn after_pass(game: &PlayedGame) -> Option<PlayedGame> {
    let after = Step::Null.played(game.game().position())?;
    PlayedGame::new(Some(Game::from_position(after).fen())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_an_engine_cannot_have_are_refused() {
        let engines = [EngineView { threads: Some((1, 8)), ..EngineView::unknown("A") }];
        let good = AnalystSettings { threads: Some(8), ..AnalystSettings::of(0) };
        good.check(&engines).unwrap();
        let refused = |settings: AnalystSettings| settings.check(&engines).unwrap_err().to_string();
        assert!(refused(AnalystSettings { engine: Some("B".into()), ..good.clone() }).contains("called B"));
        assert!(refused(AnalystSettings { threads: Some(9), ..good.clone() }).contains("1 to 8"));
        assert!(refused(AnalystSettings { hash: Some(16), ..good.clone() }).contains("no option Hash"));
        assert!(refused(AnalystSettings { lines: 11, ..good.clone() }).contains("10 lines"));
        let limit = SearchLimit::Depth(0);
        assert!(refused(AnalystSettings { limit, ..good.clone() }).contains("depth"));
        assert!(good.options().contains(&("Threads".to_owned(), "8".to_owned())));
        assert!(good.needs_restart(&AnalystSettings { threads: None, ..good.clone() }));
    }

    #[test]
    fn the_threat_is_what_follows_a_pass() {
        let mut game = PlayedGame::new(None).unwrap();
        game.play(game.parse("e4").unwrap()).unwrap();
        assert!(after_pass(&game).unwrap().start_fen().contains(" w "));
        let check = PlayedGame::new(Some("4k3/8/8/8/8/8/8/4R1K1 b - - 0 1".into())).unwrap();
        assert!(after_pass(&check).is_none());
    }
}
