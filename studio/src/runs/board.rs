//! All runs that are followed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::watch;

use super::follow::{RunFollower, RunKind};
use super::series::Point;
use super::thin::thinned;

/// How often the folders are looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A run as the page lists it.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    /// Its number.
    pub id: usize,
    /// The folder's name.
    pub name: String,
    /// The kind, once it is known.
    pub kind: Option<RunKind>,
    /// Lines that were read.
    pub lines: usize,
    /// Whole lines that could not be read.
    pub damaged: usize,
    /// Seconds since 1970 of the last report.
    pub modified_s: Option<u64>,
    /// Why nothing can be read.
    pub problem: Option<String>,
    /// Steps or iterations done.
    pub done: Option<f64>,
    /// Samples learnt.
    pub samples: Option<f64>,
    /// Samples to learn.
    pub total_samples: Option<f64>,
    /// Speed.
    pub samples_per_s: Option<f64>,
    /// Learning rate.
    pub lr: Option<f64>,
    /// Seconds of training.
    pub time_s: Option<f64>,
    /// Seconds left.
    pub seconds_left: Option<f64>,
}

/// The runs, and the task that reads them.
#[derive(Clone, Debug)]
pub struct RunBoard {
    runs: Arc<Mutex<Vec<RunFollower>>>,
    /// The list, [`RunView`]s as JSON.
    pub list: watch::Receiver<Arc<str>>,
}

/// A curve with its name.
pub type NamedCurve = (String, Vec<Point>);

impl RunBoard {
    /// Follows the runs in these folders.
    pub fn start(folders: Vec<PathBuf>) -> RunBoard {
        let runs: Vec<RunFollower> = folders.into_iter().map(RunFollower::new).collect();
        let is_empty = runs.is_empty();
        let runs = Arc::new(Mutex::new(runs));
        let (out, list) = watch::channel(Arc::from("[]"));
        let board = RunBoard { runs, list };
        if !is_empty {
            let board = board.clone();
            tokio::spawn(async move {
                while !out.is_closed() {
                    let reader = board.clone();
                    let read = tokio::task::spawn_blocking(move || reader.read()).await;
                    if let Ok(Some(text)) = read {
                        out.send_replace(Arc::from(text));
                    }
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            });
        }
        board
    }

    /// A panic elsewhere does not make the curves wrong.
    fn lock(&self) -> MutexGuard<'_, Vec<RunFollower>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is new: the list as JSON, if something has changed.
    fn read(&self) -> Option<String> {
        let mut runs = self.lock();
        let changed = runs.iter_mut().fold(false, |changed, run| run.poll() | changed);
        let views: Vec<RunView> = runs.iter().enumerate().map(|(id, run)| view(id, run)).collect();
        changed.then(|| serde_json::to_string(&views).expect("views can be written as JSON"))
    }

    /// The curves of a run, each thinned out to `points`; `None` if there is no such run.
    pub fn curves(&self, id: usize, points: usize) -> Option<Vec<NamedCurve>> {
        let runs = self.lock();
        let curves = runs.get(id)?.series().curves();
        Some(curves.iter().map(|(name, curve)| (name.clone(), thinned(curve, points))).collect())
    }
}

fn view(id: usize, run: &RunFollower) -> RunView {
    let folder = run.folder();
    let last = |name: &str| run.series().last(name);
    let name =
        folder.file_name().map_or_else(|| folder.display().to_string(), |n| n.to_string_lossy().into());
    RunView {
        id,
        name,
        kind: run.kind(),
        lines: run.lines(),
        damaged: run.damaged(),
        modified_s: run.modified().and_then(|time| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())),
        problem: run.problem().map(str::to_owned),
        done: last("step").or_else(|| last("iteration")),
        samples: last("samples"),
        total_samples: run.total_samples(),
        samples_per_s: last("samples_per_s"),
        lr: last("lr"),
        time_s: last("time_s"),
        seconds_left: run.seconds_left(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_list_changes_with_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("first");
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("metrics.jsonl"), "{\"step\":1,\"lr\":0.5}\n{\"step\":2,\"lr\":0.25}\n")
            .unwrap();
        let mut board = RunBoard::start(vec![run]);
        board.list.changed().await.unwrap();
        let list: serde_json::Value = serde_json::from_str(&board.list.borrow()).unwrap();
        assert_eq!(
            (&list[0]["name"], &list[0]["lr"], &list[0]["done"]),
            (&"first".into(), &0.25.into(), &2.0.into())
        );
        let curves = board.curves(0, 100).unwrap();
        assert_eq!(curves[0], ("lr".to_owned(), vec![(1.0, 0.5), (2.0, 0.25)]));
        assert!(board.curves(1, 100).is_none());
    }
}
