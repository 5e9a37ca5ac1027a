//! Pausing and resuming a run.
//!
//! To pause a run, the studio writes the file `stop` into its folder, at which the trainer ends, perhaps on another
//! machine. To resume it, the studio starts a trainer that outlives the studio.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::follow::RunKind;
use crate::play::ActionError;

/// The trainer removes the file when it has seen it.
pub const STOP_FILE: &str = "stop";

/// How long a run must be quiet before another trainer is started on its folder.
const QUIET: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCommand {
    Pause,
    /// Withdraw a pause that the trainer has not seen yet.
    Keep,
    Resume,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunControl {
    Free,
    /// The trainer has not seen the stop file yet.
    Stopping,
    /// A trainer started here is running.
    Started,
}

#[derive(Clone, Debug, Default)]
pub struct Trainers {
    program: Option<PathBuf>,
    /// Whether the trainer started in a folder is running.
    started: Arc<Mutex<HashMap<PathBuf, bool>>>,
}

impl Trainers {
    pub fn new(program: Option<PathBuf>) -> Trainers {
        Trainers { program, started: Arc::default() }
    }

    pub fn can_resume(&self) -> bool {
        self.program.is_some()
    }

    pub fn control(&self, folder: &Path) -> RunControl {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if folder.join(STOP_FILE).exists() {
            RunControl::Stopping
        } else if started.get(folder) == Some(&true) {
            RunControl::Started
        } else {
            RunControl::Free
        }
    }

    pub fn pause(&self, folder: &Path) -> Result<(), ActionError> {
        let failed = |error| {
            ActionError::NotNow(format!(
                "{} cannot be written ({error}): stop the trainer with Ctrl-C.",
                folder.display()
            ))
        };
        std::fs::write(folder.join(STOP_FILE), "").map_err(failed)
    }

    pub fn keep(&self, folder: &Path) -> Result<(), ActionError> {
        let seen =
            |_| ActionError::NotNow("The trainer is stopping already: go on with the run afterwards.".into());
        std::fs::remove_file(folder.join(STOP_FILE)).map_err(seen)
    }

    /// `active` is the last change of the run's folder.
    pub fn resume(
        &self,
        folder: &Path,
        kind: RunKind,
        active: Option<SystemTime>,
    ) -> Result<(), ActionError> {
        let not_now = |text: String| Err(ActionError::NotNow(text));
        let Some(program) = &self.program else {
            return not_now(
                "There is no philidor-trainer beside this program: name it with --trainer.".into(),
            );
        };
        if self.control(folder) != RunControl::Free {
            return not_now("The run is running: pause it first, and wait until it has stopped.".into());
        }
        let quiet = active.and_then(|time| SystemTime::now().duration_since(time).ok());
        if quiet.is_some_and(|quiet| quiet < QUIET) {
            let seconds = QUIET.as_secs();
            return not_now(format!(
                "The run has changed within the last {seconds} s, so a trainer may be running: wait, then try again."
            ));
        }
        let log = folder.join("studio.log");
        let output = OpenOptions::new().create(true).append(true).open(&log);
        let output = output.and_then(|file| Ok((file.try_clone()?, file)));
        let (out, errors) = output
            .map_err(|error| ActionError::NotNow(format!("{} cannot be written: {error}.", log.display())))?;
        let mut command = Command::new(program);
        command
            .arg(if kind == RunKind::Rl { "rl" } else { "train" })
            .arg("--run")
            .arg(folder)
            .arg("--resume");
        command.stdin(Stdio::null()).stdout(out).stderr(errors);
        // The trainer survives the studio and its terminal's Ctrl-C.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            ActionError::NotNow(format!("{} cannot be started: {error}.", program.display()))
        })?;
        let note = {
            let (started, folder) = (self.started.clone(), folder.to_owned());
            move |running| {
                started.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone(), running);
            }
        };
        note(true);
        tokio::spawn(async move {
            match child.wait().await {
                Ok(status) if status.success() => log::info!("a trainer has ended"),
                other => log::warn!("a trainer has failed: {other:?}; see {}", log.display()),
            }
            note(false);
        });
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_run_is_paused_by_a_file_and_gone_on_with_when_it_is_quiet() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a run");
        std::fs::create_dir(&run).unwrap();
        // A checked-in program: a file written here could not be executed while another test starts a program.
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/print_arguments.sh");
        let trainers = Trainers::new(Some(program));
        trainers.pause(&run).unwrap();
        assert_eq!(trainers.control(&run), RunControl::Stopping);
        assert!(trainers.resume(&run, RunKind::Rl, None).is_err(), "it is being stopped");
        trainers.keep(&run).unwrap();
        assert!(trainers.keep(&run).is_err());
        let error = trainers.resume(&run, RunKind::Rl, Some(SystemTime::now())).unwrap_err().to_string();
        assert!(error.contains("a trainer may be running"), "{error}");
        trainers.resume(&run, RunKind::Rl, None).unwrap();
        while trainers.control(&run) == RunControl::Started {
            tokio::task::yield_now().await;
        }
        let log = std::fs::read_to_string(run.join("studio.log")).unwrap();
        assert_eq!(log, format!("rl\n--run\n{}\n--resume\n", run.display()));
        let error = Trainers::new(None).resume(&run, RunKind::Rl, None).unwrap_err().to_string();
        assert!(error.contains("--trainer"), "{error}");
    }
}
