//! A pool of UCI engines, one thread each, whose results are stored in the order of game numbers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use indicatif::ProgressBar;
use thiserror::Error;

use super::{EngineCommand, EngineError, UciEngine};
use crate::data::dataset::{PendingGame, Store};
use crate::data::record::GameRecord;

/// Consecutive failures at one ply before the run fails.
const MAX_FAILURES: u32 = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Error)]
pub enum TaskError {
    /// The engine failed, or the stop flag is set.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A failure that a restart of the engine does not mend.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

pub trait EngineTask: Sync {
    fn progress_of(&self, game: &GameRecord) -> u64;

    /// Whether this run finishes a game that an earlier one began.
    fn continues(&self, _number: u64) -> bool {
        true
    }

    /// Sends the games from number `from` on, except `held`, in order until `send` returns false.
    fn queue(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        stop: &AtomicBool,
        send: &mut dyn FnMut(PendingGame) -> bool,
    ) -> anyhow::Result<()>;

    /// Finishes a game; `pending.done` counts finished plies. After an error or a set `stop`, `pending` can be
    /// continued.
    fn process(
        &self,
        pending: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), TaskError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagenSummary {
    /// In the files.
    pub games: u64,
    /// Finished, but not in the files until earlier games are finished.
    pub waiting: u64,
    pub files: usize,
    pub stopped: bool,
}

/// Runs a task on `engines` engines at once and stores the games, also if the run fails. Setting `stop` ends the run
/// soon, and unfinished games are stored as they are.
pub fn run_tasks(
    task: &impl EngineTask,
    (command, engines): (&EngineCommand, usize),
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> anyhow::Result<DatagenSummary> {
    let halt = AtomicBool::new(false);
    let (queue, queued) = bounded(0);
    let (report, reports) = unbounded();
    let held = store.held();
    let begun = store.begun();
    let from = store.games();
    let (collected, all_queued) = thread::scope(|scope| {
        let halt = &halt;
        let producer = scope.spawn(move || {
            let mut send = |pending: PendingGame| queue.send(pending).is_ok();
            let mut begun = begun.into_iter().filter(|pending| task.continues(pending.number));
            if begun.all(&mut send) { task.queue(from, &held, halt, &mut send) } else { Ok(()) }
        });
        for _ in 0..engines {
            let (queued, report) = (queued.clone(), report.clone());
            scope.spawn(move || engine_worker(task, command, &queued, &report, halt));
        }
        drop((queued, report));
        let collected = collect(task, &mut store, &reports, bar, stop, halt);
        halt.store(true, Ordering::Relaxed);
        (collected, producer.join().expect("queueing does not panic"))
    });
    bar.finish_and_clear();
    let (games, waiting) = (store.games(), store.waiting().count() as u64);
    let closed = store.close();
    collected.and(all_queued)?;
    Ok(DatagenSummary { games, waiting, files: closed?, stopped: stop.load(Ordering::Relaxed) })
}

type WorkerReport = (PendingGame, Option<anyhow::Error>);

fn engine_worker(
    task: &impl EngineTask,
    command: &EngineCommand,
    queued: &Receiver<PendingGame>,
    report: &Sender<WorkerReport>,
    halt: &AtomicBool,
) {
    let mut engine = None;
    for mut pending in queued {
        let outcome = process_with_restarts(task, command, &mut engine, &mut pending, halt);
        let ended = !pending.finished;
        if report.send((pending, outcome.err())).is_err() || ended {
            return;
        }
    }
}

/// Returns without an error when `halt` is set.
fn process_with_restarts(
    task: &impl EngineTask,
    command: &EngineCommand,
    engine: &mut Option<UciEngine>,
    pending: &mut PendingGame,
    halt: &AtomicBool,
) -> anyhow::Result<()> {
    let mut failures = 0;
    loop {
        let before = pending.done;
        let attempt = match engine.take() {
            Some(running) => Ok(running),
            None => UciEngine::start(command, halt),
        }
        .map_err(TaskError::from)
        .and_then(|running| task.process(pending, engine.insert(running), halt));
        let PendingGame { number, done, .. } = *pending;
        let error = match attempt {
            Ok(()) => {
                pending.finished = true;
                return Ok(());
            }
            Err(TaskError::Engine(EngineError::Interrupted)) => return Ok(()),
            Err(TaskError::Engine(error @ EngineError::Failed(..))) => error,
            Err(TaskError::Engine(error)) => return Err(error.into()),
            Err(TaskError::Other(error)) => {
                return Err(error.context(format!("in game {number} at ply {done}")));
            }
        };
        *engine = None;
        failures = if done > before { 1 } else { failures + 1 };
        if failures == MAX_FAILURES {
            bail!("{error}, {MAX_FAILURES} times in game {number} at ply {done}");
        }
        log::warn!("{error} in game {number} at ply {done}; restarted");
    }
}

fn collect(
    task: &impl EngineTask,
    store: &mut Store,
    reports: &Receiver<WorkerReport>,
    bar: &ProgressBar,
    stop: &AtomicBool,
    halt: &AtomicBool,
) -> anyhow::Result<()> {
    let (mut saved, mut failure) = (Instant::now(), None);
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        match reports.recv_timeout(POLL_INTERVAL) {
            Ok(first) => {
                for (pending, error) in std::iter::once(first).chain(reports.try_iter()) {
                    if pending.finished {
                        bar.inc(task.progress_of(&pending.game));
                    }
                    store.push(pending)?;
                    if error.is_some() {
                        halt.store(true, Ordering::Relaxed);
                        failure = failure.or(error);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        }
        if saved.elapsed() >= store.save_every() {
            store.save()?;
            saved = Instant::now();
            if bar.is_hidden() {
                log::info!("saved: {}/{}", bar.position(), bar.length().unwrap_or(0));
            }
        }
    }
}
