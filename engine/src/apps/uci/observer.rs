//! Writes the `info` lines of a GUI's search and stops it in time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crossbeam_channel::Sender;
use shakmaty::{Color, Move};
use web_time::{Duration, Instant};

use super::info::Printer;
use super::stats;
use crate::apps::io::Writer;
use crate::search::time_management::{
    Budget, IterationStats, RoundTimes, SearchTrend, TimeParams, should_stop, visits_left,
};
use crate::search::{MoveStats, Report, Score, SearchControl, SearchObserver, SearchOutcome, SearchView};

const INFO_INTERVAL: Duration = Duration::from_secs(1);

/// Between two changes of the best move: equal moves may alternate thousands of times a second.
const MIN_INFO_INTERVAL: Duration = Duration::from_millis(10);

/// Samples of the root statistics within the soft limit.
const SAMPLES: u32 = 64;

/// Between two samples.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(1);
const MAX_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub struct SearchHandle(Arc<HandleState>);

#[derive(Debug)]
struct HandleState {
    /// `None` while pondering.
    clock_start: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

impl SearchHandle {
    pub fn new(start: Option<Instant>) -> SearchHandle {
        SearchHandle(Arc::new(HandleState { clock_start: Mutex::new(start), stop: AtomicBool::new(false) }))
    }

    pub fn start_clock(&self, now: Instant) {
        self.lock_clock().get_or_insert(now);
    }

    /// Takes effect after the current round, so that the root is always evaluated.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    fn elapsed(&self, now: Instant) -> Option<Duration> {
        self.lock_clock().map(|start| now.saturating_duration_since(start))
    }

    fn lock_clock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.clock_start.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Debug)]
pub struct GoContext {
    pub at: Instant,
    pub handle: SearchHandle,
    pub budget: Budget,
    pub params: TimeParams,
    /// The side to move, if every `info` comes with the root statistics.
    pub live_stats: Option<Color>,
    /// Stops at a mate in at most this many moves.
    pub mate: Option<u32>,
    pub choices: usize,
    /// Our Q in the previous search of this game, −1 to 1.
    pub previous: Option<f32>,
}

pub struct FinishedSearch {
    pub outcome: SearchOutcome,
    pub printer: Printer,
    /// Since `go`.
    pub time: Duration,
}

pub struct UciObserver {
    context: GoContext,
    out: Writer,
    finished: Sender<FinishedSearch>,
    printer: Printer,

    best: Option<Move>,
    stats: IterationStats,
    trend: SearchTrend,
    rounds: RoundTimes<ThreadId>,
    sampled_at: Option<Duration>,

    shown: Option<Move>,
    shown_at: Option<Instant>,
}

impl UciObserver {
    /// `finished` closes without an outcome if the search panics.
    pub fn new(
        context: GoContext,
        printer: Printer,
        out: Writer,
        finished: Sender<FinishedSearch>,
    ) -> UciObserver {
        let previous = context.previous.map(f64::from);
        UciObserver {
            out,
            finished,
            printer,
            best: None,
            stats: IterationStats { choices: context.choices, ..IterationStats::default() },
            trend: SearchTrend::new(context.budget.soft.unwrap_or(INFO_INTERVAL), previous),
            rounds: RoundTimes::default(),
            sampled_at: None,
            shown: None,
            shown_at: None,
            context,
        }
    }

    /// `None` if time does not end the search or the speed is unknown.
    fn expected_visits(&self) -> Option<u64> {
        visits_left(&self.context.budget, &self.context.params, &self.stats)
    }

    fn note(&mut self, view: &dyn SearchView, now: Instant) {
        let since_go = now.saturating_duration_since(self.context.at);
        let visits = view.visits();
        self.trend.round(since_go, visits);
        let best = view.best();
        if best != self.best {
            if self.best.is_some() {
                self.trend.change(since_go);
            }
            self.best = best;
        }
        // This thread is the worker that ran the round.
        let latency = self.rounds.round(thread::current().id(), since_go);
        self.sample(view, since_go);
        let (first, second) = view.lead();
        let before = &self.stats;
        self.stats = IterationStats {
            since_go,
            elapsed: self.context.handle.elapsed(now),
            latency,
            visits,
            speed: self.trend.speed(since_go, visits),
            choices: before.choices,
            first,
            second,
            share: before.share,
            fall: before.fall,
            changes: self.trend.changes(since_go),
            mated: self.context.mate.is_some_and(|moves| is_mate_within(&view.report(1), moves)),
        };
    }

    /// Samples at intervals, because a sample costs more than a visit.
    fn sample(&mut self, view: &dyn SearchView, since_go: Duration) {
        let Some(soft) = self.context.budget.soft else { return };
        let interval = (soft / SAMPLES).clamp(MIN_SAMPLE_INTERVAL, MAX_SAMPLE_INTERVAL);
        if self.sampled_at.is_some_and(|at| since_go < at + interval) {
            return;
        }
        self.sampled_at = Some(since_go);
        let stats = view.stats();
        if let Some(best) = stats.first() {
            let visits: u64 = stats.iter().map(|stats| stats.visits).sum();
            self.stats.share = Some(best.visits as f64 / visits.max(1) as f64);
            self.stats.fall = self.trend.fall(f64::from(best.q));
            let is_open = |stats: &&MoveStats| stats.proof.is_none_or(|proof| proof.wdl().q() >= 0.0);
            self.stats.choices = stats.iter().filter(is_open).count();
        }
    }

    fn is_info_due(&self, now: Instant) -> bool {
        match self.shown_at {
            None => self.best.is_some(),
            Some(at) => {
                let quiet = now.saturating_duration_since(at);
                quiet >= INFO_INTERVAL || (self.best != self.shown && quiet >= MIN_INFO_INTERVAL)
            }
        }
    }

    fn show(&mut self, view: &dyn SearchView, now: Instant) {
        if let Some(turn) = self.context.live_stats {
            for line in stats::lines(turn, &view.shown_stats(), self.printer.chess960) {
                self.out.line(line);
            }
        }
        let report = &view.report(self.printer.multipv);
        for line in self.printer.lines(report, now.saturating_duration_since(self.context.at)) {
            self.out.line(line);
        }
        self.shown = self.best;
        self.shown_at = Some(now);
    }
}

impl SearchObserver for UciObserver {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        let now = Instant::now();
        self.note(view, now);
        if self.is_info_due(now) {
            self.show(view, now);
        }
        let context = &self.context;
        if context.handle.is_stopped() || should_stop(&context.budget, &context.params, &self.stats) {
            SearchControl::Stop
        } else {
            SearchControl::Continue { expected_visits: self.expected_visits() }
        }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        let time = self.context.at.elapsed();
        // Fails if the session has ended.
        let _ = self.finished.send(FinishedSearch { outcome, printer: self.printer.clone(), time });
    }
}

fn is_mate_within(report: &Report, moves: u32) -> bool {
    report.lines.first().is_some_and(|line| match line.score {
        Score::Mate(found) => u32::try_from(found).is_ok_and(|found| found <= moves),
        Score::Cp(_) => false,
    })
}
