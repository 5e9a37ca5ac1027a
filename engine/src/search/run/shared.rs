use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use shakmaty::Move;
use web_time::{Duration, Instant};

use crate::chess::mates::ForcedMate;
use crate::search::run::context::SearchContext;
use crate::search::run::mate_probe::{MateProbe, Probed};
use crate::search::run::observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
use crate::search::run::report::{MoveStats, Report};
use crate::search::tree::Tree;
use crate::search::tree::proof::Proof;

/// Longest wait of a worker without a leaf for others' results.
const COLLISION_WAIT: Duration = Duration::from_millis(1);

pub(in crate::search) struct SharedSearch {
    pub context: SearchContext,
    /// Read-locked for visits, write-locked to free memory.
    tree: RwLock<Tree>,
    tickets: AtomicU64,
    /// The observer's estimate; `u64::MAX` if unknown.
    expected_visits: AtomicU64,
    mates: Mutex<MateProbe>,
    waiting: AtomicUsize,
    wait: Mutex<()>,
    changed: Condvar,
    /// `None` once the outcome is delivered.
    observer: Mutex<Option<Box<dyn SearchObserver>>>,
    stop: AtomicBool,
    end: Mutex<Option<(EndReason, Option<String>)>>,
    /// A worker panicked with visits in flight, so the tree is unusable.
    broken: AtomicBool,
    running_workers: AtomicUsize,
    finished: Mutex<bool>,
    all_finished: Condvar,
}

