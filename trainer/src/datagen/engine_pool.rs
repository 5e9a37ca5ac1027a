//! Several engines at work on many games: dealt by number, collected in their order, saved as they come.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use indicatif::{HumanCount, ProgressBar};

use super::uci_engine::{EngineCommand, EngineError, UciEngine};
use crate::dataset::{PendingGame, Store};
use crate::record::GameRecord;

/// An engine that fails so often at one position isn't started again.
const FAILURES: u32 = 3;
/// How often the collector looks at the clock and whether it shall stop.
const GLANCE: Duration = Duration::from_millis(100);

/// What is done with games.
pub trait EngineTask: Sync {
    /// How much of the work a game is.
    fn weight(&self, game: &GameRecord) -> u64;

    /// Hands out the games from number `from` on, in order, without those in `held`, until there are no more or
    /// `take` says no.
    ///
    /// # Errors
    ///
    /// One line: what can't be read.
    fn deal(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        stop: &AtomicBool,
        take: &mut dyn FnMut(PendingGame) -> bool,
    ) -> Result<(), String>;

    /// Works on a game until it is finished.
    ///
    /// # Errors
    ///
    /// If the engine fails or `stop` is raised; the hand is then as far as it came.
    fn work(
        &self,
        hand: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError>;
}

/// What a harvest came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagenSummary {
    /// Games in the files.
    pub games: u64,
    /// Files.
    pub files: usize,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Has the engines do the work and stores what comes of it; `bar` counts its weight.
///
/// Raising `stop` ends it soon, without a loss: games that aren't finished are kept as far as they are.
///
/// # Errors
///
/// One line: an engine can't be started or fails again and again, games can't be read or written. What was
/// finished is kept then, too.
pub fn run_tasks(
    work: &impl EngineTask,
    (command, engines): (&EngineCommand, usize),
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<DatagenSummary, String> {
    let halt = AtomicBool::new(false);
    let (hand_out, to_do) = bounded(0);
    let (report, reports) = unbounded();
    let held = store.held();
    let begun = store.begun();
    let from = store.games();
    let (collected, dealt) = thread::scope(|scope| {
        let halt = &halt;
        let dealer = scope.spawn(move || {
            let mut take = |hand: PendingGame| hand_out.send(hand).is_ok();
            if begun.into_iter().all(&mut take) { work.deal(from, &held, halt, &mut take) } else { Ok(()) }
        });
        for _ in 0..engines {
            let (to_do, report) = (to_do.clone(), report.clone());
            scope.spawn(move || engine_worker(work, command, &to_do, &report, halt));
        }
        drop((to_do, report));
        let collected = collect(work, &mut store, &reports, bar, stop, halt);
        halt.store(true, Ordering::Relaxed);
        (collected, dealer.join().expect("dealing doesn't panic"))
    });
    bar.finish_and_clear();
    let games = store.games();
    let closed = store.close();
    collected.and(dealt)?;
    Ok(DatagenSummary { games, files: closed?, stopped: stop.load(Ordering::Relaxed) })
}

/// A game that an engine is done with, and what went wrong with it.
type Report = (PendingGame, Option<String>);

fn engine_worker(
    work: &impl EngineTask,
    command: &EngineCommand,
    to_do: &Receiver<PendingGame>,
    report: &Sender<Report>,
    halt: &AtomicBool,
) {
    let mut engine = None;
    for mut hand in to_do {
        let outcome = persist(work, command, &mut engine, &mut hand, halt);
        let ended = !hand.finished;
        if report.send((hand, outcome.err())).is_err() || ended {
            return;
        }
    }
}

/// Works on a game with engines that may fail now and then. Told to halt it ends without an error.
fn persist(
    work: &impl EngineTask,
    command: &EngineCommand,
    engine: &mut Option<UciEngine>,
    hand: &mut PendingGame,
    halt: &AtomicBool,
) -> Result<(), String> {
    let mut failures = 0;
    loop {
        let before = hand.done;
        let attempt = match engine.take() {
            Some(running) => Ok(running),
            None => UciEngine::start(command, halt),
        }
        .and_then(|running| work.work(hand, engine.insert(running), halt));
        let error = match attempt {
            Ok(()) => {
                hand.finished = true;
                return Ok(());
            }
            Err(EngineError::Interrupted) => return Ok(()),
            Err(error @ EngineError::Failed(..)) => error,
            Err(error) => return Err(error.to_string()),
        };
        *engine = None;
        failures = if hand.done > before { 1 } else { failures + 1 };
        if failures == FAILURES {
            return Err(format!("{error}, {FAILURES} times in game {} at ply {}", hand.number, hand.done));
        }
        log::warn!("{error} in game {} at ply {}; started again", hand.number, hand.done);
    }
}

fn collect(
    work: &impl EngineTask,
    store: &mut Store,
    reports: &Receiver<Report>,
    bar: &ProgressBar,
    stop: &AtomicBool,
    halt: &AtomicBool,
) -> Result<(), String> {
    let started = Instant::now();
    let (mut saved, mut positions, mut failure) = (started, 0, None);
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        match reports.recv_timeout(GLANCE) {
            Ok(first) => {
                for (hand, error) in std::iter::once(first).chain(reports.try_iter()) {
                    if hand.finished {
                        positions += hand.game.moves.len() as u64;
                        bar.inc(work.weight(&hand.game));
                    }
                    store.push(hand)?;
                    if error.is_some() {
                        halt.store(true, Ordering::Relaxed);
                        failure = failure.or(error);
                    }
                }
                let rate = positions as f64 / started.elapsed().as_secs_f64().max(1e-3);
                bar.set_message(format!("{rate:.1} positions/s"));
            }
            Err(RecvTimeoutError::Timeout) => bar.tick(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        }
        if saved.elapsed() >= store.save_every() {
            store.save()?;
            saved = Instant::now();
            if bar.is_hidden() {
                log::info!(
                    "{}/{}, {}",
                    HumanCount(bar.position()),
                    HumanCount(bar.length().unwrap_or(0)),
                    bar.message()
                );
            }
        }
    }
}
