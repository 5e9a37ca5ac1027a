//! Facts of an `rl` run beyond its curves: ratings, arena tables, vetoes, the stage.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use engine::apps::matches::MatchResults;
use serde::{Deserialize, Serialize};
use serde_json::Value;

const SHOWN_ITERATIONS: usize = 1000;

/// In bytes; a larger file is not read.
const LARGEST_STATE: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatedNetwork {
    pub name: String,
    /// Elo relative to the run's first network.
    pub elo: f64,
    /// Half-width of the 95 % interval.
    pub error: f64,
    pub games: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArenaRow {
    /// `best`, `older`, …
    pub against: String,
    pub games: [u64; 3],
    /// Per cent.
    pub score: f64,
    /// With its error, in words.
    pub elo: String,
}

impl ArenaRow {
    fn new(against: &str, results: &MatchResults) -> ArenaRow {
        ArenaRow {
            against: against.to_owned(),
            games: results.games,
            score: 100.0 * results.score(),
            elo: results.estimate().to_string(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArenaIteration {
    pub iteration: u64,
    /// `promoted`, `kept` or `vetoed`.
    pub verdict: String,
    pub worse: Option<String>,
    pub rows: Vec<ArenaRow>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct StateFile {
    iteration: u64,
    stage: String,
    best: String,
    current: String,
    escalation: Value,
    /// Unfinished matches.
    begun: BTreeMap<String, MatchResults>,
}

/// The configured bounds of the KL divergence, and the buffer size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RlBounds {
    pub warn: Option<f64>,
    pub alarm: Option<f64>,
    /// In positions.
    pub buffer: Option<f64>,
}

#[derive(Debug, Default)]
pub struct RlFacts {
    ratings: Vec<RatedNetwork>,
    iterations: Vec<ArenaIteration>,
    vetoes: Vec<(u64, String)>,
    state: StateFile,
    state_modified: Option<SystemTime>,
    bounds: RlBounds,
}

#[derive(Debug, Serialize)]
pub struct RlView<'a> {
    /// Ratings of all networks at the last arena.
    pub ratings: &'a [RatedNetwork],
    pub iterations: &'a [ArenaIteration],
    /// All iterations with vetoes, and their reasons.
    pub vetoes: &'a [(u64, String)],
    pub iteration: u64,
    /// `play`, `train` or `arena`.
    pub stage: &'a str,
    pub best: &'a str,
    /// The network in training.
    pub current: &'a str,
    /// In force after a veto.
    pub escalation: &'a Value,
    /// Unfinished matches.
    pub playing: Vec<ArenaRow>,
    pub kl_warn: Option<f64>,
    pub kl_alarm: Option<f64>,
    /// In positions.
    pub buffer_size: Option<f64>,
}

impl RlFacts {
    pub fn add(&mut self, line: &Value) {
        let Some(iteration) = line["iteration"].as_u64() else { return };
        if let Ok(ratings) = serde_json::from_value::<Vec<RatedNetwork>>(line["ratings"].clone()) {
            self.ratings = ratings;
        }
        let Some(verdict) = line["verdict"].as_str() else { return };
        let worse = line["worse"].as_str().map(str::to_owned);
        if verdict == "vetoed" {
            self.vetoes.push((iteration, worse.clone().unwrap_or_default()));
        }
        let matches: BTreeMap<String, MatchResults> =
            serde_json::from_value(line["arena"].clone()).unwrap_or_default();
        let rows = matches.iter().map(|(against, results)| ArenaRow::new(against, results)).collect();
        self.iterations.push(ArenaIteration { iteration, verdict: verdict.to_owned(), worse, rows });
        let surplus = self.iterations.len().saturating_sub(SHOWN_ITERATIONS);
        self.iterations.drain(..surplus);
    }

    pub fn configure(&mut self, config: &Value) {
        let number = |value: &Value| value.as_f64();
        self.bounds = RlBounds {
            warn: number(&config["kl"]["warn"]),
            alarm: number(&config["kl"]["alarm"]),
            buffer: number(&config["buffer_size"]),
        };
    }

    /// Whether the state has changed.
    pub fn poll_state(&mut self, folder: &Path) -> bool {
        let path = folder.join("state.json");
        let Ok(metadata) = path.metadata() else { return false };
        let modified = metadata.modified().ok();
        if modified == self.state_modified || metadata.len() > LARGEST_STATE {
            return false;
        }
        let read = || -> io::Result<StateFile> { Ok(serde_json::from_slice(&std::fs::read(&path)?)?) };
        match read() {
            Ok(state) => {
                self.state_modified = modified;
                let changed = state != self.state;
                self.state = state;
                changed
            }
            // Retried at the next poll.
            Err(_) => false,
        }
    }

    pub fn stage(&self) -> (u64, &str) {
        (self.state.iteration, &self.state.stage)
    }

    pub fn bounds(&self) -> RlBounds {
        self.bounds
    }

    pub fn view(&self) -> RlView<'_> {
        let state = &self.state;
        RlView {
            ratings: &self.ratings,
            iterations: &self.iterations,
            vetoes: &self.vetoes,
            iteration: state.iteration,
            stage: &state.stage,
            best: &state.best,
            current: &state.current,
            escalation: &state.escalation,
            playing: state.begun.iter().map(|(against, results)| ArenaRow::new(against, results)).collect(),
            kl_warn: self.bounds.warn,
            kl_alarm: self.bounds.alarm,
            buffer_size: self.bounds.buffer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ratings_tables_and_vetoes_are_kept() {
        let mut facts = RlFacts::default();
        facts.add(&json!({"iteration": 1, "kl": 0.1}));
        let ratings = json!([{"name": "start", "elo": 0.0, "error": 0.0, "games": 16.0}]);
        let arena = json!({"best": {"games": [3, 0, 1], "pairs": [0, 0, 1, 0, 1]}});
        facts.add(&json!({"iteration": 2, "verdict": "promoted", "ratings": ratings, "arena": arena}));
        facts.add(&json!({"iteration": 4, "verdict": "vetoed", "worse": "endgames", "arena": {}}));
        facts.configure(&json!({"kl": {"warn": 0.5, "alarm": 1.0}, "buffer_size": 1000}));
        let view = facts.view();
        assert_eq!((view.ratings.len(), view.ratings[0].name.as_str()), (1, "start"));
        assert_eq!((view.iterations.len(), view.iterations[0].rows[0].score), (2, 75.0));
        assert_eq!(view.vetoes, [(4, "endgames".to_owned())]);
        assert_eq!((view.kl_warn, view.kl_alarm, view.buffer_size), (Some(0.5), Some(1.0), Some(1000.0)));
    }

    #[test]
    fn the_state_is_read_when_it_changes_and_a_half_written_one_is_left_for_later() {
        let folder = tempfile::tempdir().unwrap();
        let mut facts = RlFacts::default();
        assert!(!facts.poll_state(folder.path()));
        let path = folder.path().join("state.json");
        std::fs::write(&path, "{\"iteration\": 7, \"sta").unwrap();
        assert!(!facts.poll_state(folder.path()));
        let begun = json!({"older": {"games": [1, 0, 0], "pairs": [0, 0, 0, 0, 0], "single": [1, 0, 0]}});
        let state = json!({"format": "philidor-learn/1", "iteration": 7, "stage": "arena", "best": "00004",
            "current": "00007", "buffer": [1, 2], "begun": begun});
        std::fs::write(&path, state.to_string()).unwrap();
        assert!(facts.poll_state(folder.path()) && !facts.poll_state(folder.path()));
        let view = facts.view();
        assert_eq!((view.stage, view.best, view.playing[0].games), ("arena", "00004", [1, 0, 0]));
    }
}
