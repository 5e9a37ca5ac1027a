//! The units that a process's own threads may do.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Receiver, Sender, unbounded};

use super::inbox::Inbox;
use super::task::UnitTask;
use super::unit::Unit;

/// How often a thread without work asks whether there is any.
pub const POLL_EVERY: Duration = Duration::from_millis(100);

/// What an own thread says when a unit's result is in the inbox, or when it has failed.
pub type OwnReport = Result<()>;

/// The units that own threads may do, shared by them and the collector.
pub struct OwnUnits<'a> {
    inbox: &'a Inbox,
    queue: Mutex<OwnQueue>,
    /// Whether threads may begin any.
    active: AtomicBool,
    messages: Sender<OwnReport>,
}

struct OwnQueue {
    left: VecDeque<Unit>,
    /// Names of results that are there or were taken over.
    done: BTreeSet<String>,
    /// Names of those that own threads have made.
    own: BTreeSet<String>,
}

impl<'a> OwnUnits<'a> {
    /// All `units`, in this order, and what the threads that do them say.
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

    /// Does `work` on an own thread; the collector hears if it fails or panics.
    pub fn reported(&self, work: impl FnOnce() -> Result<()>) {
        // Its units would never be finished after a panic, whose message the panic itself has printed.
        let done = catch_unwind(AssertUnwindSafe(work));
        let done = done.unwrap_or_else(|_| Err(anyhow!("a thread that works on units has panicked")));
        // The collector is gone only if it has ended the work.
        done.unwrap_or_else(|why| _ = self.messages.send(Err(why)));
    }

    /// Does the units that nobody has done, one after another, until `halt` is raised.
    ///
    /// # Errors
    ///
    /// A unit cannot be done.
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
            let done = task(&unit).and_then(|task| task.finish(&unit, folder, halt));
            if let Some(file) = done.with_context(|| unit.name())? {
                self.put(&file, &unit)?;
            }
        }
        Ok(())
    }

    /// The next unit to begin; none if there is none now.
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

    /// Whether a unit that is begun is still wanted.
    pub fn is_wanted(&self, unit: &Unit) -> bool {
        !self.lock().done.contains(&unit.file())
    }

    /// Takes the finished result of a unit.
    ///
    /// # Errors
    ///
    /// It cannot be moved.
    pub fn put(&self, file: &Path, unit: &Unit) -> Result<()> {
        // Only if nobody was faster.
        if self.inbox.path(&unit.file()).exists() {
            _ = std::fs::remove_file(file);
        } else {
            self.lock().own.insert(unit.file());
            self.inbox.put(file, unit)?;
        }
        _ = self.messages.send(Ok(()));
        Ok(())
    }

    /// Whether threads may begin units from now on.
    pub fn set_active(&self, active: bool) {
        self.active.store(active, Ordering::Relaxed);
    }

    /// Notes that the result of this name is there.
    pub fn set_done(&self, name: &str) {
        self.lock().done.insert(name.to_owned());
    }

    /// Whether own threads have made the result of this name.
    pub fn have_made(&self, name: &str) -> bool {
        self.lock().own.contains(name)
    }

    /// Has a unit done again, whose result was refused.
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
