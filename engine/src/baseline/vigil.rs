//! A player's side of being watched.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::search::{Ended, Verdict, View, Watch};

/// Says when to end, and remembers why.
pub struct Vigil<'a> {
    watch: &'a mut dyn Watch,
    stop: &'a AtomicBool,
    visits: Option<u64>,
    ended: Option<Ended>,
}

impl<'a> Vigil<'a> {
    /// For a player who may make so many visits.
    pub fn new(watch: &'a mut dyn Watch, stop: &'a AtomicBool, visits: Option<u64>) -> Vigil<'a> {
        Vigil { watch, stop, visits, ended: None }
    }

    /// Whether so many visits are all that are allowed. Cheap: to be asked before each.
    pub fn is_spent(&mut self, visits: u64) -> bool {
        let spent = self.visits.is_some_and(|limit| visits >= limit);
        if spent {
            self.ended.get_or_insert(Ended::Limit);
        }
        spent
    }

    /// Lets the watcher look, and says whether to end: to be asked every millisecond or so.
    pub fn ends(&mut self, view: &View<'_>) -> bool {
        if self.ended.is_none()
            && (self.stop.load(Ordering::Relaxed) || self.watch.round(view) == Verdict::Stop)
        {
            self.ended = Some(Ended::Stopped);
        }
        self.ended.is_some()
    }

    /// Notes that the player ends by itself.
    pub fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }

    /// Why the player ended, if it did.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }
}
