//! The state of a running search that the workers share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use shakmaty::Move;

use super::context::SearchContext;
use super::in_flight::{Expansion, InFlightVisit};
use super::observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
use super::pending::PendingBatch;
use super::report::{MoveStats, Report};
use super::round::{self, TreeAccess};
use super::tree::Tree;

/// One search by all workers of a pool.
pub(super) struct SharedSearch {
    pub context: SearchContext,
    tree: Mutex<Tree>,
    tree_changed: Condvar,
    /// Applied visits, to be read without the lock.
    playouts: AtomicU64,
    /// The observer's estimate of the visits to come; `u64::MAX` if unknown.
    expected_visits: AtomicU64,
    /// `None` after the outcome was delivered.
    observer: Mutex<Option<Box<dyn SearchObserver>>>,
    // The end.
    stop: AtomicBool,
    end: Mutex<Option<(EndReason, Option<String>)>>,
    /// A worker panicked with visits in flight: the tree cannot be used any more.
    broken: AtomicBool,
    running_workers: AtomicUsize,
    finished: Mutex<bool>,
    all_finished: Condvar,
}

/// Locks even after a panic elsewhere: the guarded data is valid between any two calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One worker's access to the tree: takes the lock when needed, and publishes the visits when it gives it back.
pub(super) struct LockedTree<'a> {
    search: &'a SharedSearch,
    guard: Option<MutexGuard<'a, Tree>>,
}

impl TreeAccess for LockedTree<'_> {
    fn tree(&mut self) -> &mut Tree {
        self.guard.get_or_insert_with(|| lock(&self.search.tree))
    }

    fn release(&mut self) {
        if let Some(tree) = self.guard.take() {
            self.search.playouts.store(tree.playouts(), Ordering::Relaxed);
        }
    }
}

impl Drop for LockedTree<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

impl LockedTree<'_> {
    /// Waits until another worker changes the tree, if any has visits in flight. Otherwise there is nothing left to
    /// gather: returns the reason if that is the limit of visits.
    pub fn wait_for_change(mut self) -> Option<EndReason> {
        let search = self.search;
        let tree = self.tree();
        let (in_flight, visits_left) = (tree.in_flight(), search.context.visits_left(tree));
        if in_flight > 0 && !search.is_stopped() {
            if let Some(guard) = self.guard.take() {
                drop(search.tree_changed.wait(guard));
            }
            return None;
        }
        (visits_left == 0).then_some(EndReason::Limit)
    }
}

impl SharedSearch {
    /// A search by so many workers, which have to be started.
    pub fn new(
        context: SearchContext,
        tree: Tree,
        observer: Box<dyn SearchObserver>,
        workers: usize,
    ) -> SharedSearch {
        SharedSearch {
            context,
            tree: Mutex::new(tree),
            tree_changed: Condvar::new(),
            playouts: AtomicU64::new(0),
            expected_visits: AtomicU64::new(u64::MAX),
            observer: Mutex::new(Some(observer)),
            stop: AtomicBool::new(false),
            end: Mutex::new(None),
            broken: AtomicBool::new(false),
            running_workers: AtomicUsize::new(workers),
            finished: Mutex::new(false),
            all_finished: Condvar::new(),
        }
    }

    /// Access to the tree for one worker.
    pub fn access(&self) -> LockedTree<'_> {
        LockedTree { search: self, guard: None }
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The observer's estimate of the visits to come.
    pub fn expected_visits(&self) -> Option<u64> {
        Some(self.expected_visits.load(Ordering::Relaxed)).filter(|visits| *visits < u64::MAX)
    }

    /// Ends the search; only the first reason counts.
    pub fn end(&self, reason: EndReason, error: Option<String>) {
        lock(&self.end).get_or_insert((reason, error));
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that a worker about to wait either sees the flag or is notified.
        let _tree = lock(&self.tree);
        self.tree_changed.notify_all();
    }

