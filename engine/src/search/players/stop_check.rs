//! When a classical player has to end its search.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::{EndReason, SearchControl, SearchObserver, SearchView};

/// Combines the limit of visits, the observer and the stop flag, and keeps the first reason to end.
pub struct StopCheck<'a> {
    observer: &'a mut dyn SearchObserver,
    stop: &'a AtomicBool,
    visits: Option<u64>,
    end_reason: Option<EndReason>,
}

impl<'a> StopCheck<'a> {
    /// For a search of at most `visits` visits.
    pub fn new(
        observer: &'a mut dyn SearchObserver,
        stop: &'a AtomicBool,
        visits: Option<u64>,
    ) -> StopCheck<'a> {
        StopCheck { observer, stop, visits, end_reason: None }
    }

    /// Whether `visits` reach the limit. Cheap: to be called before each visit.
    pub fn limit_reached(&mut self, visits: u64) -> bool {
        let reached = self.visits.is_some_and(|limit| visits >= limit);
        if reached {
            self.end_reason.get_or_insert(EndReason::Limit);
        }
        reached
    }

    /// Calls the observer and returns whether the search has to end. To be called every millisecond or so.
    pub fn should_stop(&mut self, view: &dyn SearchView) -> bool {
        if self.end_reason.is_none()
            && (self.stop.load(Ordering::Relaxed) || self.observer.round(view) == SearchControl::Stop)
        {
            self.end_reason = Some(EndReason::Stopped);
        }
        self.end_reason.is_some()
    }

    /// Ends the search for a reason of the player's own.
    pub fn end(&mut self, reason: EndReason) {
        self.end_reason.get_or_insert(reason);
    }

    /// Why the search ended, if it did.
    pub fn end_reason(&self) -> Option<EndReason> {
        self.end_reason
    }
}
