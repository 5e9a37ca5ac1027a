use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use engine::nets::eval::{Answer, CachedEvaluator, EvalCache, EvalError, Evaluator, Request};
use indicatif::{HumanCount, ProgressBar};

use super::game::{FinishedGame, SelfPlayGame, SelfPlaySetup};
use super::stats::SelfPlayStats;
use crate::base::network::Backend;
use crate::base::progress::games_per_hour;
use crate::config::{SelfPlayRules, worker_count};
use crate::data::datagen::StartPositions;
use crate::data::dataset::{PendingGame, Store};
use crate::data::record::{GameRecord, RngStream, stream_rng};
use crate::play::gameplay::{OpeningsAndTables, drive};

const POLL_EVERY: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct SelfPlayNetworks {
    pub network: Arc<dyn Backend>,
    /// A second network that plays itself in this share of the games.
    pub other: Option<(Arc<dyn Backend>, f64)>,
}

#[derive(Clone)]
pub struct SelfPlayPlan {
    pub rules: SelfPlayRules,
    pub seed: u64,
    /// Includes games already stored.
    pub games: u64,
}

/// Counts of one call of [`play`]; only `games`, `waiting` and `files` include earlier calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfPlayReport {
    pub stats: SelfPlayStats,
    /// Positions, including cache hits.
    pub evaluated: u64,
    /// Mean batch size, without cache hits.
    pub batch: f64,
    pub seconds: f64,
    /// In the files.
    pub games: u64,
    /// Finished, but not in the files until earlier games are finished.
    pub waiting: u64,
    pub files: usize,
    pub stopped: bool,
}

pub struct SelfPlayContext {
    setup: Arc<SelfPlaySetup>,
    starts: StartPositions,
    /// Without duplicates.
    networks: Vec<Arc<dyn Backend>>,
    /// Sorted by `first`.
    lineups: Vec<Lineup>,
    evaluated: AtomicU64,
    batches: Arc<BatchCounts>,
}

/// The networks of the games from number `first` on.
struct Lineup {
    first: u64,
    network: usize,
    /// Index and share of the second network.
    other: Option<(usize, f64)>,
}

impl SelfPlayContext {
    pub fn new(rules: &SelfPlayRules, seed: u64, networks: &SelfPlayNetworks) -> Result<SelfPlayContext> {
        rules.check()?;
        let OpeningsAndTables { starts, tables } =
            OpeningsAndTables::open(&rules.book, rules.random_plies, &rules.syzygy, seed)?;
        let context = SelfPlayContext {
            setup: Arc::new(SelfPlaySetup { rules: rules.clone(), seed, tables }),
            starts,
            networks: Vec::new(),
            lineups: Vec::new(),
            evaluated: AtomicU64::new(0),
            batches: Arc::default(),
        };
        Ok(context.and_from(0, networks))
    }

    /// Lets `networks` play from game `first` on, which must increase from call to call.
    pub fn and_from(mut self, first: u64, networks: &SelfPlayNetworks) -> SelfPlayContext {
        let network = self.index(&networks.network);
        let other = networks.other.as_ref().map(|(other, share)| (self.index(other), *share));
        self.lineups.push(Lineup { first, network, other });
        self
    }

    /// Adds the network if new.
    fn index(&mut self, network: &Arc<dyn Backend>) -> usize {
        self.networks.iter().position(|known| Arc::ptr_eq(known, network)).unwrap_or_else(|| {
            self.networks.push(Arc::clone(network));
            self.networks.len() - 1
        })
    }

    fn network_of(&self, number: u64) -> usize {
        let lineup =
            self.lineups.iter().rfind(|lineup| lineup.first <= number).expect("the first begins at 0");
        let other = lineup.other.filter(|(_, share)| is_others(*share, self.setup.seed, number));
        other.map_or(lineup.network, |(other, _)| other)
    }

    /// Positions, including cache hits.
    pub fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }

    /// Without cache hits.
    pub fn mean_batch(&self) -> f64 {
        self.batches.mean()
    }

    pub fn rules(&self) -> &SelfPlayRules {
        &self.setup.rules
    }
}

pub trait GameSource: Sync {
    /// `None` if no game is available now.
    fn next(&self) -> Result<Option<PendingGame>>;

    fn finished(&self, game: FinishedGame) -> Result<()>;

    /// Takes back a game that the worker had to abandon.
    fn unfinished(&self, game: PendingGame) -> Result<()>;

