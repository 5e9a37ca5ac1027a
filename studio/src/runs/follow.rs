//! Follows one run's folder by polling, which also works on network file systems.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::live::LiveFollower;
use super::rl::RlFacts;
use super::series::{Point, RunSeries};

/// Bytes per poll; between two polls, others can get the lock of the runs.
const CHUNK: usize = 4 << 20;

/// Bytes without a line end that count as a damaged line.
const LONGEST_LINE: usize = 1 << 20;

/// Bytes compared to notice that the file was rewritten.
const TAIL: usize = 64;

/// A run is quiet after this many seconds, and this many times the interval of its last two reports.
const QUIET_S: f64 = 60.0;
const QUIET_INTERVALS: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    Train,
    Rl,
}

impl RunKind {
    /// Of `philidor-trainer`.
    pub fn command(self) -> &'static str {
        match self {
            RunKind::Train => "train",
            RunKind::Rl => "rl",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    pub changed: bool,
    pub more: bool,
}

#[derive(Debug)]
pub struct RunFollower {
    folder: PathBuf,
    series: RunSeries,
    rl: RlFacts,
    live: LiveFollower,
    /// From the last metrics line that has it.
    reliability: Option<Value>,
    /// `read` ends at a line end; `length` is the size of `metrics.jsonl`. Both in bytes.
    read: u64,
    length: u64,
    tail: Vec<u8>,
    lines: usize,
    damaged: usize,
    modified: Option<SystemTime>,
    problem: Option<String>,
    total_samples: Option<f64>,
    /// Limit of the training time.
    minutes: Option<f64>,
    kind: Option<RunKind>,
}

impl RunFollower {
    /// The folder need not exist yet.
    pub fn new(folder: PathBuf) -> RunFollower {
        RunFollower {
            folder,
            series: RunSeries::default(),
            rl: RlFacts::default(),
            live: LiveFollower::default(),
            reliability: None,
            read: 0,
            length: 0,
            tail: Vec::new(),
            lines: 0,
            damaged: 0,
            modified: None,
            problem: None,
            total_samples: None,
            minutes: None,
            kind: None,
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn series(&self) -> &RunSeries {
        &self.series
    }

    pub fn rl(&self) -> &RlFacts {
        &self.rl
    }

    pub fn live(&self) -> &LiveFollower {
        &self.live
    }

    /// Predicted and observed shares by kind of prediction, at the last validation.
    pub fn reliability(&self) -> Option<&Value> {
        self.reliability.as_ref()
    }

    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Whole lines that are not metrics.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    pub fn share_read(&self) -> f64 {
        if self.length == 0 { 1.0 } else { self.read as f64 / self.length as f64 }
    }

    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// The last change of what is followed.
    pub fn active(&self) -> Option<SystemTime> {
        self.modified.max(self.live.modified())
    }

    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub fn kind(&self) -> Option<RunKind> {
        self.kind
    }

    /// Estimates the time to the configured samples or minutes of a `train` run, or to the iterations or the time limit
    /// of an `rl` run.
    pub fn seconds_left(&self) -> Option<f64> {
        if self.kind == Some(RunKind::Rl) {
            return self.rl_seconds_left();
        }
        let by_samples = || {
            let left = self.total_samples? - self.series.last("samples")?;
            Some(left / self.recent_speed()?)
        };
        let by_clock = || Some(60.0 * self.minutes? - self.series.last("time_s")?);
        let left = by_samples().into_iter().chain(by_clock()).reduce(f64::min)?;
        Some(left.max(0.0))
    }

    /// Samples per second over the last tenth of the reports, with the validations between them.
    fn recent_speed(&self) -> Option<f64> {
        let measured = || {
            let (samples, times) = (self.series.curve("samples")?, self.series.curve("time_s")?);
            let back = (samples.len() / 10).max(1);
            let since = |curve: &[Point]| {
                let last = curve.last()?;
                Some(last.1 - curve.get(curve.len().checked_sub(1 + back)?)?.1)
            };
            let speed = since(samples)? / since(times)?;
            (samples.len() == times.len() && speed.is_finite() && speed > 0.0).then_some(speed)
        };
        measured().or_else(|| self.series.last("samples_per_s").filter(|speed| *speed > 0.0))
    }

    /// Whether no report has come for so long that the trainer has probably ended.
    pub fn is_quiet(&self) -> bool {
        let since = |time: SystemTime| SystemTime::now().duration_since(time).unwrap_or_default();
        let active = self.active();
        let times = self.series.curve("time_s").unwrap_or_default();
        let interval = match times {
            [.., before, last] => (last.1 - before.1).max(0.0),
            _ => 0.0,
        };
        active.is_some_and(|time| since(time).as_secs_f64() > QUIET_S.max(QUIET_INTERVALS * interval))
    }

    fn rl_seconds_left(&self) -> Option<f64> {
        let done = self.series.last("iteration")?;
        let each = self.series.last("time_s")? / done.max(1.0);
        let by_count = self.live.iterations.map(|count| (count as f64 - done).max(0.0) * each);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64();
        let by_clock = self.live.until_s.filter(|_| !self.is_quiet()).map(|until| (until - now).max(0.0));
        by_count.into_iter().chain(by_clock).reduce(f64::min)
    }

    pub fn total_samples(&self) -> Option<f64> {
        self.total_samples
    }

    /// Reads at most `CHUNK` bytes, up to the last whole line.
    pub fn poll(&mut self) -> Looked {
        let before = (self.lines, self.damaged, self.problem.clone());
        let (problem, more) = match self.read_new() {
            Ok(more) => (None, more),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let problem = format!(
                    "There is no metrics.jsonl in {} yet: it appears with the trainer's first report.",
                    self.folder.display()
                );
                (Some(problem), false)
            }
            Err(error) => (Some(format!("{} cannot be read: {error}.", self.folder.display())), false),
        };
        self.problem = problem;
        let state = self.kind == Some(RunKind::Rl) && self.rl.poll_state(&self.folder);
        let live = self.live.poll(&self.folder);
        let changed = before != (self.lines, self.damaged, self.problem.clone()) || state || live;
        Looked { changed, more }
    }

    /// Whether there is more to read.
    fn read_new(&mut self) -> io::Result<bool> {
        let mut file = File::open(self.folder.join("metrics.jsonl"))?;
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok();
        if metadata.len() == self.read && modified == self.modified {
            return Ok(false);
        }
        if !self.continues(&mut file, metadata.len())? {
            *self = RunFollower::new(std::mem::take(&mut self.folder));
        }
        self.modified = modified;
        self.length = metadata.len();
        if self.kind.is_none() {
            self.read_configuration();
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut pending = Vec::with_capacity(CHUNK.min(self.length.saturating_sub(self.read) as usize + 1));
        file.take(CHUNK as u64).read_to_end(&mut pending)?;
        let is_full = pending.len() == CHUNK;
        match pending.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => self.take(&pending[..=end]),
            // The rest of the line will count as another damaged line.
            None if pending.len() > LONGEST_LINE => self.take(&pending),
            None => return Ok(false),
        }
        Ok(is_full)
    }

    /// Whether the bytes before `read` are unchanged.
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
            let read = self.series.add(line);
            *if read { &mut self.lines } else { &mut self.damaged } += 1;
            if read {
                self.take_facts(line);
            }
        }
        self.read += text.len() as u64;
        self.tail = text[text.len().saturating_sub(TAIL)..].to_vec();
    }

