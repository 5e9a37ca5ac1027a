//! The log of a run: `events.log` in words, `metrics.jsonl` in numbers.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::Value;

use crate::files::write_file;

/// The log of a run.
pub struct RunLog {
    folder: PathBuf,
}

impl RunLog {
    /// Continues the log of a run whose iterations before `iteration` are complete; metrics of later ones are removed,
    /// as they will be written again.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
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
        Ok(RunLog { folder: folder.to_owned() })
    }

    /// Writes a line to the event log, and logs it.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn event(&self, iteration: u64, line: &str) -> Result<()> {
        log::info!("iteration {iteration}: {line}");
        let now = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        self.append("events.log", &format!("{now} iteration {iteration}: {line}"))
    }

    /// Writes an iteration's line of metrics.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn metrics(&self, line: &Value) -> Result<()> {
        self.append("metrics.jsonl", &line.to_string())
    }

    fn append(&self, name: &str, line: &str) -> Result<()> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
