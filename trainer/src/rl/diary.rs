//! What a run tells: `events.log` in words, `metrics.jsonl` in numbers.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::files::write_file;

/// A run's diary.
pub struct Diary {
    folder: PathBuf,
}

impl Diary {
    /// Goes on with the diary of a run whose iterations before `iteration` are complete; what the metrics say of later
    /// ones will be said anew.
    ///
    /// # Errors
    ///
    /// One line: a file can't be written.
    pub fn open(folder: &Path, iteration: u64) -> Result<Diary, String> {
        let path = folder.join("metrics.jsonl");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let of = |line: &str| serde_json::from_str::<Value>(line).ok()?["iteration"].as_u64();
        let kept: String = text
            .lines()
            .filter(|line| of(line).is_some_and(|at| at < iteration))
            .flat_map(|line| [line, "\n"])
            .collect();
        write_file(&path, kept.as_bytes()).map_err(|error| format!("{error:#}"))?;
        Ok(Diary { folder: folder.to_owned() })
    }

    /// A line of the event log, which is shown as well.
    ///
    /// # Errors
    ///
    /// One line: the file can't be written.
    pub fn say(&self, iteration: u64, line: &str) -> Result<(), String> {
        log::info!("iteration {iteration}: {line}");
        let now = Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        self.append("events.log", &format!("{now} iteration {iteration}: {line}"))
    }

    /// An iteration's line of the metrics.
    ///
    /// # Errors
    ///
    /// One line: the file can't be written.
    pub fn measure(&self, line: &Value) -> Result<(), String> {
        self.append("metrics.jsonl", &line.to_string())
    }

    fn append(&self, name: &str, line: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_of_an_iteration_that_is_done_again_goes() {
        let folder = tempfile::tempdir().unwrap();
        let diary = Diary::open(folder.path(), 1).unwrap();
        (1..=3).for_each(|iteration| diary.measure(&serde_json::json!({"iteration": iteration})).unwrap());
        diary.say(3, "something happens").unwrap();
        drop(Diary::open(folder.path(), 3).unwrap());
        let metrics = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        assert_eq!(metrics, "{\"iteration\":1}\n{\"iteration\":2}\n");
        let events = std::fs::read_to_string(folder.path().join("events.log")).unwrap();
        assert!(events.ends_with(" iteration 3: something happens\n"), "{events}");
    }
}
