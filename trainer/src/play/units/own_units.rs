//! The queue of units for this process's own threads.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Receiver, Sender, unbounded};
use indicatif::ProgressBar;

use super::inbox::Inbox;
use super::task::UnitTask;
use super::unit::Unit;

/// How often an idle thread looks for work.
pub const POLL_EVERY: Duration = Duration::from_millis(100);

/// A result is in the inbox, or the thread failed.
pub type OwnReport = Result<()>;

/// Shared by own threads and the collector.
pub struct OwnUnits<'a> {
    inbox: &'a Inbox,
    queue: Mutex<OwnQueue>,
    /// Whether threads may start units.
    active: AtomicBool,
    messages: Sender<OwnReport>,
}

struct OwnQueue {
    left: VecDeque<Unit>,
    /// Results in the inbox or accepted.
    done: BTreeSet<String>,
    /// Results made by own threads.
    own: BTreeSet<String>,
}

impl<'a> OwnUnits<'a> {
    pub fn new<'u>(
        inbox: &'a Inbox,
        units: impl Iterator<Item = &'u Unit>,
        active: bool,
    ) -> (OwnUnits<'a>, Receiver<OwnReport>) {
        let (messages, reports) = unbounded();
        let left = units.cloned().collect();
        let queue = Mutex::new(OwnQueue { left, done: BTreeSet::new(), own: BTreeSet::new() });
        (OwnUnits { inbox, queue, active: AtomicBool::new(active), messages }, reports)
    }

    /// Reports an error or a panic to the collector.
    pub fn reported(&self, work: impl FnOnce() -> Result<()>) {
        // After a panic the units would never finish. The panic printed its own message.
        let done = catch_unwind(AssertUnwindSafe(work));
        let done = done.unwrap_or_else(|_| Err(anyhow!("a thread that works on units has panicked")));
        // If the collector is gone, it has ended the work.
        done.unwrap_or_else(|why| _ = self.messages.send(Err(why)));
    }

    /// Does units until `halt` is set.
    pub fn work(
        &self,
        folder: &Path,
        halt: &AtomicBool,
        task: &(dyn Fn(&Unit) -> Result<UnitTask> + Sync),
    ) -> Result<()> {
        while !halt.load(Ordering::Relaxed) {
            let Some(unit) = self.take() else {
                thread::sleep(POLL_EVERY);
                continue;
            };
            let done = task(&unit).and_then(|task| task.finish(&unit, folder, &ProgressBar::hidden(), halt));
            if let Some(file) = done.with_context(|| unit.name())? {
                self.put(&file, &unit)?;
            }
        }
        Ok(())
    }

    /// `None` if no unit is available now.
    pub fn take(&self) -> Option<Unit> {
        if !self.active.load(Ordering::Relaxed) {
            return None;
        }
        let mut queue = self.lock();
        loop {
            let unit = queue.left.pop_front()?;
            if !queue.done.contains(&unit.file()) {
                return Some(unit);
            }
        }
    }

    /// Whether a unit in progress is still wanted.
    pub fn is_wanted(&self, unit: &Unit) -> bool {
        !self.lock().done.contains(&unit.file())
    }

    /// Stores a result unless another has arrived.
    pub fn put(&self, file: &Path, unit: &Unit) -> Result<()> {
        if self.inbox.path(&unit.file()).exists() {
            _ = std::fs::remove_file(file);
        } else {
            self.lock().own.insert(unit.file());
            self.inbox.put(file, unit)?;
        }
        _ = self.messages.send(Ok(()));
        Ok(())
    }

    pub fn set_active(&self, active: bool) {
        self.active.store(active, Ordering::Relaxed);
    }

    pub fn set_done(&self, name: &str) {
        self.lock().done.insert(name.to_owned());
    }

    pub fn have_made(&self, name: &str) -> bool {
        self.lock().own.contains(name)
    }

    /// Repeats a unit whose result was refused.
    pub fn do_again(&self, unit: &Unit) {
        let mut queue = self.lock();
        queue.done.remove(&unit.file());
        queue.own.remove(&unit.file());
        queue.left.push_front(unit.clone());
    }

    fn lock(&self) -> MutexGuard<'_, OwnQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
