//! When a classical player has to end its search.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::{Ended, Verdict, View, Watch};

/// Combines the limit of visits, the observer and the stop flag, and keeps the first reason to end.
pub struct StopCheck<'a> {
    observer: &'a mut dyn Watch,
    stop: &'a AtomicBool,
    visits: Option<u64>,
    end_reason: Option<Ended>,
}

impl<'a> StopCheck<'a> {
    /// For a search of at most `visits` visits.
    pub fn new(observer: &'a mut dyn Watch, stop: &'a AtomicBool, visits: Option<u64>) -> StopCheck<'a> {
        StopCheck { observer, stop, visits, end_reason: None }
    }

    /// Whether `visits` reach the limit. Cheap: to be called before each visit.
    pub fn limit_reached(&mut self, visits: u64) -> bool {
        let reached = self.visits.is_some_and(|limit| visits >= limit);
        if reached {
            self.end_reason.get_or_insert(Ended::Limit);
        }
        reached
    }

    /// Calls the observer and returns whether the search has to end. To be called every millisecond or so.
    pub fn should_stop(&mut self, view: &View<'_>) -> bool {
        if self.end_reason.is_none()
            && (self.stop.load(Ordering::Relaxed) || self.observer.round(view) == Verdict::Stop)
        {
            self.end_reason = Some(Ended::Stopped);
        }
        self.end_reason.is_some()
    }

    /// Ends the search for a reason of the player's own.
    pub fn end(&mut self, reason: Ended) {
        self.end_reason.get_or_insert(reason);
    }

    /// Why the search ended, if it did.
    pub fn end_reason(&self) -> Option<Ended> {
        self.end_reason
    }
}
