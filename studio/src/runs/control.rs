//! Pausing and resuming a run.
//!
//! To pause a run, the studio writes the file `stop` into its folder, at which the trainer ends, perhaps on another
//! machine. To resume it, the studio starts a trainer that outlives the studio.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::follow::RunKind;
use crate::play::ActionError;

/// The trainer removes the file when it has seen it.
pub const STOP_FILE: &str = "stop";

/// The trainer's output, in the run's folder.
pub const LOG: &str = "studio.log";

/// Marks a run that was cancelled.
const CANCELLED: &str = "cancelled";

/// Of the trainer's last words, in bytes.
const LAST_WORDS: usize = 600;

const KEYS_TIME: Duration = Duration::from_secs(20);

/// How long a run must be quiet before another trainer is started on its folder.
const QUIET: Duration = Duration::from_secs(20);

/// Between a trainer's last change of its folder and its end, as far as clocks of files are exact.
const SLACK: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCommand {
    Pause,
    /// Withdraw a pause that the trainer has not seen yet.
    Keep,
    Resume,
    /// Pause, for good: its files stay.
    Cancel,
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
    /// The trainer that was last started in a folder.
    started: Arc<Mutex<HashMap<PathBuf, Started>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Started {
    /// A trainer that was not started here has been asked to stop.
    Asked,
    /// When it had taken the stop file.
    Leaving(SystemTime),
    Running,
    Ended(SystemTime),
    /// With the last lines of its output.
    Failed(SystemTime, String),
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
        } else if started.get(folder) == Some(&Started::Running) {
            RunControl::Started
        } else {
            RunControl::Free
        }
    }

    pub fn pause(&self, folder: &Path) -> Result<(), ActionError> {
        let mut started = self.lock();
        ask_to_stop(folder)?;
        if started.get(folder) != Some(&Started::Running) {
            started.insert(folder.to_owned(), Started::Asked);
        }
        Ok(())
    }

    pub fn keep(&self, folder: &Path) -> Result<(), ActionError> {
        let seen =
            |_| ActionError::NotNow("The trainer is stopping already: go on with the run afterwards.".into());
        // What is withdrawn is not insisted on.
        let mut started = self.lock();
        std::fs::remove_file(folder.join(STOP_FILE)).map_err(seen)?;
        if started.get(folder) == Some(&Started::Asked) {
            started.remove(folder);
        }
        let _ = std::fs::remove_file(folder.join(CANCELLED));
        Ok(())
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
        let active = active.filter(|_| !self.has_ended(folder, active));
        let quiet = active.and_then(|time| SystemTime::now().duration_since(time).ok());
        if quiet.is_some_and(|quiet| quiet < QUIET) {
            let seconds = QUIET.as_secs();
            return not_now(format!(
                "The run has changed within the last {seconds} s, so a trainer may be running: wait, then try again."
            ));
        }
        let _ = std::fs::remove_file(folder.join(CANCELLED));
        let resumed = [kind.command(), "--run", &folder.display().to_string(), "--resume"].map(str::to_owned);
        start_in(program, folder, &resumed, self.started.clone())
    }

    /// Whether the trainer that was started here has ended, and no other one has changed the folder since.
    fn has_ended(&self, folder: &Path, active: Option<SystemTime>) -> bool {
        match self.lock().get(folder) {
            Some(Started::Ended(at) | Started::Failed(at, _)) => {
                active.is_none_or(|time| time <= *at + SLACK)
            }
            _ => false,
        }
    }

    /// Whether no trainer works on the run, as far as is known here: the one that was started here has ended, or another
    /// one has taken the stop file and reports nothing more. `active` is the last change of the run's folder. A trainer
    /// that begins writes its configuration, so one that was resumed elsewhere is known before it reports.
    pub fn has_stopped(&self, folder: &Path, active: Option<SystemTime>) -> bool {
        let left = match self.lock().get(folder) {
            Some(Started::Leaving(at)) => Some(*at),
            _ => None,
        };
        let begun = std::fs::metadata(folder.join("config.json")).and_then(|file| file.modified()).ok();
        let is_silent = left.is_some_and(|at| {
            active.is_none_or(|time| time <= at + QUIET) && begun.is_none_or(|time| time <= at)
        });
        is_silent || self.has_ended(folder, active)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a run in a folder that is made for it.
    pub fn start(&self, folder: &Path, arguments: &[String]) -> Result<(), ActionError> {
        let program = self.program()?;
        let made = std::fs::create_dir_all(folder.parent().unwrap_or(folder));
        made.and_then(|()| std::fs::create_dir(folder)).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                ActionError::NotNow(format!("There is {} already: choose another name.", folder.display()))
            }
            _ => ActionError::NotNow(format!("{} cannot be made ({error}).", folder.display())),
        })?;
        start_in(program, folder, arguments, self.started.clone())
    }

    fn program(&self) -> Result<&Path, ActionError> {
        let none = "There is no philidor-trainer beside this program: name it with --trainer.";
        self.program.as_deref().ok_or_else(|| ActionError::NotNow(none.into()))
    }

    /// `active` is the last change of the run's folder. A trainer that was not started here runs if that is not quiet.
    pub fn cancel(
        &self,
        folder: &Path,
        is_quiet: bool,
        active: Option<SystemTime>,
    ) -> Result<(), ActionError> {
        let failed =
            |error| ActionError::NotNow(format!("{} cannot be written ({error}).", folder.display()));
        std::fs::write(folder.join(CANCELLED), "").map_err(failed)?;
        let may_run = !is_quiet && !self.has_stopped(folder, active);
        if may_run || self.control(folder) == RunControl::Started { self.pause(folder) } else { Ok(()) }
    }

    /// Notes that a trainer has taken the stop file. Asks the trainer of a cancelled run once more to stop: one that
    /// begins to watch its folder removes the file.
    pub fn look(&self, folder: &Path) {
        let mut started = self.lock();
        if folder.join(STOP_FILE).exists() {
            return;
        }
        match started.get(folder) {
            Some(Started::Asked) => {
                started.insert(folder.to_owned(), Started::Leaving(SystemTime::now()));
            }
            Some(Started::Running) if self.is_cancelled(folder) => _ = ask_to_stop(folder),
            _ => (),
        }
    }

    pub fn is_cancelled(&self, folder: &Path) -> bool {
        folder.join(CANCELLED).exists()
    }

    /// Why the trainer that was started here has failed.
    pub fn failure(&self, folder: &Path) -> Option<String> {
        match self.lock().get(folder) {
            Some(Started::Failed(_, words)) => Some(words.clone()),
            _ => None,
        }
    }

    /// The trainer's table of keys as JSON.
    pub async fn keys(&self, arguments: &[String]) -> Result<Value, ActionError> {
        let mut command = Command::new(self.program()?);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let told = |why: String| ActionError::NotNow(format!("The trainer does not tell its keys: {why}."));
        let late = |_| told("it does not answer".into());
        let output = timeout(KEYS_TIME, command.output()).await.map_err(late)?;
        let output = output.map_err(|error| told(error.to_string()))?;
        if !output.status.success() {
            return Err(told(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| told(error.to_string()))
    }
}

fn ask_to_stop(folder: &Path) -> Result<(), ActionError> {
    let failed = |error| {
        ActionError::NotNow(format!(
            "{} cannot be written ({error}): stop the trainer with Ctrl-C.",
            folder.display()
        ))
    };
    std::fs::write(folder.join(STOP_FILE), "").map_err(failed)
}

fn start_in(
    program: &Path,
    folder: &Path,
    arguments: &[String],
    started: Arc<Mutex<HashMap<PathBuf, Started>>>,
) -> Result<(), ActionError> {
    let log = folder.join(LOG);
    let output = OpenOptions::new().create(true).append(true).open(&log);
    let output = output.and_then(|file| Ok((file.try_clone()?, file)));
    let (out, errors) = output
        .map_err(|error| ActionError::NotNow(format!("{} cannot be written: {error}.", log.display())))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(out).stderr(errors);
    // The trainer survives the studio and its terminal's Ctrl-C.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| ActionError::NotNow(format!("{} cannot be started: {error}.", program.display())))?;
    let folder = folder.to_owned();
    let note = move |state: Started| {
        let mut started = started.lock().unwrap_or_else(PoisonError::into_inner);
        if state != Started::Running {
            // Nobody is left to see it.
            let _ = std::fs::remove_file(folder.join(STOP_FILE));
        }
        started.insert(folder.clone(), state);
    };
    note(Started::Running);
    tokio::spawn(async move {
        match child.wait().await {
            Ok(status) if status.success() => {
                log::info!("a trainer has ended");
                note(Started::Ended(SystemTime::now()));
            }
            other => {
                log::warn!("a trainer has failed: {other:?}; see {}", log.display());
                note(Started::Failed(SystemTime::now(), last_words(&log)));
            }
        }
    });
    Ok(())
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS)..]).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(2)..].join(" ")
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
        // Its trainer has ended, so the run need not be quiet, unless it has changed since.
        let now = SystemTime::now();
        let ended = |ago| trainers.lock().insert(run.clone(), Started::Ended(now - Duration::from_secs(ago)));
        ended(10);
        let error = trainers.resume(&run, RunKind::Train, Some(now)).unwrap_err().to_string();
        assert!(error.contains("a trainer may be running"), "{error}");
        ended(1);
        trainers.resume(&run, RunKind::Train, Some(now)).unwrap();
        let error = Trainers::new(None).resume(&run, RunKind::Rl, None).unwrap_err().to_string();
        assert!(error.contains("--trainer"), "{error}");
    }

    #[tokio::test]
    async fn a_run_is_started_in_a_folder_of_its_own_cancelled_and_its_failure_told() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs").join("new");
        let trainers = Trainers::new(Some("/bin/sh".into()));
        let script = |text: &str| ["-c", text].map(str::to_owned);
        trainers.start(&run, &script("echo no sources >&2; exit 1")).unwrap();
        while trainers.control(&run) == RunControl::Started {
            tokio::task::yield_now().await;
        }
        assert_eq!(trainers.failure(&run).as_deref(), Some("no sources"));
        let error = trainers.start(&run, &script("")).unwrap_err().to_string();
        assert!(error.contains("choose another name"), "{error}");
        trainers.cancel(&run, false, None).unwrap();
        assert!(trainers.is_cancelled(&run) && trainers.control(&run) == RunControl::Free);
        let other = folder.path().join("other");
        std::fs::create_dir(&other).unwrap();
        trainers.cancel(&other, false, Some(SystemTime::now())).unwrap();
        assert_eq!(trainers.control(&other), RunControl::Stopping, "another trainer may run there");
        trainers.keep(&other).unwrap();
        assert!(!trainers.is_cancelled(&other));
        let now = Some(SystemTime::now());
        trainers.look(&other);
        assert!(!trainers.has_stopped(&other, now), "that was taken back");
        trainers.pause(&other).unwrap();
        std::fs::remove_file(other.join(STOP_FILE)).unwrap();
        trainers.look(&other);
        assert!(trainers.has_stopped(&other, now), "its trainer has taken the file");
        let config = std::fs::File::create(other.join("config.json")).unwrap();
        config.set_modified(SystemTime::now() - QUIET).unwrap();
        assert!(trainers.has_stopped(&other, now), "the configuration is that of the trainer that has left");
        config.set_modified(SystemTime::now() + SLACK).unwrap();
        assert!(!trainers.has_stopped(&other, now), "another trainer has begun, and has not reported yet");
        std::fs::remove_file(other.join("config.json")).unwrap();
        let later = SystemTime::now() + 2 * QUIET;
        assert!(!trainers.has_stopped(&other, Some(later)), "it reports again");
        let keys = trainers.keys(&script("echo '{\"keys\": []}'")).await.unwrap();
        assert_eq!(keys, serde_json::json!({"keys": []}));
        let error = trainers.keys(&script("echo unknown preset >&2; exit 1")).await.unwrap_err().to_string();
        assert!(error.contains("unknown preset"), "{error}");
    }

    #[tokio::test]
    async fn a_trainer_that_overlooks_the_cancelling_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("new");
        let trainers = Trainers::new(Some("/bin/sh".into()));
        // It removes the first file unseen, as one that begins, and ends at the second.
        let stop = run.join(STOP_FILE).display().to_string();
        let script = format!("for i in 1 2; do until rm {stop} 2> {stop}.log; do sleep 0.01; done; done");
        trainers.start(&run, &["-c".to_owned(), script]).unwrap();
        trainers.look(&run);
        assert_eq!(trainers.control(&run), RunControl::Started, "it is not cancelled yet");
        trainers.cancel(&run, false, None).unwrap();
        while trainers.control(&run) != RunControl::Free {
            trainers.look(&run);
            tokio::task::yield_now().await;
        }
        assert_eq!(trainers.failure(&run), None);
    }
}