    fn take_facts(&mut self, line: &[u8]) {
        let is_rl = self.kind == Some(RunKind::Rl);
        let has_reliability = memchr::memmem::find(line, b"\"reliability\"").is_some();
        if !is_rl && !has_reliability {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        if let Some(found) = find(&line, "reliability", 4).filter(|found| found.is_object()) {
            self.reliability = Some(found.clone());
        }
        if is_rl {
            self.rl.add(&line);
        }
    }

    fn read_configuration(&mut self) {
        let exists = |name: &str| self.folder.join(name).exists();
        self.kind = Some(if exists("state.json") { RunKind::Rl } else { RunKind::Train });
        let text = std::fs::read(self.folder.join("config.json")).unwrap_or_default();
        let config: Value = serde_json::from_slice(&text).unwrap_or_default();
        let limit = |key: &str| config[key].as_f64().filter(|limit| *limit > 0.0);
        (self.total_samples, self.minutes) = (limit("samples"), limit("minutes"));
        self.rl.configure(&config);
    }
}

fn find<'a>(value: &'a Value, key: &str, depth: usize) -> Option<&'a Value> {
    let object = value.as_object()?;
    let inside = || object.values().filter(|_| depth > 0).find_map(|value| find(value, key, depth - 1));
    object.get(key).or_else(inside)
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
        assert!(run.poll().changed && run.problem().unwrap().contains("no metrics.jsonl"));
        assert!(!run.poll().changed, "nothing has changed");
        fs::create_dir(run.folder()).unwrap();
        fs::write(run.folder().join("config.json"), "{\"samples\": 1000}").unwrap();
        append(run.folder(), "{\"step\":1,\"samples\":200,\"samples_per_s\":100}\n{\"step\":2,\"sam");
        assert!(run.poll().changed);
        assert_eq!((run.lines(), run.damaged(), run.problem()), (1, 0, None));
        assert_eq!((run.seconds_left(), run.kind()), (Some(8.0), Some(RunKind::Train)));
        append(run.folder(), "ples\":400}\n");
        assert!(run.poll().changed);
        assert_eq!(
            (run.lines(), run.series().last("samples"), run.seconds_left()),
            (2, Some(400.0), Some(6.0))
        );
    }

    #[test]
    fn the_time_left_knows_validations_and_the_limit_of_minutes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.json"), "{\"samples\": 4000, \"minutes\": 1}").unwrap();
        // A hundred samples take a second, and the validations between them another.
        let report = |n: u32| {
            format!("{{\"step\":{n},\"samples\":{},\"time_s\":{},\"samples_per_s\":100}}\n", 100 * n, 2 * n)
        };
        let mut run = RunFollower::new(folder.path().to_owned());
        append(folder.path(), &report(1));
        run.poll();
        assert_eq!(run.seconds_left(), Some(39.0));
        (2..=20).for_each(|n| append(folder.path(), &report(n)));
        run.poll();
        assert_eq!(run.seconds_left(), Some(20.0), "by the minutes; by the samples it would be 40");
        fs::write(folder.path().join("config.json"), "{\"samples\": 2200}").unwrap();
        fs::write(folder.path().join("metrics.jsonl"), report(9) + &report(10)).unwrap();
        run.poll();
        assert_eq!(run.seconds_left(), Some(24.0));
        assert!(!run.is_quiet());
        let earlier = SystemTime::now() - std::time::Duration::from_secs(3600);
        let file = fs::File::options().append(true).open(folder.path().join("metrics.jsonl")).unwrap();
        file.set_modified(earlier).unwrap();
        run.poll();
        assert!(run.is_quiet());
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
        assert_eq!((run.lines(), run.series().curves().next().unwrap().1[0].1), (2, 7.0));
    }

    #[test]
    fn a_long_file_is_read_in_parts_and_calibration_is_found_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!("{{\"step\":1,\"lr\":0.5,\"note\":\"{}\"}}\n", "x".repeat(900));
        append(folder.path(), &line.repeat(10_000));
        append(
            folder.path(),
            "{\"step\":2,\"validation\":{\"reliability\":{\"win\":{\"error\":0.1,\"bins\":[]}}}}\n",
        );
        let mut run = RunFollower::new(folder.path().to_owned());
        let mut looks = 1;
        while run.poll().more {
            looks += 1;
        }
        assert_eq!((run.lines(), run.damaged(), run.share_read()), (10_001, 0, 1.0));
        assert!(looks > 2, "{looks}");
        assert_eq!(run.reliability().unwrap()["win"]["error"], 0.1);
    }
}
