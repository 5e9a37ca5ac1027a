//! Worker threads that play self-play games, and the collector that stores them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use engine::eval::{Answer, CachedEvaluator, EvalCache, EvalError, Evaluator, Request};
use indicatif::{HumanCount, ProgressBar};

use super::game::{FinishedGame, SelfPlayGame, SelfPlaySetup};
use super::stats::SelfPlayStats;
use crate::config::{SelfPlayRules, worker_count};
use crate::datagen::StartPositions;
use crate::dataset::{PendingGame, Store};
use crate::gameplay::{Backend, OpeningsAndTables, drive};
use crate::record::{GameRecord, RngStream, stream_rng};

/// How often the collector checks the clock and the stop flag.
const POLL_EVERY: Duration = Duration::from_millis(100);
/// Without a terminal, progress is logged this often.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// The networks that play.
#[derive(Clone)]
pub struct SelfPlayNetworks {
    /// The network that plays against itself.
    pub network: Arc<dyn Backend>,
    /// Another network that plays some of the games against itself instead, and their share.
    pub other: Option<(Arc<dyn Backend>, f64)>,
}

/// Which games to play, and how.
#[derive(Clone)]
pub struct SelfPlayPlan {
    /// How games are played.
    pub rules: SelfPlayRules,
    /// Seed of the games.
    pub seed: u64,
    /// Number of games, including those in the files already.
    pub games: u64,
}

/// The outcome of one call of [`play`]; games of earlier calls are not included unless said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfPlayReport {
    /// Statistics of the games.
    pub stats: SelfPlayStats,
    /// Positions evaluated, including those answered by the cache.
    pub evaluated: u64,
    /// Mean number of positions in a network's batch; the cache answers the others.
    pub batch: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Games in the files, including earlier ones.
    pub games: u64,
    /// Number of files.
    pub files: usize,
    /// Whether it was stopped before all games were finished.
    pub stopped: bool,
}

/// What the workers share.
struct SharedState<'a> {
    setup: Arc<SelfPlaySetup>,
    starts: StartPositions,
    networks: &'a SelfPlayNetworks,
    queue: Mutex<GameQueue>,
    /// Planned games that are not finished; at 0 all workers stop.
    left: AtomicU64,
    evaluated: AtomicU64,
    batches: Arc<BatchCounts>,
    halt: AtomicBool,
}

/// Counters of the networks' batches.
#[derive(Default)]
struct BatchCounts {
    count: AtomicU64,
    positions: AtomicU64,
}

impl BatchCounts {
    fn mean(&self) -> f64 {
        let [count, positions] =
            [&self.count, &self.positions].map(|number| number.load(Ordering::Relaxed) as f64);
        positions / count.max(1.0)
    }
}

/// An evaluator that counts its batches.
struct CountingEvaluator {
    inner: Box<dyn Evaluator>,
    batches: Arc<BatchCounts>,
}

impl Evaluator for CountingEvaluator {
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.batches.count.fetch_add(1, Ordering::Relaxed);
        self.batches.positions.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.inner.evaluate(batch)
    }
}

/// The games still to be played.
struct GameQueue {
    unfinished: VecDeque<PendingGame>,
    held: BTreeSet<u64>,
    next: u64,
    /// The first number that is not dealt.
    end: u64,
}

impl GameQueue {
    fn next(&mut self) -> Option<PendingGame> {
        if let Some(unfinished) = self.unfinished.pop_front() {
            return Some(unfinished);
        }
        while self.held.contains(&self.next) {
            self.next += 1;
        }
        let number = self.next;
        self.next += 1;
        (number < self.end).then(|| PendingGame { number, ..PendingGame::default() })
    }
}

/// What a worker sends to the collector.
enum WorkerMessage {
    Finished(FinishedGame),
    /// A game that was not finished when the worker had to stop.
    Unfinished(PendingGame),
    Failed(anyhow::Error),
}

