use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::answer::{Asked, line};
use super::request::Query;
use crate::apps::io::Writer;
use crate::chess::position::Game;
use crate::search::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};

/// Beyond this many waiting lines, intermediate answers are left out.
const LONGEST_BACKLOG: usize = 1000;

/// An ended search. The id of its query is free once the session has written `answer`.
pub struct EndedSearch {
    pub number: u64,
    pub answer: String,
}

/// Writes the intermediate answers; the session writes the final one.
pub struct AnswerWriter {
    pub query: Arc<Query>,
    pub turn: usize,
    pub game: Game,
    pub root_hits: u64,
    pub temperature: f32,
    pub begin: Instant,
    /// Time of the last answer, or `begin`.
    pub shown_at: Instant,
    /// Set if a request stops the search.
    pub is_terminated: Arc<AtomicBool>,
    pub out: Writer,
    pub ended: Sender<EndedSearch>,
    pub number: u64,
}

impl AnswerWriter {
    fn asked(&self) -> Asked<'_> {
        Asked {
            query: &self.query,
            turn: self.turn,
            game: &self.game,
            root_hits: self.root_hits,
            temperature: self.temperature,
        }
    }

    fn is_due(&self, every: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.shown_at) >= every && self.out.backlog() < LONGEST_BACKLOG
    }

    fn why(&self, outcome: &SearchOutcome) -> &'static str {
        match outcome.end_reason {
            EndReason::Stopped if self.is_terminated.load(Ordering::Relaxed) => "terminated",
            EndReason::Stopped => "movetime",
            EndReason::Limit => "nodes",
            EndReason::Exhausted if outcome.report.lines.is_empty() => "game_over",
            EndReason::Exhausted if outcome.stats.first().is_some_and(|best| best.proof.is_some()) => {
                "solved"
            }
            EndReason::Exhausted => "memory",
            EndReason::Failed => "failed",
        }
    }
}

impl SearchObserver for AnswerWriter {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        if let Some(every) = self.query.report_every {
            let now = Instant::now();
            if self.is_due(every, now) && view.visits() > 0 {
                self.shown_at = now;
                let (report, stats) = (view.report(self.query.multipv), view.stats());
                self.out.line(line(&self.asked().answer(&report, &stats, now - self.begin)));
            }
        }
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        let asked = self.asked();
        let answer = asked.answer(&outcome.report, &outcome.stats, self.begin.elapsed());
        let answer = line(&answer.ending(self.why(&outcome), outcome.error.clone()));
        // Fails if the program is ending.
        let _ = self.ended.send(EndedSearch { number: self.number, answer });
    }
}
