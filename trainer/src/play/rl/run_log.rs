//! The log of a run: `events.log` in words, `metrics.jsonl` in numbers, and the same numbers for TensorBoard.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::base::files::write_file;
use crate::learn::run::metrics::Events;
use crate::play::arena::MatchResults;

pub struct RunLog {
    folder: PathBuf,
    events: Mutex<Events>,
}

impl RunLog {
    /// Removes the metrics of `iteration` and later, which will be written again.
    pub fn open(folder: &Path, iteration: u64) -> Result<RunLog> {
        let path = folder.join("metrics.jsonl");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let of = |line: &str| serde_json::from_str::<Value>(line).ok()?["iteration"].as_u64();
        let kept: String = text
            .lines()
            .filter(|line| of(line).is_some_and(|at| at < iteration))
            .flat_map(|line| [line, "\n"])
            .collect();
        write_file(&path, kept.as_bytes())?;
        let events = Events::open(&folder.join("tensorboard"), iteration.saturating_sub(1));
        Ok(RunLog { folder: folder.to_owned(), events: Mutex::new(events) })
    }

    /// Writes to the event log and to the program's log.
    pub fn event(&self, iteration: u64, line: &str) -> Result<()> {
        log::info!("iteration {iteration}: {line}");
        let now = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        self.append("events.log", &format!("{now} iteration {iteration}: {line}"))
    }

    pub fn metrics(&self, line: &Value) -> Result<()> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let step = line["iteration"].as_u64().unwrap_or_default();
        events.line(step, &scalars(line));
        self.append("metrics.jsonl", &line.to_string())
    }

    fn append(&self, name: &str, line: &str) -> Result<()> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Reduces the arena to each opponent's score, the ratings to the tested network's.
fn scalars(line: &Value) -> Value {
    let mut line = line.clone();
    let matches: BTreeMap<String, MatchResults> =
        serde_json::from_value(line["arena"].take()).unwrap_or_default();
    let scores = matches.iter().map(|(against, results)| (against.clone(), results.score().into()));
    line["arena"] = Value::Object(scores.collect());
    let tested = line["ratings"].as_array().into_iter().flatten();
    let tested = tested.into_iter().find(|rating| rating["name"] == line["current"]);
    line["rating"] =
        tested.map_or(Value::Null, |rating| json!({ "elo": rating["elo"], "error": rating["error"] }));
    if let Some(line) = line.as_object_mut() {
        line.remove("iteration");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arena_and_self_play_reach_tensorboard() {
        let line = json!({"iteration": 4, "current": "00004", "kl": 0.5, "play": {"batch": 3.5},
            "arena": {"best": {"games": [3, 0, 1], "pairs": [0, 0, 1, 0, 1]}},
            "ratings": [{"name": "start", "elo": 0.0, "error": 1.0}, {"name": "00004", "elo": 30.0, "error": 9.0}]});
        let scalars = scalars(&line);
        assert_eq!((&scalars["arena"]["best"], &scalars["rating"]["elo"]), (&json!(0.75), &json!(30.0)));
        assert_eq!((&scalars["play"]["batch"], &scalars["iteration"]), (&json!(3.5), &Value::Null));
        let folder = tempfile::tempdir().unwrap();
        RunLog::open(folder.path(), 4).unwrap().metrics(&line).unwrap();
        let events = std::fs::read_dir(folder.path().join("tensorboard")).unwrap().next().unwrap().unwrap();
        let bytes = std::fs::read(events.path()).unwrap();
        for tag in ["arena/best", "rating/elo", "play/batch", "train/kl"] {
            assert!(memchr::memmem::find(&bytes, tag.as_bytes()).is_some(), "{tag}");
        }
    }

    #[test]
    fn metrics_of_a_repeated_iteration_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let log = RunLog::open(folder.path(), 1).unwrap();
        (1..=3).for_each(|iteration| log.metrics(&serde_json::json!({"iteration": iteration})).unwrap());
        log.event(3, "something happens").unwrap();
        drop(RunLog::open(folder.path(), 3).unwrap());
        let metrics = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        assert_eq!(metrics, "{\"iteration\":1}\n{\"iteration\":2}\n");
        let events = std::fs::read_to_string(folder.path().join("events.log")).unwrap();
        assert!(events.ends_with(" iteration 3: something happens\n"), "{events}");
    }
}
