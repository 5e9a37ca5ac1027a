//! One run's folder, followed by polling: that works on network file systems too.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;

use super::series::RunSeries;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Bytes of a line; a longer one is damaged.
const LONGEST_LINE: usize = 1 << 20;

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// `philidor-trainer train`: by steps.
    Train,
    /// `philidor-trainer rl`: by iterations.
    Rl,
}

/// A run's folder and what was read of it.
#[derive(Debug)]
pub struct RunFollower {
    folder: PathBuf,
    series: RunSeries,
    /// Bytes of `metrics.jsonl` that were read, up to the end of a line.
    read: u64,
    /// The bytes before `read`, to notice a file that was written anew.
    tail: Vec<u8>,
    lines: usize,
    damaged: usize,
    modified: Option<SystemTime>,
    problem: Option<String>,
    total_samples: Option<f64>,
    kind: Option<RunKind>,
}

/// Bytes that are compared to notice a file that was written anew.
const TAIL: usize = 64;

impl RunFollower {
    /// Follows the run in `folder`, which may not be there yet.
    pub fn new(folder: PathBuf) -> RunFollower {
        RunFollower {
            folder,
            series: RunSeries::default(),
            read: 0,
            tail: Vec::new(),
            lines: 0,
            damaged: 0,
            modified: None,
            problem: None,
            total_samples: None,
            kind: None,
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The curves.
    pub fn series(&self) -> &RunSeries {
        &self.series
    }

    /// Lines that were read.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whole lines that are no metrics.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    /// When the metrics were written last.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Why nothing can be read, and what to do.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The kind, once it is known.
    pub fn kind(&self) -> Option<RunKind> {
        self.kind
    }

    /// Seconds that are left, by the samples that the configuration asks for and the present speed.
    pub fn seconds_left(&self) -> Option<f64> {
        let left = self.total_samples? - self.series.last("samples")?;
        let speed = self.series.last("samples_per_s").filter(|speed| *speed > 0.0)?;
        Some((left / speed).max(0.0))
    }

    /// Samples that the configuration asks for.
    pub fn total_samples(&self) -> Option<f64> {
        self.total_samples
    }

    /// Reads what is new, up to the last whole line; says whether something has changed.
    pub fn poll(&mut self) -> bool {
        let before = (self.lines, self.damaged, self.problem.clone());
        let problem = match self.read_new() {
            Ok(()) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(format!(
                "There is no metrics.jsonl in {} yet: it appears with the first report of `train` or `rl`.",
                self.folder.display()
            )),
            Err(error) => Some(format!("{} cannot be read: {error}.", self.folder.display())),
        };
        self.problem = problem;
        before != (self.lines, self.damaged, self.problem.clone())
    }

    fn read_new(&mut self) -> io::Result<()> {
        let mut file = File::open(self.folder.join("metrics.jsonl"))?;
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok();
        if metadata.len() == self.read && modified == self.modified {
            return Ok(());
        }
        if !self.continues(&mut file, metadata.len())? {
            *self = RunFollower::new(std::mem::take(&mut self.folder));
        }
        self.modified = modified;
        if self.kind.is_none() {
            self.read_configuration();
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut pending = Vec::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            pending.extend_from_slice(&chunk[..count]);
            if let Some(end) = pending.iter().rposition(|byte| *byte == b'\n') {
                let rest = pending.split_off(end + 1);
                self.take(&pending);
                pending = rest;
            } else if pending.len() > LONGEST_LINE {
                // The rest of it will count as another damaged line.
                self.take(&pending);
                pending.clear();
            }
        }
    }

    /// Whether the file still begins as it was read.
    fn continues(&self, file: &mut File, length: u64) -> io::Result<bool> {
        if length < self.read {
            return Ok(false);
        }
        let mut tail = vec![0; self.tail.len()];
        file.seek(SeekFrom::Start(self.read - self.tail.len() as u64))?;
        file.read_exact(&mut tail)?;
        Ok(tail == self.tail)
    }

    fn take(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            let read = serde_json::from_slice::<Value>(line).is_ok_and(|line| self.series.add(&line));
            *if read { &mut self.lines } else { &mut self.damaged } += 1;
        }
        self.read += text.len() as u64;
        self.tail = text[text.len().saturating_sub(TAIL)..].to_vec();
    }

    fn read_configuration(&mut self) {
        let exists = |name: &str| self.folder.join(name).exists();
        self.kind = Some(if exists("state.json") { RunKind::Rl } else { RunKind::Train });
        let text = std::fs::read(self.folder.join("config.json")).unwrap_or_default();
        let config: Value = serde_json::from_slice(&text).unwrap_or_default();
        self.total_samples = config["samples"].as_f64().filter(|samples| *samples > 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn append(folder: &Path, text: &str) {
        let path = folder.join("metrics.jsonl");
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    #[test]
    fn a_run_is_followed_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFollower::new(folder.path().join("run"));
        assert!(run.poll() && run.problem().unwrap().contains("no metrics.jsonl"));
        assert!(!run.poll(), "nothing has changed");
        fs::create_dir(run.folder()).unwrap();
        fs::write(run.folder().join("config.json"), "{\"samples\": 1000}").unwrap();
        append(run.folder(), "{\"step\":1,\"samples\":200,\"samples_per_s\":100}\n{\"step\":2,\"sam");
        assert!(run.poll());
        assert_eq!((run.lines(), run.damaged(), run.problem()), (1, 0, None));
        assert_eq!((run.seconds_left(), run.kind()), (Some(8.0), Some(RunKind::Train)));
        append(run.folder(), "ples\":400}\n");
        assert!(run.poll());
        assert_eq!(
            (run.lines(), run.series().last("samples"), run.seconds_left()),
            (2, Some(400.0), Some(6.0))
        );
    }

    #[test]
    fn damaged_lines_are_counted_and_left_out() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), "{\"step\":1}\n\0\0\0\nnonsense\n{\"lr\":1}\n\n{\"step\":4,\"lr\":2}\n");
        let mut run = RunFollower::new(folder.path().to_owned());
        run.poll();
        assert_eq!((run.lines(), run.damaged(), run.series().last("lr")), (2, 3, Some(2.0)));
    }

    #[test]
    fn a_file_that_is_cut_or_written_anew_is_read_from_its_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        fs::write(&path, "{\"iteration\":1}\n{\"iteration\":2}\n").unwrap();
        fs::write(folder.path().join("state.json"), "{}").unwrap();
        let mut run = RunFollower::new(folder.path().to_owned());
        run.poll();
        assert_eq!((run.lines(), run.kind()), (2, Some(RunKind::Rl)));
        fs::write(&path, "{\"iteration\":1}\n").unwrap();
        run.poll();
        assert_eq!(run.lines(), 1);
        fs::write(&path, "{\"iteration\":7}\n{\"iteration\":8}\n").unwrap();
        run.poll();
        assert_eq!((run.lines(), run.series().curves()["iteration"][0].1), (2, 7.0));
    }
}
