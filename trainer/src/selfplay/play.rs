//! Workers that play games of self-play, and one who stores them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use engine::eval::{Answer, Cached, EvalCache, EvalError, Evaluator, Request};
use indicatif::{HumanCount, ProgressBar};

use super::game::{Finished, SelfGame, Table};
use super::tally::Tally;
use crate::config::{Rules, worker_count};
use crate::datagen::StartPositions;
use crate::dataset::{PendingGame, Store};
use crate::gameplay::Backend;
use crate::gameplay::Ground;
use crate::gameplay::drive;
use crate::record::{GameRecord, RngStream, stream_rng};

/// How often the collector looks at the clock and whether it shall stop.
const GLANCE: Duration = Duration::from_millis(100);
/// Without a terminal, a line of progress this often.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// Who plays.
#[derive(Clone)]
pub struct Seats {
    /// The network that plays against itself.
    pub network: Arc<dyn Backend>,
    /// Another that plays some games against itself instead, and their share.
    pub other: Option<(Arc<dyn Backend>, f64)>,
}

/// What is to be played.
#[derive(Clone)]
pub struct Plan {
    /// How.
    pub rules: Rules,
    /// Another seed, other games.
    pub seed: u64,
    /// How many games, with those that are there already.
    pub games: u64,
}

/// What a session of self-play came to; games of earlier sessions aren't counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// The games.
    pub tally: Tally,
    /// Positions that were asked about.
    pub evaluated: u64,
    /// Positions that networks evaluated at once, in the mean; fewer than games at once, as a cache knows others.
    pub batch: f64,
    /// How long it took, s.
    pub seconds: f64,
    /// Games in the files.
    pub games: u64,
    /// Files.
    pub files: usize,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// What the workers share.
struct Hall<'a> {
    table: Arc<Table>,
    starts: StartPositions,
    seats: &'a Seats,
    deal: Mutex<Deal>,
    evaluated: AtomicU64,
    batches: Arc<Batches>,
    halt: AtomicBool,
}

/// What networks evaluated.
#[derive(Default)]
struct Batches {
    count: AtomicU64,
    positions: AtomicU64,
}

impl Batches {
    fn mean(&self) -> f64 {
        let [count, positions] =
            [&self.count, &self.positions].map(|number| number.load(Ordering::Relaxed) as f64);
        positions / count.max(1.0)
    }
}

/// A network's evaluator, whose batches are counted.
struct Counted {
    inner: Box<dyn Evaluator>,
    batches: Arc<Batches>,
}

impl Evaluator for Counted {
    fn max_batch(&self) -> usize {
        self.inner.max_batch()
    }

