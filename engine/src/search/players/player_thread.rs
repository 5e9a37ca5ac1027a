use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Player, PlayerTask};
use crate::base::threads::{self, Thread};
use crate::search::SearchObserver;

/// Runs at most one classical player in the background.
#[derive(Debug, Default)]
pub struct PlayerThread {
    current: Option<(Thread, Arc<AtomicBool>)>,
}

impl PlayerThread {
    /// Stops and joins a running search first. If the player panics, the observer is dropped without
    /// [`SearchObserver::done`].
    pub fn start(&mut self, player: Player, task: PlayerTask, mut observer: Box<dyn SearchObserver>) {
        self.stop_and_join();
        let stop = Arc::new(AtomicBool::new(false));
        let stop_flag = Arc::clone(&stop);
        let think = move || {
            let outcome = player.think(&task, &mut *observer, &stop_flag);
            observer.done(outcome);
        };
        self.current = Some((threads::spawn("player".to_owned(), think), stop));
    }

    pub fn stop_and_join(&mut self) {
        if let Some((thread, stop)) = self.current.take() {
            stop.store(true, Ordering::Relaxed);
            if !thread.join() {
                log::error!("a classical player panicked");
            }
        }
    }
}

impl Drop for PlayerThread {
    fn drop(&mut self) {
        self.stop_and_join();
    }
}
