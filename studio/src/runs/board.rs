use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::control::{RunCommand, RunControl, Trainers};
use super::follow::{RunFollower, RunKind};
use super::order::{KeysQuery, RunOrder, networks_in, runs_in};
use super::series::Point;
use super::smooth::smoothed;
use super::thin::thinned;
use crate::boards::{Boards, LiveBoard};
use crate::play::ActionError;

/// `rl` writes its boards twice a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunView {
    pub id: usize,
    pub name: String,
    pub kind: Option<RunKind>,
    pub lines: usize,
    /// Share of the file that was read, 0 to 1.
    pub read: f64,
    pub damaged: usize,
    /// Time of the last report, in seconds since 1970.
    pub modified_s: Option<u64>,
    /// Why nothing can be read.
    pub problem: Option<String>,
    /// Steps or iterations.
    pub done: Option<f64>,
    pub samples: Option<f64>,
    pub total_samples: Option<f64>,
    pub samples_per_s: Option<f64>,
    pub positions_per_h: Option<f64>,
    pub lr: Option<f64>,
    /// KL divergence of the policy from the first network's.
    pub kl: Option<f64>,
    /// `warning` or `alarm` if the divergence exceeds the configured bounds.
    pub kl_state: Option<&'static str>,
    /// In positions.
    pub buffer: Option<f64>,
    pub time_s: Option<f64>,
    pub seconds_left: Option<f64>,
    /// Of an `rl` run.
    pub stage: Option<String>,
    pub boards: Vec<String>,
    pub control: RunControl,
    pub finished: bool,
    /// It has been paused or has ended, or probably so, because no reports come.
    pub quiet: bool,
    /// No trainer works on it, as far as is known here.
    pub stopped: bool,
    pub can_resume: bool,
    pub cancelled: bool,
    /// The last words of a trainer that was started here and failed.
    pub failure: Option<String>,
}