/// Ignores poisoning: the guarded data is valid between any two calls.
pub(in crate::search) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedSearch {
    pub fn new(
        context: SearchContext,
        tree: Tree,
        mut mates: MateProbe,
        observer: Box<dyn SearchObserver>,
        workers: usize,
    ) -> SharedSearch {
        mates.start(&context);
        SharedSearch {
            tickets: AtomicU64::new(context.limits.visits.unwrap_or(u64::MAX / 2)),
            context,
            tree: RwLock::new(tree),
            expected_visits: AtomicU64::new(u64::MAX),
            mates: Mutex::new(mates),
            waiting: AtomicUsize::new(0),
            wait: Mutex::new(()),
            changed: Condvar::new(),
            observer: Mutex::new(Some(observer)),
            stop: AtomicBool::new(false),
            end: Mutex::new(None),
            broken: AtomicBool::new(false),
            running_workers: AtomicUsize::new(workers),
            finished: Mutex::new(false),
            all_finished: Condvar::new(),
        }
    }

    /// Locks the tree for visits; workers release it between rounds.
    pub fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree_alone(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another worker waits for exclusive access. A worker that holds other trees must use this, because
    /// it must not block.
    pub fn try_tree(&self) -> Option<RwLockReadGuard<'_, Tree>> {
        match self.tree.try_read() {
            Ok(tree) => Some(tree),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// One ticket per visit; unused tickets must be returned.
    pub fn take_tickets(&self, wanted: u64) -> u64 {
        let take = |left: u64| Some(left - left.min(wanted));
        let left = self.tickets.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.unwrap_or(0).min(wanted)
    }

    pub fn return_tickets(&self, count: u64) {
        if count > 0 {
            self.tickets.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Frees tree memory, unless another worker has done so since `recycled` was [read](Tree::recycled). Returns a
    /// reason to end if nothing is left to free.
    pub fn recycle(&self, recycled: u64) -> Option<EndReason> {
        let mut tree = self.tree_alone();
        if tree.recycled() != recycled {
            return None;
        }
        let begun = Instant::now();
        let has_hope = tree.recycle();
        log::debug!("the tree was full: memory freed in {} µs", begun.elapsed().as_micros());
        (!has_hope).then_some(EndReason::Exhausted)
    }

    /// Spends the mate-search nodes of `visits` visits, unless another worker is searching for mates. Returns a reason
    /// to end: a root mate or, in a search for a mate, its absence.
    pub fn look_for_mate(&self, visits: u64) -> Option<EndReason> {
        let mut mates = self.mates.try_lock().ok()?;
        let most_visited = |visits, plies| self.tree().most_visited(visits, plies);
        // A node's Q is for the side that moved into it.
        let value = -self.tree().root().q;
        match mates.advance(&self.context, visits, value, most_visited, &mut || self.is_stopped())? {
            Probed::Mate(mate) => self.record_mate(&mate).then_some(EndReason::Exhausted),
            Probed::NoMate => Some(EndReason::Exhausted),
            Probed::MateAfter(line, plies) => {
                let mut tree = self.tree_alone();
                tree.prove_after(&line, plies);
                self.context.end_reason(&tree)
            }
        }
    }

    /// Before a proven win ends the search, looks for a shorter mate, or for any mate if tables prove the win. A shorter
    /// mate without its whole line does not replace a proven one.
    pub fn before_end(&self, reason: EndReason) {
        let proof = self.tree().root_proof();
        if let (EndReason::Exhausted, Some(win @ Proof::Win(_))) = (reason, proof)
            && let Some(mate) = lock(&self.mates).shorten(&self.context, win.mate(), &mut || {
                self.is_stopped() || self.observe_round().is_some()
            })
            && (win.mate().is_none() || mate.is_whole())
        {
            self.record_mate(&mate);
        }
    }

    /// Returns false if the first move is no root move or there is no room.
    fn record_mate(&self, mate: &ForcedMate) -> bool {
        if !mate.line.first().is_some_and(|first| self.context.root_moves.contains(first)) {
            return false;
        }
        let mut tree = self.tree_alone();
        tree.prove_mate(mate) || tree.recycle() && tree.prove_mate(mate)
    }

    /// Returns the reason if the search is over.
    pub fn wait_for_change(&self) -> Option<EndReason> {
        if let Some(reason) = self.context.end_reason(&self.tree()) {
            return Some(reason);
        }
        let guard = lock(&self.wait);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if !self.is_stopped() {
            // A missed notification costs only the time-out.
            drop(self.changed.wait_timeout(guard, COLLISION_WAIT));
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        None
    }

    pub fn changed(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn expected_visits(&self) -> Option<u64> {
        Some(self.expected_visits.load(Ordering::Relaxed)).filter(|visits| *visits < u64::MAX)
    }

    pub fn end(&self, reason: EndReason, error: Option<String>) {
        lock(&self.end).get_or_insert((reason, error));
        self.stop.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub fn end_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
        self.end(EndReason::Failed, Some("a search worker panicked".into()));
    }

    /// Returns the reason if the observer stops the search.
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

    /// The search must not be over.
    pub fn join(&self) {
        self.running_workers.fetch_add(1, Ordering::AcqRel);
    }

    /// The last worker to leave delivers the outcome.
    pub fn leave(&self) {
        if self.running_workers.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let outcome = self.outcome();
        // Taken out, so that a channel in it closes even after a panic.
        let observer = lock(&self.observer).take();
        let delivered =
            catch_unwind(AssertUnwindSafe(|| observer.map(|mut observer| observer.done(outcome))));
        if delivered.is_err() {
            log::error!("the search's observer panicked when it received the outcome");
        }
        *lock(&self.finished) = true;
        self.all_finished.notify_all();
    }

    /// Must not fail: callers may be waiting for the outcome.
    fn outcome(&self) -> SearchOutcome {
        let (end_reason, error) = lock(&self.end).take().unwrap_or((EndReason::Stopped, None));
        let read = || {
            let tree = self.tree();
            debug_assert!(self.is_broken() || tree.check_at_rest() == Ok(()), "{:?}", tree.check_at_rest());
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

    pub fn wait(&self) {
        let mut finished = lock(&self.finished);
        while !*finished {
            finished = self.all_finished.wait(finished).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn is_finished(&self) -> bool {
        *lock(&self.finished)
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// `None` after a worker's panic.
    pub fn take_memory(&self) -> Option<(Tree, MateProbe)> {
        if self.is_broken() {
            return None;
        }
        // An empty tree stays behind, because a worker may still hold the search.
        let mates = std::mem::replace(&mut *lock(&self.mates), MateProbe::new(0, false));
        let mut tree = self.tree_alone();
        Some((std::mem::replace(&mut *tree, Tree::empty(0)), mates))
    }
}

impl SearchView for SharedSearch {
    fn visits(&self) -> u64 {
        self.tree().playouts()
    }

    fn lead(&self) -> (u64, u64) {
        self.tree().lead()
    }

    fn stats(&self) -> Vec<MoveStats> {
        self.tree().stats()
    }

    fn best(&self) -> Option<Move> {
        self.tree().best()
    }

    fn report(&self, multipv: usize) -> Report {
        self.tree().report(multipv)
    }
}
