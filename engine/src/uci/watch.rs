//! Looks on while a search runs: stops it in time and tells the GUI about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use shakmaty::{Color, Move};

use super::info::Printer;
use super::io::Writer;
use super::stats;
use crate::search::{Report, Score, SearchControl, SearchObserver, SearchOutcome, SearchView};
use crate::time::{Budget, Counters, Course, Pace, should_stop, visits_left};

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
    /// How it is made use of.
    pub pace: Pace,
    /// Show the root moves' statistics with every `info` of this side's search.
    pub live_stats: Option<Color>,
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
    pub outcome: SearchOutcome,
    /// Goes on writing its lines.
    pub printer: Printer,
    /// How long it took from `go`.
    pub time: Duration,
}

/// The [`SearchObserver`] of a search for a GUI.
pub struct Watcher {
    job: Job,
    out: Writer,
    finished: Sender<Finished>,
    printer: Printer,

    best: Option<Move>,
    counters: Counters,
    course: Course,
    round_at: Instant,

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
            counters: Counters { choices: job.choices, ..Counters::default() },
            course: Course::new(job.budget.soft.unwrap_or(HEARTBEAT)),
            round_at: now,
            shown: None,
            shown_at: None,
            job,
        }
    }

    /// The visits that this search may still see before time ends it, as far as they can change its
    /// move: for the search, which can leave alone what lags behind by more. `None` if time doesn't
    /// end it, or nobody knows.
    fn expected_visits(&self) -> Option<u64> {
        visits_left(&self.job.budget, &self.job.pace, &self.counters)
    }

    /// Counts a round that has just ended.
    fn note(&mut self, view: &dyn SearchView, now: Instant) {
        let thought = now.saturating_duration_since(self.job.at);
        let visits = view.visits();
        self.course.round(thought, visits);
        let best = view.best();
        if best != self.best {
            if self.best.is_some() {
                self.course.change(thought);
            }
            self.best = best;
        }
        // Rounds of several workers interleave: each is about as long as all of their gaps. Old
        // gaps fade, so that one hiccup of the machine doesn't end a search early.
        let gap = now.saturating_duration_since(self.round_at).saturating_mul(self.job.workers);
        self.round_at = now;
        let (first, second) = view.lead();
        let before = &self.counters;
        self.counters = Counters {
            thought,
            elapsed: self.job.control.elapsed(now),
            latency: gap.max(before.latency * 7 / 8),
            visits,
            speed: self.course.speed(thought, visits),
            choices: before.choices,
            first,
            second,
            changes: self.course.changes(thought),
            mated: self.job.mate.is_some_and(|moves| is_mate_within(&view.report(1), moves)),
        };
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

    fn show(&mut self, view: &dyn SearchView, now: Instant) {
        if let Some(turn) = self.job.live_stats {
            for line in stats::lines(turn, &view.stats(), self.printer.chess960) {
                self.out.line(line);
            }
        }
        let report = &view.report(self.printer.multipv);
        for line in self.printer.lines(report, now.saturating_duration_since(self.job.at)) {
            self.out.line(line);
        }
        self.shown = self.best;
        self.shown_at = Some(now);
    }
}

impl SearchObserver for Watcher {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        let now = Instant::now();
        self.note(view, now);
        if self.is_worth_a_line(now) {
            self.show(view, now);
        }
        let job = &self.job;
        if job.control.is_stopped() || should_stop(&job.budget, &job.pace, &self.counters) {
            SearchControl::Stop
        } else {
            SearchControl::Continue { expected_visits: self.expected_visits() }
        }
    }

    fn done(&mut self, outcome: SearchOutcome) {
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