    fn evaluate(&mut self, batch: &[Request<'_>]) -> Result<Vec<Answer>, EvalError> {
        self.batches.count.fetch_add(1, Ordering::Relaxed);
        self.batches.positions.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.inner.evaluate(batch)
    }
}

/// Games to be played.
struct Deal {
    begun: VecDeque<PendingGame>,
    held: BTreeSet<u64>,
    next: u64,
    games: u64,
}

impl Deal {
    fn next(&mut self) -> Option<PendingGame> {
        if let Some(hand) = self.begun.pop_front() {
            return Some(hand);
        }
        while self.held.contains(&self.next) {
            self.next += 1;
        }
        let number = self.next;
        self.next += 1;
        (number < self.games).then(|| PendingGame { number, ..PendingGame::default() })
    }
}

/// What a worker tells.
enum News {
    Finished(Finished),
    /// A game that isn't over when the worker has to stop.
    Begun(PendingGame),
    Failed(String),
}

/// Plays until there are as many games as planned; they go to `store`, and `bar` counts them.
///
/// Raising `stop` ends it soon; games that aren't over are kept as far as they are. With one worker the same plan makes
/// the same games.
///
/// # Errors
///
/// One line: the rules name a book or tables that can't be read, a network fails, or a file can't be written.
pub fn play(
    plan: &Plan,
    seats: &Seats,
    mut store: Store,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<Session, String> {
    let rules = &plan.rules;
    rules.check()?;
    let Ground { starts, tables } = Ground::open(&rules.book, rules.random_plies, &rules.syzygy, plan.seed)?;
    let deal =
        Deal { begun: store.begun().into(), held: store.held(), next: store.games(), games: plan.games };
    let hall = Hall {
        table: Arc::new(Table { rules: rules.clone(), seed: plan.seed, tables }),
        starts,
        seats,
        deal: Mutex::new(deal),
        evaluated: AtomicU64::new(0),
        batches: Arc::default(),
        halt: AtomicBool::new(false),
    };
    // What the games are made with is written before the first of them.
    store.save().map_err(|error| format!("{error:#}"))?;
    let begin = Instant::now();
    let (report, reports) = unbounded();
    let mut tally = Tally::default();
    let collected = thread::scope(|scope| {
        let hall = &hall;
        for number in 0..worker_count(rules.workers) {
            let report = report.clone();
            let work = move || {
                if let Err(why) = work(hall, &report) {
                    // Nobody listens any more only if another has failed already.
                    _ = report.send(News::Failed(why));
                }
            };
            let worker = thread::Builder::new().name(format!("self-play-{number}"));
            worker.spawn_scoped(scope, work).map_err(|error| format!("no thread to play on: {error}"))?;
        }
        drop(report);
        let collected = collect(hall, &mut store, &mut tally, &reports, bar, stop);
        hall.halt.store(true, Ordering::Relaxed);
        collected
    });
    bar.finish_and_clear();
    let games = store.games();
    let files = store.close();
    collected?;
    Ok(Session {
        tally,
        evaluated: hall.evaluated.load(Ordering::Relaxed),
        batch: hall.batches.mean(),
        seconds: begin.elapsed().as_secs_f64(),
        games,
        files: files.map_err(|error| format!("{error:#}"))?,
        stopped: games < plan.games,
    })
}

fn work(hall: &Hall<'_>, report: &Sender<News>) -> Result<(), String> {
    let rules = &hall.table.rules;
    let networks =
        std::iter::once(&hall.seats.network).chain(hall.seats.other.iter().map(|(other, _)| other));
    let mut evaluators =
        networks.map(|network| evaluator(network.as_ref(), hall)).collect::<Result<Vec<_>, String>>()?;
    let mut failure = None;
    let mut deal = || {
        let hand = hall.deal.lock().unwrap_or_else(PoisonError::into_inner).next()?;
        seat(hall, hand).map_err(|why| failure = Some(why)).ok()
    };
    let mut done = |finished| {
        _ = report.send(News::Finished(finished));
    };
    let mut evaluated = |count: usize| {
        hall.evaluated.fetch_add(count as u64, Ordering::Relaxed);
    };
    let places = (rules.games, rules.leaves);
    let left = drive(&mut evaluators, places, &mut deal, &mut done, &mut evaluated, &hall.halt);
    for sitting in left.map_err(|error| error.to_string())? {
        let (number, game) = sitting.into_parts();
        _ = report.send(News::Begun(PendingGame { number, done: game.moves.len(), game, finished: false }));
    }
    failure.map_or(Ok(()), Err)
}

/// An evaluator of its own, with what it has answered kept.
fn evaluator(network: &dyn Backend, hall: &Hall<'_>) -> Result<Box<dyn Evaluator>, String> {
    let rules = &hall.table.rules;
    let inner = network.evaluator(rules.games * rules.leaves)?;
    let evaluator = Counted { inner, batches: Arc::clone(&hall.batches) };
    Ok(match rules.cache {
        0 => Box::new(evaluator),
        cache => Box::new(Cached::new(evaluator, network.input(), Arc::new(EvalCache::new(cache << 20)))),
    })
}

/// A game that begins or goes on.
fn seat(hall: &Hall<'_>, hand: PendingGame) -> Result<SelfGame, String> {
    let PendingGame { number, game, .. } = hand;
    let record = if game.moves.is_empty() {
        GameRecord {
            start: hall.starts.without_engine(number).map_err(|error| format!("{error:#}"))?,
            ..GameRecord::default()
        }
    } else {
        game
    };
    let others = hall.seats.other.as_ref().map_or(0.0, |(_, share)| *share);
    let evaluator = usize::from(stream_rng(RngStream::Network, hall.table.seed, number, 0).f64() < others);
    Ok(SelfGame::new(Arc::clone(&hall.table), number, evaluator, record))
}

fn collect(
    hall: &Hall<'_>,
    store: &mut Store,
    tally: &mut Tally,
    reports: &Receiver<News>,
    bar: &ProgressBar,
    stop: &AtomicBool,
) -> Result<(), String> {
    let started = Instant::now();
    let (mut saved, mut logged, mut failure) = (started, started, None);
    loop {
        if stop.load(Ordering::Relaxed) {
            hall.halt.store(true, Ordering::Relaxed);
        }
        let first = match reports.recv_timeout(GLANCE) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        };
        for news in first.into_iter().chain(reports.try_iter()) {
            match news {
                News::Finished(finished) => {
                    tally.add(&finished);
                    bar.inc(1);
                    let Finished { number, game, .. } = finished;
                    store
                        .push(PendingGame { number, done: game.moves.len(), game, finished: true })
                        .map_err(|error| format!("{error:#}"))?;
                }
                News::Begun(hand) => store.push(hand).map_err(|error| format!("{error:#}"))?,
                News::Failed(why) => {
                    hall.halt.store(true, Ordering::Relaxed);
                    failure = failure.or(Some(why));
                }
            }
        }
        let hours = started.elapsed().as_secs_f64().max(1e-3) / 3600.0;
        let per_hour = |count: u64| HumanCount((count as f64 / hours) as u64);
        let evaluated = hall.evaluated.load(Ordering::Relaxed);
        bar.set_message(format!(
            "{} positions/h, {} games/h, {:.0} evaluations/s",
            per_hour(tally.plies),
            per_hour(tally.games),
            evaluated as f64 / hours / 3600.0
        ));
        bar.tick();
        if bar.is_hidden() && logged.elapsed() >= LOG_EVERY {
            logged = Instant::now();
            let total = HumanCount(bar.length().unwrap_or(0));
            log::info!("{}/{total} games, {}", HumanCount(bar.position()), bar.message());
        }
        if saved.elapsed() >= store.save_every() {
            store.save().map_err(|error| format!("{error:#}"))?;
            saved = Instant::now();
        }
    }
}
