//! Looks on while a search runs: stops it in time and tells the GUI about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use shakmaty::Move;

use super::info::Printer;
use super::io::Writer;
use crate::search::{Outcome, Report, Score, Verdict, View, Watch};
use crate::time::{Budget, Counters, should_stop};

/// An `info` at least this often.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Best moves that last shorter than this are not worth a line: two equal ones may take turns
/// thousands of times a second.
const BLINK: Duration = Duration::from_millis(10);

/// The session's hold on a running search.
#[derive(Clone, Debug)]
pub struct Control(Arc<State>);

#[derive(Debug)]
struct State {
    /// When the own clock began to run; not yet, while pondering.
    own_time_since: Mutex<Option<Instant>>,
    stop: AtomicBool,
}

impl Control {
    /// For a search on the own time since `since`, or on the opponent's.
    pub fn new(since: Option<Instant>) -> Control {
        Control(Arc::new(State { own_time_since: Mutex::new(since), stop: AtomicBool::new(false) }))
    }

    /// From `now` on the time is the own, if it wasn't.
    pub fn start_clock(&self, now: Instant) {
        self.own_time().get_or_insert(now);
    }

    /// Ends the search after the round under way, so that even a search that is stopped at once has
    /// looked at the position.
    pub fn stop(&self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }

    fn elapsed(&self, now: Instant) -> Option<Duration> {
        self.own_time().map(|since| now.saturating_duration_since(since))
    }

    fn own_time(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.own_time_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What has to be known about a `go` to watch over it.
#[derive(Clone, Debug)]
pub struct Job {
    /// When `go` was read.
    pub at: Instant,
    /// The session's hold on it.
    pub control: Control,
    /// What time allows.
    pub budget: Budget,
    /// End when a mate in so many moves is found.
    pub mate: Option<u32>,
    /// Moves to choose from.
    pub choices: usize,
    /// Workers: so many rounds are under way at once.
    pub workers: u32,
}

/// A search that has ended.
pub struct Finished {
    /// What came of it.
    pub outcome: Outcome,
    /// Goes on writing its lines.
    pub printer: Printer,
    /// How long it took from `go`.
    pub time: Duration,
}

/// The [`Watch`] of a search for a GUI.
pub struct Watcher {
    job: Job,
    out: Writer,
    finished: Sender<Finished>,
    printer: Printer,

    best: Option<Move>,
    best_since: Instant,
    round_at: Instant,
    latency: Duration,
    mated: bool,

    shown: Option<Move>,
    shown_at: Option<Instant>,
}

impl Watcher {
    /// Watches over `job`; the end is told to `finished`. If that channel closes without it, the
    /// search has died.
    pub fn new(job: Job, printer: Printer, out: Writer, finished: Sender<Finished>) -> Watcher {
        let now = Instant::now();
        Watcher {
            out,
            finished,
            printer,
            best: None,
            best_since: job.at,
            round_at: now,
            latency: Duration::ZERO,
            mated: false,
            shown: None,
            shown_at: None,
            job,
        }
    }

    fn note(&mut self, best: Option<Move>, now: Instant) {
        // Rounds of several workers interleave: each is about as long as all of their gaps. Old
        // gaps fade, so that one hiccup of the machine doesn't end a search early.
        let gap = now.saturating_duration_since(self.round_at).saturating_mul(self.job.workers);
        self.latency = gap.max(self.latency * 7 / 8);
        self.round_at = now;
        if best != self.best {
            self.best = best;
            self.best_since = now;
        }
    }

    fn is_worth_a_line(&self, now: Instant) -> bool {
        match self.shown_at {
            None => self.best.is_some(),
            Some(at) => {
                let quiet = now.saturating_duration_since(at);
                quiet >= HEARTBEAT || (self.best != self.shown && quiet >= BLINK)
            }
        }
    }

    fn show(&mut self, report: &Report, now: Instant) {
        for line in self.printer.lines(report, now.saturating_duration_since(self.job.at)) {
            self.out.line(line);
        }
        self.shown = self.best;
        self.shown_at = Some(now);
    }

    fn counters(&self, visits: u64, now: Instant) -> Counters {
        Counters {
            thought: now.saturating_duration_since(self.job.at),
            elapsed: self.job.control.elapsed(now),
            settled: now.saturating_duration_since(self.best_since),
            latency: self.latency,
            visits,
            choices: self.job.choices,
            mated: self.mated,
        }
    }
}

impl Watch for Watcher {
    fn round(&mut self, view: &View<'_>) -> Verdict {
        let now = Instant::now();
        self.note(view.best(), now);
        if let Some(moves) = self.job.mate {
            self.mated = is_mate_within(&view.report(1), moves);
        }
        if self.is_worth_a_line(now) {
            self.show(&view.report(self.printer.multipv), now);
        }
        let counters = self.counters(view.visits(), now);
        if self.job.control.is_stopped() || should_stop(&self.job.budget, &counters) {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }

    fn done(&mut self, outcome: Outcome) {
        let time = self.job.at.elapsed();
        // Nobody waits any more if the session is gone.
        let _ = self.finished.send(Finished { outcome, printer: self.printer.clone(), time });
    }
}

fn is_mate_within(report: &Report, moves: u32) -> bool {
    report.lines.first().is_some_and(|line| match line.score {
        Score::Mate(found) => u32::try_from(found).is_ok_and(|found| found <= moves),
        Score::Cp(_) => false,
    })
}
