//! Where a player sits: a thread for one task at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use super::{Player, Task};
use crate::search::Watch;

/// A thread at a time; dropping it stops and joins.
#[derive(Debug, Default)]
pub struct Seat {
    current: Option<(JoinHandle<()>, Arc<AtomicBool>)>,
}

impl Seat {
    /// Lets a player begin to think, and returns at once. One that still thinks is stopped and waited for.
    ///
    /// The end is told to `watch`, or, if the player panics, `watch` is dropped without a word.
    ///
    /// # Panics
    ///
    /// If the system has no thread left.
    pub fn start(&mut self, player: Player, task: Task, mut watch: Box<dyn Watch>) {
        self.clear();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let think = move || {
            let outcome = player.think(&task, &mut *watch, &stopped);
            watch.done(outcome);
        };
        let thread = Builder::new().name("player".to_owned()).spawn(think).expect("a thread for a player");
        self.current = Some((thread, stop));
    }

    /// Stops the player who still thinks, if one does, and waits for the end.
    pub fn clear(&mut self) {
        if let Some((thread, stop)) = self.current.take() {
            stop.store(true, Ordering::Relaxed);
            if thread.join().is_err() {
                log::error!("a classical player panicked");
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.clear();
    }
}