    /// Called by each worker after each round of evaluations.
    fn after_round(&self) -> Result<()> {
        Ok(())
    }
}

pub struct SelfPlayWorker<'a> {
    context: &'a SelfPlayContext,
    evaluators: Vec<Box<dyn Evaluator>>,
}

impl SelfPlayWorker<'_> {
    pub fn new(context: &SelfPlayContext) -> Result<SelfPlayWorker<'_>> {
        let networks = context.networks.iter();
        let evaluators = networks.map(|network| evaluator(&**network, context)).collect::<Result<_>>()?;
        Ok(SelfPlayWorker { context, evaluators })
    }

    /// Plays until no game is left or `halt` is set. A failure sets `halt`.
    pub fn play(&mut self, at_once: usize, source: &dyn GameSource, halt: &AtomicBool) -> Result<()> {
        let context = self.context;
        let failure = RefCell::new(None);
        let noted = |result: Result<()>| {
            if let Err(error) = result {
                failure.borrow_mut().get_or_insert(error);
                halt.store(true, Ordering::Relaxed);
            }
        };
        let mut deal =
            || match source.next().and_then(|next| next.map(|game| start(context, game)).transpose()) {
                Ok(game) => game,
                Err(error) => {
                    noted(Err(error));
                    None
                }
            };
        let mut done = |finished| noted(source.finished(finished));
        let mut evaluated = |count: usize| {
            context.evaluated.fetch_add(count as u64, Ordering::Relaxed);
            noted(source.after_round());
        };
        let at_once = (at_once, context.rules().leaves);
        let left = drive(&mut self.evaluators, at_once, &mut deal, &mut done, &mut evaluated, &|| {
            halt.load(Ordering::Relaxed)
        });
        match left {
            Ok(left) => {
                for game in left {
                    let (number, game) = game.into_parts();
                    let done = game.moves.len();
                    noted(source.unfinished(PendingGame { number, done, game, finished: false }));
                }
            }
            Err(error) => noted(Err(error.into())),
        }
        failure.into_inner().map_or(Ok(()), Err)
    }
}

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

pub struct GameQueue {
    unfinished: VecDeque<PendingGame>,
    held: BTreeSet<u64>,
    next: u64,
    /// End of the numbers to deal.
    end: u64,
}

impl GameQueue {
    /// Deals the first `games` games of the store, which keeps begun games after them.
    pub fn of(store: &Store, games: u64) -> GameQueue {
        let first = store.numbers().start;
        let (next, end) = (first + store.games(), first.saturating_add(games));
        let unfinished = store.begun().into_iter().filter(|game| game.number < end).collect();
        GameQueue { unfinished, held: store.held(), next, end }
    }

    /// Games already begun come first.
    pub fn deal(&mut self) -> Option<PendingGame> {
        if let Some(unfinished) = self.unfinished.pop_front() {
            return Some(unfinished);
        }
        if self.is_empty() {
            return None;
        }
        let number = self.next;
        self.next += 1;
        Some(PendingGame { number, ..PendingGame::default() })
    }

    pub fn is_empty(&mut self) -> bool {
        while self.held.contains(&self.next) {
            self.next += 1;
        }
        self.unfinished.is_empty() && self.next >= self.end
    }
}

enum WorkerMessage {
    Finished(FinishedGame),
    /// Unfinished when the worker had to stop.
    Unfinished(PendingGame),
    Failed(anyhow::Error),
}

/// The collector stores what this sends.
struct StoredGames<'a> {
    queue: &'a Mutex<GameQueue>,
    /// Planned games that are unfinished; at 0 all workers stop.
    left: &'a AtomicU64,
    halt: &'a AtomicBool,
    sender: Sender<WorkerMessage>,
}

impl GameSource for StoredGames<'_> {
    fn next(&self) -> Result<Option<PendingGame>> {
        Ok(self.queue.lock().unwrap_or_else(PoisonError::into_inner).deal())
    }

    fn finished(&self, game: FinishedGame) -> Result<()> {
        // Counted here, not in the collector, so that a single worker always stops at the same point.
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.halt.store(true, Ordering::Relaxed);
        }
        _ = self.sender.send(WorkerMessage::Finished(game));
        Ok(())
    }

    fn unfinished(&self, game: PendingGame) -> Result<()> {
        _ = self.sender.send(WorkerMessage::Unfinished(game));
        Ok(())
    }
}