/// Plays until `store` holds as many games as planned; `bar` counts them.
///
/// Raising `stop` ends it soon; unfinished games are stored too and continued by the next call. With one worker the same
/// plan makes the same games.
///
/// # Errors
///
/// The rules are invalid, the book or the tables cannot be read, a network fails, or a file cannot be written.
pub fn play(
    plan: &SelfPlayPlan,
    networks: &SelfPlayNetworks,
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<SelfPlayReport> {
    let rules = &plan.rules;
    rules.check()?;
    let OpeningsAndTables { starts, tables } =
        OpeningsAndTables::open(&rules.book, rules.random_plies, &rules.syzygy, plan.seed)?;
    let first = store.numbers().start;
    let end = first.saturating_add(plan.games);
    let next = first + store.games();
    let waiting = store.waiting().filter(|number| *number < end).count() as u64;
    let left = end.saturating_sub(next) - waiting;
    let queue = GameQueue { unfinished: store.begun().into(), held: store.held(), next, end };
    let shared = SharedState {
        setup: Arc::new(SelfPlaySetup { rules: rules.clone(), seed: plan.seed, tables }),
        starts,
        networks,
        queue: Mutex::new(queue),
        left: AtomicU64::new(left),
        evaluated: AtomicU64::new(0),
        batches: Arc::default(),
        halt: AtomicBool::new(left == 0),
    };
    // The settings are written before the first game.
    store.save()?;
    let begin = Instant::now();
    let (sender, messages) = unbounded();
    let mut stats = SelfPlayStats::default();
    let collected = thread::scope(|scope| {
        let shared = &shared;
        for number in 0..worker_count(rules.workers) {
            let sender = sender.clone();
            let work = move || {
                if let Err(error) = work(shared, &sender) {
                    // The collector is gone only if another worker has failed already.
                    _ = sender.send(WorkerMessage::Failed(error));
                }
            };
            let worker = thread::Builder::new().name(format!("self-play-{number}"));
            worker.spawn_scoped(scope, work).context("cannot start a thread to play on")?;
        }
        drop(sender);
        let collected = collect(shared, &mut store, &mut stats, &messages, bar, stop);
        shared.halt.store(true, Ordering::Relaxed);
        collected
    });
    bar.finish_and_clear();
    let games = store.games();
    let files = store.close();
    collected?;
    Ok(SelfPlayReport {
        stats,
        evaluated: shared.evaluated.load(Ordering::Relaxed),
        batch: shared.batches.mean(),
        seconds: begin.elapsed().as_secs_f64(),
        games,
        files: files?,
        stopped: games < plan.games,
    })
}

/// Plays games on the present thread until there are no more.
fn work(shared: &SharedState<'_>, sender: &Sender<WorkerMessage>) -> Result<()> {
    let rules = &shared.setup.rules;
    let both =
        std::iter::once(&shared.networks.network).chain(shared.networks.other.iter().map(|(other, _)| other));
    let mut evaluators =
        both.map(|network| evaluator(network.as_ref(), shared)).collect::<Result<Vec<_>>>()?;
    let mut failure = None;
    let mut deal = || {
        let unfinished = shared.queue.lock().unwrap_or_else(PoisonError::into_inner).next()?;
        start_game(shared, unfinished).map_err(|error| failure = Some(error)).ok()
    };
    let mut done = |finished: FinishedGame| {
        // Here and not in the collector, so that a single worker always stops at the same moment.
        if shared.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            shared.halt.store(true, Ordering::Relaxed);
        }
        _ = sender.send(WorkerMessage::Finished(finished));
    };
    let mut evaluated = |count: usize| {
        shared.evaluated.fetch_add(count as u64, Ordering::Relaxed);
    };
    let at_once = (rules.games, rules.leaves);
    let left = drive(&mut evaluators, at_once, &mut deal, &mut done, &mut evaluated, &shared.halt);
    for game in left? {
        let (number, game) = game.into_parts();
        _ = sender.send(WorkerMessage::Unfinished(PendingGame {
            number,
            done: game.moves.len(),
            game,
            finished: false,
        }));
    }
    failure.map_or(Ok(()), Err)
}