/// The folders that the command line names for runs and networks.
#[derive(Clone, Debug, Default)]
pub struct RunFolders {
    /// Followed one by one.
    pub runs: Vec<PathBuf>,
    /// All its runs are followed, and new ones started.
    pub all: Option<PathBuf>,
    /// Networks to choose among.
    pub networks: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct RunBoard {
    folders: Arc<RunFolders>,
    runs: Arc<Mutex<Vec<RunFollower>>>,
    trainers: Trainers,
    boards: Boards,
    pub list: watch::Receiver<Arc<str>>,
}

/// Whether a `train` run has trained on all its samples. The metrics of an `rl` run do not tell its end.
fn is_finished(run: &RunFollower) -> bool {
    let done = run.series().last("samples").zip(run.total_samples());
    run.kind() != Some(RunKind::Rl) && done.is_some_and(|(samples, total)| total > 0.0 && samples >= total)
}

pub type NamedCurve = (String, Vec<Point>);

impl RunBoard {
    pub fn start(folders: RunFolders, trainers: Trainers, boards: Boards) -> RunBoard {
        let found = folders.all.iter().flat_map(|folder| runs_in(folder));
        let mut paths: Vec<PathBuf> = folders.runs.clone();
        paths.extend(found.filter(|path| !folders.runs.contains(path)));
        let runs: Vec<RunFollower> = paths.into_iter().map(RunFollower::new).collect();
        let is_followed = !runs.is_empty() || folders.all.is_some();
        let (runs, folders) = (Arc::new(Mutex::new(runs)), Arc::new(folders));
        let (out, list) = watch::channel(Arc::from("[]"));
        let board = RunBoard { folders, runs, trainers, boards, list };
        if is_followed {
            let board = board.clone();
            tokio::spawn(async move {
                while !out.is_closed() {
                    let reader = board.clone();
                    let Ok((views, more)) = tokio::task::spawn_blocking(move || reader.read()).await else {
                        return;
                    };
                    let text = serde_json::to_string(&views).expect("views can be written as JSON");
                    out.send_if_modified(|present| {
                        let changed = **present != *text;
                        if changed {
                            *present = Arc::from(text);
                        }
                        changed
                    });
                    if !more {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                }
            });
        }
        board
    }

    /// The data stays valid if a holder of the lock panics.
    fn lock(&self) -> MutexGuard<'_, Vec<RunFollower>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a part of each file. Returns the list, and whether there is more to read.
    fn read(&self) -> (Vec<RunView>, bool) {
        let mut runs = self.lock();
        let mut more = false;
        for (id, run) in runs.iter_mut().enumerate() {
            let looked = run.poll();
            self.trainers.look(run.folder());
            more |= looked.more;
            if looked.changed {
                let named = |(game, board): &(u64, LiveBoard)| (format!("run/{id}/{game}"), board.clone());
                let boards: Vec<_> = run.live().boards.iter().map(named).collect();
                self.boards.replace(&format!("run/{id}/"), &boards);
            }
        }
        (runs.iter().enumerate().map(|(id, run)| self.view(id, run)).collect(), more)
    }

    /// Smooths each curve over a share of the run (0 for not), and thins it to `points`; `None` if there is no such
    /// run.
    pub fn curves(&self, id: usize, points: usize, smoothing: f64) -> Option<Vec<NamedCurve>> {
        // Smoothing is slow, so it works on a copy, without the lock.
        let mut curves: Vec<NamedCurve> = {
            let runs = self.lock();
            runs.get(id)?.series().curves().map(|(name, curve)| (name.to_owned(), curve.to_vec())).collect()
        };
        for (_, curve) in &mut curves {
            *curve = match smoothing > 0.0 {
                true => thinned(&smoothed(curve, smoothing), points),
                false => thinned(curve, points),
            };
        }
        Some(curves)
    }

    /// `None` if there is no such run.
    pub fn details(&self, id: usize) -> Option<Value> {
        let runs = self.lock();
        let run = runs.get(id)?;
        let rl = (run.kind() == Some(RunKind::Rl)).then(|| run.rl().view());
        Some(json!({ "reliability": run.reliability(), "rl": rl }))
    }

    /// `None` if there is no such run.
    pub fn metrics_file(&self, id: usize) -> Option<PathBuf> {
        Some(self.lock().get(id)?.folder().join("metrics.jsonl"))
    }

    pub fn act(&self, id: usize, command: RunCommand) -> Result<(), ActionError> {
        let runs = self.lock();
        let none = || {
            ActionError::Invalid("There is no such run: the server follows those of --run and --runs.".into())
        };
        let run = runs.get(id).ok_or_else(none)?;
        let active = run.active();
        match command {
            RunCommand::Pause if is_finished(run) => {
                Err(ActionError::NotNow("The run is finished: there is nothing to pause.".into()))
            }
            RunCommand::Pause if self.trainers.has_stopped(run.folder(), active) => {
                Err(ActionError::NotNow("The trainer has stopped already: there is nothing to pause.".into()))
            }
            RunCommand::Pause => self.trainers.pause(run.folder()),
            RunCommand::Cancel if is_finished(run) => {
                Err(ActionError::NotNow("The run is finished: there is nothing to cancel.".into()))
            }
            RunCommand::Cancel => self.trainers.cancel(run.folder(), run.is_quiet(), active),
            RunCommand::Keep => self.trainers.keep(run.folder()),
            RunCommand::Resume => {
                // Before its first report, the state tells a run of `rl`.
                let is_rl = || run.folder().join("state.json").exists();
                let kind = run.kind().unwrap_or(if is_rl() { RunKind::Rl } else { RunKind::Train });
                self.trainers.resume(run.folder(), kind, active)
            }
        }
    }

    /// Starts a run, and follows it. Returns its number.
    pub fn begin(&self, order: &RunOrder) -> Result<usize, ActionError> {
        order.check()?;
        let none = || {
            ActionError::NotNow(
                "Runs are started where the studio knows a folder for them: --runs DIR.".into(),
            )
        };
        let folder = self.folders.all.as_ref().ok_or_else(none)?.join(&order.name);
        self.trainers.start(&folder, &order.arguments(&folder))?;
        let mut runs = self.lock();
        runs.push(RunFollower::new(folder));
        Ok(runs.len() - 1)
    }

    /// The trainer's table of keys, and the networks that may stand in it.
    pub async fn keys(&self, query: &KeysQuery) -> Result<Value, ActionError> {
        let mut table = self.trainers.keys(&query.arguments()?).await?;
        let networks = self.folders.networks.iter().flat_map(|folder| networks_in(folder));
        table["networks"] = networks.map(|path| path.display().to_string()).collect();
        table["folder"] = self.folders.all.as_ref().map(|folder| folder.display().to_string()).into();
        Ok(table)
    }

    fn view(&self, id: usize, run: &RunFollower) -> RunView {
        let folder = run.folder();
        let last = |name: &str| run.series().last(name);
        let name =
            folder.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into());
        let bounds = run.rl().bounds();
        let above = |bound: Option<f64>| last("kl").zip(bound).is_some_and(|(kl, bound)| kl > bound);
        let is_rl = run.kind() == Some(RunKind::Rl);
        let control = self.trainers.control(folder);
        let stopped = control == RunControl::Free && self.trainers.has_stopped(folder, run.active());
        RunView {
            id,
            name,
            kind: run.kind(),
            lines: run.lines(),
            read: run.share_read(),
            damaged: run.damaged(),
            modified_s: run.modified().and_then(|time| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())),
            problem: run.problem().map(str::to_owned),
            done: last("step").or_else(|| last("iteration")),
            samples: last("samples"),
            total_samples: run.total_samples(),
            samples_per_s: last("samples_per_s").or_else(|| last("learn.samples_per_s")),
            positions_per_h: last("play.positions_per_h"),
            lr: last("lr"),
            kl: last("kl"),
            kl_state: match (above(bounds.alarm), above(bounds.warn)) {
                (true, _) => Some("alarm"),
                (false, true) => Some("warning"),
                (false, false) => None,
            },
            buffer: last("buffer"),
            time_s: last("time_s"),
            seconds_left: run.seconds_left(),
            stage: is_rl.then(|| {
                let (iteration, stage) = run.rl().stage();
                format!("{stage}, iteration {iteration}")
            }),
            boards: run.live().boards.iter().map(|(game, _)| format!("run/{id}/{game}")).collect(),
            control,
            finished: is_finished(run),
            quiet: stopped || run.is_quiet(),
            stopped,
            can_resume: self.trainers.can_resume(),
            cancelled: self.trainers.is_cancelled(folder),
            failure: self.trainers.failure(folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(run: PathBuf) -> RunFolders {
        RunFolders { runs: vec![run], ..RunFolders::default() }
    }

    #[tokio::test]
    async fn a_run_is_begun_only_where_there_is_a_folder_for_runs_and_is_then_followed() {
        let folder = tempfile::tempdir().unwrap();
        let order: RunOrder =
            serde_json::from_value(json!({"command": "train", "preset": "first", "name": "new"})).unwrap();
        let trainers = || Trainers::new(Some("/bin/true".into()));
        let closed = RunBoard::start(RunFolders::default(), trainers(), Boards::default());
        assert!(closed.begin(&order).unwrap_err().to_string().contains("--runs DIR"));
        let folders = RunFolders { all: Some(folder.path().to_owned()), ..RunFolders::default() };
        let mut board = RunBoard::start(folders, trainers(), Boards::default());
        assert_eq!(board.begin(&order).unwrap(), 0);
        assert!(board.begin(&order).is_err(), "the name is taken");
        let is_listed = |list: &str| list.contains("\"name\":\"new\"");
        while !is_listed(&board.list.borrow_and_update().clone()) {
            board.list.changed().await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_list_changes_with_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("first");
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("metrics.jsonl"), "{\"step\":1,\"lr\":0.5}\n{\"step\":2,\"lr\":0.25}\n")
            .unwrap();
        let mut board = RunBoard::start(followed(run), Trainers::default(), Boards::default());
        board.list.changed().await.unwrap();
        let list: serde_json::Value = serde_json::from_str(&board.list.borrow()).unwrap();
        assert_eq!(
            (&list[0]["name"], &list[0]["lr"], &list[0]["done"]),
            (&"first".into(), &0.25.into(), &2.0.into())
        );
        let curves = board.curves(0, 100, 0.0).unwrap();
        assert_eq!(curves[0], ("lr".to_owned(), vec![(1.0, 0.5), (2.0, 0.25)]));
        assert_eq!(board.curves(0, 100, 0.001).unwrap()[0].1, [(1.0, 0.5), (2.0, 0.25)]);
        assert!(board.curves(0, 100, 1.0).unwrap()[0].1[1].1 > 0.3);
        assert!(board.curves(1, 100, 0.0).is_none());
    }

    #[tokio::test]
    async fn a_run_whose_trainer_has_ended_is_quiet_at_once_and_not_paused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("config.json", "{\"samples\": 200}");
        write("metrics.jsonl", "{\"step\":1,\"samples\":100,\"samples_per_s\":1}\n");
        let trainers = Trainers::new(Some("/bin/true".into()));
        let started = trainers.clone();
        let board = RunBoard::start(followed(folder.path().to_owned()), trainers, Boards::default());
        let view = || serde_json::to_value(&board.read().0[0]).unwrap();
        assert_eq!((&view()["quiet"], &view()["stopped"]), (&false.into(), &false.into()));
        started.resume(folder.path(), RunKind::Train, None).unwrap();
        while started.control(folder.path()) == RunControl::Started {
            tokio::task::yield_now().await;
        }
        assert_eq!((&view()["quiet"], &view()["stopped"]), (&true.into(), &true.into()));
        let error = board.act(0, RunCommand::Pause).unwrap_err().to_string();
        assert!(error.contains("has stopped already"), "{error}");
        assert!(!folder.path().join("stop").exists());
    }

    #[tokio::test]
    async fn a_finished_run_is_not_paused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("config.json", "{\"samples\": 200}");
        write("metrics.jsonl", "{\"step\":1,\"samples\":100}\n{\"step\":2,\"samples\":200}\n");
        let mut board =
            RunBoard::start(followed(folder.path().to_owned()), Trainers::default(), Boards::default());
        board.list.changed().await.unwrap();
        let list: serde_json::Value = serde_json::from_str(&board.list.borrow()).unwrap();
        assert_eq!((&list[0]["samples"], &list[0]["finished"]), (&200.0.into(), &true.into()));
        assert!(matches!(board.act(0, RunCommand::Pause), Err(ActionError::NotNow(_))));
        assert!(!folder.path().join("stop").exists());
    }
}