/// Plays until `store` has the planned number of games, which `bar` counts. Setting `stop` stores the unfinished games
/// for the next call. With one worker a plan is reproducible.
pub fn play(
    plan: &SelfPlayPlan,
    networks: &SelfPlayNetworks,
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<SelfPlayReport> {
    let context = SelfPlayContext::new(&plan.rules, plan.seed, networks)?;
    let left = plan.games - store.finished_of(plan.games);
    let (sender, messages) = unbounded();
    let queue = Mutex::new(GameQueue::of(&store, plan.games));
    let (left, halt) = (AtomicU64::new(left), AtomicBool::new(left == 0));
    // The settings are written before the first game.
    store.save()?;
    let begin = Instant::now();
    let mut stats = SelfPlayStats::default();
    let collected = thread::scope(|scope| {
        for number in 0..worker_count(plan.rules.workers) {
            let (context, halt) = (&context, &halt);
            let games = StoredGames { queue: &queue, left: &left, halt, sender: sender.clone() };
            let work = move || {
                let worker = SelfPlayWorker::new(context);
                let played = worker.and_then(|mut worker| worker.play(context.rules().games, &games, halt));
                if let Err(error) = played {
                    // If the collector is gone, another worker has failed.
                    _ = games.sender.send(WorkerMessage::Failed(error));
                }
            };
            let worker = thread::Builder::new().name(format!("self-play-{number}"));
            worker.spawn_scoped(scope, work).context("cannot start a thread to play on")?;
        }
        drop(sender);
        let collected = collect(&context, &halt, (&mut store, &mut stats), &messages, bar, stop);
        halt.store(true, Ordering::Relaxed);
        collected
    });
    bar.finish_and_clear();
    let (games, waiting) = (store.games(), store.waiting().count() as u64);
    let files = store.close();
    collected?;
    Ok(SelfPlayReport {
        stats,
        evaluated: context.evaluated(),
        batch: context.mean_batch(),
        seconds: begin.elapsed().as_secs_f64(),
        games,
        waiting,
        files: files?,
        stopped: games < plan.games,
    })
}

/// Caches evaluations unless the rules forbid it or a cache would cost more than it saves.
fn evaluator(network: &dyn Backend, context: &SelfPlayContext) -> Result<Box<dyn Evaluator>> {
    let rules = context.rules();
    let inner = network.evaluator(rules.games * rules.leaves)?;
    let evaluator = CountingEvaluator { inner, batches: Arc::clone(&context.batches) };
    Ok(match (rules.cache, network.cached_input()) {
        (0, _) | (_, None) => Box::new(evaluator),
        (cache, Some(input)) => {
            Box::new(CachedEvaluator::new(evaluator, input, Arc::new(EvalCache::new(cache << 20))))
        }
    })
}

fn start(context: &SelfPlayContext, unfinished: PendingGame) -> Result<SelfPlayGame> {
    let PendingGame { number, game, .. } = unfinished;
    let record = if game.moves.is_empty() {
        GameRecord { start: context.starts.without_engine(number)?, ..GameRecord::default() }
    } else {
        game
    };
    Ok(SelfPlayGame::new(Arc::clone(&context.setup), number, context.network_of(number), record))
}

/// Whether the second network, with share `share`, plays the game.
pub fn is_others(share: f64, seed: u64, number: u64) -> bool {
    stream_rng(RngStream::Network, seed, number, 0).f64() < share
}

pub fn network_of(networks: &SelfPlayNetworks, seed: u64, number: u64) -> &dyn Backend {
    let other = networks.other.as_ref().filter(|(_, share)| is_others(*share, seed, number));
    other.map_or(&*networks.network, |(other, _)| &**other)
}

fn collect(
    context: &SelfPlayContext,
    halt: &AtomicBool,
    (store, stats): (&mut Store, &mut SelfPlayStats),
    messages: &Receiver<WorkerMessage>,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<()> {
    let started = Instant::now();
    let (mut saved, mut failure) = (started, None);
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
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
                    halt.store(true, Ordering::Relaxed);
                    failure = failure.or(Some(error));
                }
            }
        }
        let time = started.elapsed();
        let rate = context.evaluated() as f64 / time.as_secs_f64().max(1e-3);
        bar.set_message(format!(
            "{}, {} evaluations/s",
            games_per_hour(stats.games, time),
            HumanCount(rate as u64)
        ));
        bar.tick();
        if saved.elapsed() >= store.save_every() {
            store.save()?;
            saved = Instant::now();
        }
    }
}