    /// Ends the search of a worker that panicked: its visits stay in flight for ever.
    pub fn end_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
        self.end(EndReason::Failed, Some("a search worker panicked".into()));
    }

    /// Applies evaluated leaves; returns the reason if the search is over by itself.
    pub fn apply(&self, leaves: Vec<(InFlightVisit, Expansion)>, full: bool) -> Option<EndReason> {
        let mut access = self.access();
        let tree = access.tree();
        if round::apply(tree, leaves) {
            self.context.add_noise(tree);
        }
        let reason = self.context.end_reason(tree, full);
        drop(access);
        self.tree_changed.notify_all();
        reason
    }

    /// Cancels the visits of a batch.
    pub fn cancel(&self, batch: &mut PendingBatch) {
        batch.cancel(&mut lock(&self.tree));
    }

    /// Calls the observer, unless another worker is calling it; returns the reason if it stops the search.
    pub fn observe_round(&self) -> Option<EndReason> {
        let Ok(mut observer) = self.observer.try_lock() else { return None };
        match observer.as_mut().map_or(SearchControl::Stop, |observer| observer.round(self)) {
            SearchControl::Continue { expected_visits } => {
                self.expected_visits.store(expected_visits.unwrap_or(u64::MAX), Ordering::Relaxed);
                None
            }
            SearchControl::Stop => Some(EndReason::Stopped),
        }
    }

    /// Called by each worker when it leaves the search; the last one delivers the outcome.
    pub fn leave(&self) {
        if self.running_workers.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let outcome = self.outcome();
        // Taken out, so that a channel inside it is closed even if it panics.
        let observer = lock(&self.observer).take();
        let delivered =
            catch_unwind(AssertUnwindSafe(|| observer.map(|mut observer| observer.done(outcome))));
        if delivered.is_err() {
            log::error!("the search's observer panicked when it received the outcome");
        }
        // Between two searches, so that a nearly full tree does not interrupt the next one.
        let make_room = || lock(&self.tree).make_room();
        if !self.is_broken() && catch_unwind(AssertUnwindSafe(make_room)).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        *lock(&self.finished) = true;
        self.all_finished.notify_all();
    }

    /// The outcome, whatever went wrong: callers may be waiting for it.
    fn outcome(&self) -> SearchOutcome {
        let (end_reason, error) = lock(&self.end).take().unwrap_or((EndReason::Stopped, None));
        let read = || {
            let tree = lock(&self.tree);
            debug_assert!(self.is_broken() || tree.check_at_rest() == Ok(()));
            (tree.report(usize::MAX), tree.stats())
        };
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok((report, stats)) => SearchOutcome { report, stats, end_reason, error },
            Err(_) => SearchOutcome {
                report: Report::default(),
                stats: Vec::new(),
                end_reason: EndReason::Failed,
                error: error.or(Some("the search tree is inconsistent".into())),
            },
        }
    }

    /// Waits until the outcome was delivered.
    pub fn wait(&self) {
        let mut finished = lock(&self.finished);
        while !*finished {
            finished = self.all_finished.wait(finished).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the outcome was delivered.
    pub fn is_finished(&self) -> bool {
        *lock(&self.finished)
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Takes the tree of a finished search, unless a worker left it inconsistent.
    pub fn take_tree(&self) -> Option<Tree> {
        if self.is_broken() {
            return None;
        }
        // A worker may hold a reference to the search a moment longer: leave an empty tree.
        Some(std::mem::replace(&mut *lock(&self.tree), Tree::empty(0)))
    }
}

impl SearchView for SharedSearch {
    fn visits(&self) -> u64 {
        self.playouts.load(Ordering::Relaxed)
    }

    fn lead(&self) -> (u64, u64) {
        lock(&self.tree).lead()
    }

    fn stats(&self) -> Vec<MoveStats> {
        lock(&self.tree).stats()
    }

    fn best(&self) -> Option<Move> {
        lock(&self.tree).best()
    }

    fn report(&self, multipv: usize) -> Report {
        lock(&self.tree).report(multipv)
    }
}
