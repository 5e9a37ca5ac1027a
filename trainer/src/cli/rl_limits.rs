use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use engine::base::words::counted;
use serde::{Deserialize, Serialize};

use crate::base::files::write_file;

/// A hundred years.
const MOST_HOURS: f64 = 876_000.0;

/// At most this much of the time used is lost by a kill.
const WRITE_EVERY: Duration = Duration::from_secs(10);

/// Limits count from the run's beginning, so that the same command with --resume gets the remainder. Without limits the
/// run never ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RlLimits {
    pub iterations: Option<u64>,
    /// Requested run time in seconds.
    pub seconds: Option<f64>,
    /// Run time in seconds before this process.
    #[serde(default)]
    pub used: f64,
}

impl RlLimits {
    /// `hours` must be positive and at most [`MOST_HOURS`].
    pub fn new(iterations: Option<u64>, hours: Option<f64>) -> Result<RlLimits> {
        let is_valid = |hours: f64| hours > 0.0 && hours <= MOST_HOURS;
        if let Some(hours) = hours {
            ensure!(is_valid(hours), "--hours is {hours}, must be positive and at most {MOST_HOURS}");
        }
        Ok(RlLimits { iterations, seconds: hours.map(|hours| 3600.0 * hours), used: 0.0 })
    }

    pub fn time(&self) -> Option<Duration> {
        self.seconds.map(|seconds| Duration::from_secs_f64((seconds - self.used).max(0.0)))
    }

    /// Limits of a resumed run: its earlier limits if these are empty. `counted` is the run time in seconds according
    /// to `state.json`.
    pub fn resumed(self, run: &Path, counted: f64) -> Result<RlLimits> {
        let path = file(run);
        let mut kept = RlLimits::default();
        if path.exists() {
            let read = || Ok(serde_json::from_slice(&std::fs::read(&path)?)?);
            let explained = |error: anyhow::Error| {
                error.context(format!("{}; remove it and name --iterations or --hours", path.display()))
            };
            kept = read().map_err(explained)?;
        }
        let asked = if self == RlLimits::default() { kept } else { self };
        Ok(RlLimits { used: kept.used.max(counted), ..asked })
    }

    /// Why nothing is left to do after `done` iterations, and how to go on.
    pub fn complete(&self, run: &Path, done: u64) -> Option<String> {
        let go_on = |more: String| {
            format!("complete; to go on: philidor-trainer rl --run {} --resume {more}", run.display())
        };
        if let Some(asked) = self.iterations.filter(|asked| done >= *asked) {
            return Some(format!(
                "{done} of {} done: {}",
                counted(asked, "iteration"),
                go_on(format!("--iterations {}", done + asked.max(1)))
            ));
        }
        let seconds = self.seconds.filter(|seconds| self.used >= *seconds)?;
        let (used, asked) = (self.used / 3600.0, seconds / 3600.0);
        Some(format!(
            "{used:.2} of {asked:.2} hours used: {}",
            go_on(format!("--hours {:.2}", (100.0 * (used + asked)).ceil() / 100.0))
        ))
    }

    /// The limits with the time used since `begun`.
    pub fn after(&self, begun: Instant) -> RlLimits {
        RlLimits { used: self.used + begun.elapsed().as_secs_f64(), ..*self }
    }

    /// Writes limits and time used into the run's folder, now and regularly, so that a kill loses little.
    pub fn keep(self, run: &Path, begun: Instant) -> Result<KeptLimits> {
        let path = file(run);
        self.write(&path, begun)?;
        let (end, ended) = channel::<()>();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(WRITE_EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = self.write(&path, begun) {
                    log::warn!("{error:#}");
                }
            }
            self.write(&path, begun)
        });
        Ok(KeptLimits { _end: end, thread })
    }

    fn write(&self, path: &Path, begun: Instant) -> Result<()> {
        write_file(path, serde_json::to_string(&self.after(begun))?.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A thread that writes the time used into the run's folder.
pub(super) struct KeptLimits {
    /// Ends the thread when dropped.
    _end: Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl KeptLimits {
    pub fn end(self) -> Result<()> {
        drop(self._end);
        self.thread.join().expect("writing does not panic")
    }
}

fn file(run: &Path) -> PathBuf {
    run.join("limits.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_positive_and_bounded() {
        assert_eq!(RlLimits::new(None, Some(0.5)).unwrap().time(), Some(Duration::from_secs(1800)));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e18] {
            let error = RlLimits::new(None, Some(bad)).unwrap_err().to_string();
            assert!(error.starts_with("--hours is "), "{bad}: {error}");
        }
    }

    #[test]
    fn a_resumed_run_gets_what_is_left_of_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let none = RlLimits::default();
        assert_eq!(none.resumed(run, 0.0).unwrap(), none);
        let asked = RlLimits::new(Some(40), Some(2.0)).unwrap();
        // The folder after a process that ran for an hour, killed or not.
        let Some(begun) = Instant::now().checked_sub(Duration::from_secs(3600)) else { return };
        asked.keep(run, begun).unwrap().end().unwrap();
        let is_half = |limits: RlLimits| {
            let left = limits.time().unwrap().as_secs();
            limits.iterations == Some(40) && (3500..=3600).contains(&left)
        };
        assert!(is_half(none.resumed(run, 0.0).unwrap()));
        assert!(is_half(asked.resumed(run, 0.0).unwrap()), "the same command again");
        let resumed = RlLimits::new(None, Some(3.0)).unwrap().resumed(run, 0.0).unwrap();
        assert_eq!((resumed.iterations, resumed.time().unwrap().as_secs() / 100), (None, 71));
        // The state counts more time, as in a run older than `limits.json`.
        assert_eq!(asked.resumed(run, 7000.0).unwrap().time(), Some(Duration::from_secs(200)));
        std::fs::write(file(run), "{").unwrap();
        let error = format!("{:#}", none.resumed(run, 0.0).unwrap_err());
        assert!(error.contains("limits.json; remove it and name --iterations or --hours"), "{error}");
    }

    #[test]
    fn a_complete_run_says_how_to_go_on() {
        let run = Path::new("runs/x");
        let asked = RlLimits::new(Some(40), Some(2.0)).unwrap();
        assert_eq!(asked.complete(run, 39), None);
        let why = asked.complete(run, 40).unwrap();
        assert!(why.starts_with("40 of 40 iterations done: complete"), "{why}");
        assert!(why.ends_with("rl --run runs/x --resume --iterations 80"), "{why}");
        let why = RlLimits { used: 7200.0, ..asked }.complete(run, 3).unwrap();
        assert!(why.starts_with("2.00 of 2.00 hours used") && why.ends_with("--hours 4.00"), "{why}");
        assert_eq!(RlLimits { used: 7200.0, ..RlLimits::default() }.complete(run, 3), None);
    }
}
