//! The limits at which a run of `rl` ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::base::files::write_file;

/// A hundred years.
const MOST_HOURS: f64 = 876_000.0;

/// Without either limit the run never ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RlLimits {
    /// Iterations of the whole run.
    pub iterations: Option<u64>,
    /// Seconds from the start of the program.
    pub seconds: Option<f64>,
}

impl RlLimits {
    /// `hours` must be positive and finite.
    pub fn new(iterations: Option<u64>, hours: Option<f64>) -> Result<RlLimits> {
        let is_valid = |hours: f64| hours > 0.0 && hours <= MOST_HOURS;
        if let Some(hours) = hours {
            ensure!(is_valid(hours), "--hours is {hours}, must be positive and at most {MOST_HOURS}");
        }
        Ok(RlLimits { iterations, seconds: hours.map(|hours| 3600.0 * hours) })
    }

    pub fn time(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs_f64)
    }

    /// These limits, or without any, those left when the run was stopped.
    pub fn or_left(self, run: &Path) -> Result<RlLimits> {
        let path = file(run);
        if self != RlLimits::default() || !path.exists() {
            return Ok(self);
        }
        let read = || Ok(serde_json::from_slice(&std::fs::read(&path)?)?);
        read().map_err(|error: anyhow::Error| {
            error.context(format!("{}; name --iterations or --hours, or remove it", path.display()))
        })
    }

    /// Writes the limits to the run's folder for a resumed run, counting time from `begun`. After a kill they apply in
    /// full.
    pub fn keep(&self, run: &Path, begun: Instant) -> Result<KeptLimits> {
        let kept = KeptLimits { limits: *self, path: file(run), begun };
        kept.write(self)?;
        Ok(kept)
    }
}

pub(super) struct KeptLimits {
    limits: RlLimits,
    path: PathBuf,
    begun: Instant,
}

impl KeptLimits {
    /// Writes what is left of the limits, or removes the file if the run is finished.
    pub fn end(self, is_finished: bool) -> Result<()> {
        let left = self.limits.seconds.map(|seconds| seconds - self.begun.elapsed().as_secs_f64());
        if is_finished || left.is_some_and(|left| left <= 0.0) {
            return self.write(&RlLimits::default());
        }
        self.write(&RlLimits { seconds: left, ..self.limits })
    }

    fn write(&self, limits: &RlLimits) -> Result<()> {
        if *limits == RlLimits::default() {
            return match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("cannot remove {}", self.path.display()))
                }
                _ => Ok(()),
            };
        }
        write_file(&self.path, serde_json::to_string(limits)?.as_bytes())
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
    fn a_run_that_was_stopped_goes_on_to_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let none = RlLimits::default();
        assert_eq!(none.or_left(run).unwrap(), none);
        let asked = RlLimits::new(Some(40), Some(2.0)).unwrap();
        let now = Instant::now();
        asked.keep(run, now).unwrap().end(false).unwrap();
        let left = none.or_left(run).unwrap();
        assert_eq!(left.iterations, Some(40));
        assert!(left.seconds.is_some_and(|seconds| seconds < 7200.0 && seconds > 7000.0), "{left:?}");
        let other = RlLimits::new(Some(50), None).unwrap();
        assert_eq!(other.or_left(run).unwrap(), other, "the command line decides");
        // Killed: the limits apply in full again.
        drop(asked.keep(run, now).unwrap());
        assert_eq!(none.or_left(run).unwrap(), asked);
        // At its end nothing is left, neither iterations nor time (which includes reading the run).
        let earlier = now.checked_sub(Duration::from_secs(30)).unwrap();
        let seconds = RlLimits { iterations: None, seconds: Some(20.0) };
        for (limits, begun, is_finished) in [(asked, now, true), (seconds, earlier, false)] {
            limits.keep(run, begun).unwrap().end(is_finished).unwrap();
            assert_eq!(none.or_left(run).unwrap(), none);
        }
        std::fs::write(file(run), "{").unwrap();
        let error = format!("{:#}", none.or_left(run).unwrap_err());
        assert!(error.contains("limits.json; name --iterations or --hours, or remove it"), "{error}");
    }
}
