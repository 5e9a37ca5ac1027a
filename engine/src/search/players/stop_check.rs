use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::{EndReason, SearchControl, SearchObserver, SearchView};

pub struct StopCheck<'a> {
    observer: &'a mut dyn SearchObserver,
    stop: &'a AtomicBool,
    visits: Option<u64>,
    end_reason: Option<EndReason>,
}

impl<'a> StopCheck<'a> {
    pub fn new(
        observer: &'a mut dyn SearchObserver,
        stop: &'a AtomicBool,
        visits: Option<u64>,
    ) -> StopCheck<'a> {
        StopCheck { observer, stop, visits, end_reason: None }
    }

    pub fn limit_reached(&mut self, visits: u64) -> bool {
        let reached = self.visits.is_some_and(|limit| visits >= limit);
        if reached {
            self.end_reason.get_or_insert(EndReason::Limit);
        }
        reached
    }

    /// Calls the observer, so meant for about every millisecond.
    pub fn should_stop(&mut self, view: &dyn SearchView) -> bool {
        if self.end_reason.is_none()
            && (self.stop.load(Ordering::Relaxed) || self.observer.round(view) == SearchControl::Stop)
        {
            self.end_reason = Some(EndReason::Stopped);
        }
        self.end_reason.is_some()
    }

    pub fn end(&mut self, reason: EndReason) {
        self.end_reason.get_or_insert(reason);
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.end_reason
    }
}