/// An evaluator for one worker, with a cache unless the rules say none or it would cost more than it saves.
fn evaluator(network: &dyn Backend, shared: &SharedState<'_>) -> Result<Box<dyn Evaluator>> {
    let rules = &shared.setup.rules;
    let inner = network.evaluator(rules.games * rules.leaves)?;
    let evaluator = CountingEvaluator { inner, batches: Arc::clone(&shared.batches) };
    Ok(match (rules.cache, network.cached_input()) {
        (0, _) | (_, None) => Box::new(evaluator),
        (cache, Some(input)) => {
            Box::new(CachedEvaluator::new(evaluator, input, Arc::new(EvalCache::new(cache << 20))))
        }
    })
}

/// StartPositions or continues a game.
fn start_game(shared: &SharedState<'_>, unfinished: PendingGame) -> Result<SelfPlayGame> {
    let PendingGame { number, game, .. } = unfinished;
    let record = if game.moves.is_empty() {
        GameRecord { start: shared.starts.without_engine(number)?, ..GameRecord::default() }
    } else {
        game
    };
    let share = shared.networks.other.as_ref().map_or(0.0, |(_, share)| *share);
    let evaluator = usize::from(is_others(share, shared.setup.seed, number));
    Ok(SelfPlayGame::new(Arc::clone(&shared.setup), number, evaluator, record))
}

/// Whether the other network plays this game, if it has this share of them.
pub fn is_others(share: f64, seed: u64, number: u64) -> bool {
    stream_rng(RngStream::Network, seed, number, 0).f64() < share
}

/// The network that plays this game.
pub fn network_of(networks: &SelfPlayNetworks, seed: u64, number: u64) -> &dyn Backend {
    let other = networks.other.as_ref().filter(|(_, share)| is_others(*share, seed, number));
    other.map_or(&*networks.network, |(other, _)| &**other)
}

/// Stores what the workers send until all of them have ended.
fn collect(
    shared: &SharedState<'_>,
    store: &mut Store,
    stats: &mut SelfPlayStats,
    messages: &Receiver<WorkerMessage>,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<()> {
    let started = Instant::now();
    let (mut saved, mut logged, mut failure) = (started, started, None);
    loop {
        if stop.load(Ordering::Relaxed) {
            shared.halt.store(true, Ordering::Relaxed);
        }
        let first = match messages.recv_timeout(POLL_EVERY) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        };
        for message in first.into_iter().chain(messages.try_iter()) {
            match message {
                WorkerMessage::Finished(finished) => {
                    stats.add(&finished);
                    bar.inc(1);
                    let FinishedGame { number, game, .. } = finished;
                    let done = game.moves.len();
                    store.push(PendingGame { number, done, game, finished: true })?;
                }
                WorkerMessage::Unfinished(unfinished) => store.push(unfinished)?,
                WorkerMessage::Failed(error) => {
                    shared.halt.store(true, Ordering::Relaxed);
                    failure = failure.or(Some(error));
                }
            }
        }
        let hours = started.elapsed().as_secs_f64().max(1e-3) / 3600.0;
        let per_hour = |count: u64| HumanCount((count as f64 / hours) as u64);
        let evaluated = shared.evaluated.load(Ordering::Relaxed);
        bar.set_message(format!(
            "{} positions/h, {} games/h, {:.0} evaluations/s",
            per_hour(stats.plies),
            per_hour(stats.games),
            evaluated as f64 / hours / 3600.0
        ));
        bar.tick();
        if bar.is_hidden() && logged.elapsed() >= LOG_EVERY {
            logged = Instant::now();
            let total = HumanCount(bar.length().unwrap_or(0));
            log::info!("{}/{total} games, {}", HumanCount(bar.position()), bar.message());
        }
        if saved.elapsed() >= store.save_every() {
            store.save()?;
            saved = Instant::now();
        }
    }
}
