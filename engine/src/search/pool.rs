//! The workers' threads, and one search at a time on them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use shakmaty::{Move, MoveList};

use super::desk::Site;
use super::observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
use super::worker::Worker;
use super::{Limits, MoveStats, Params, Report, Tree};
use crate::eval::Evaluator;
use crate::position::Game;
use crate::tables::Tables;

/// All that the workers share during one search.
pub(super) struct SearchState {
    // Fixed.
    pub root: Game,
    pub root_moves: MoveList,
    pub params: Params,
    pub tables: Tables,
    limits: Limits,
    // Grows.
    tree: Mutex<Tree>,
    pub tree_changed: Condvar,
    playouts: AtomicU64,
    /// Visits to come, as the watcher sees it; the greatest number if it doesn't know.
    expected: AtomicU64,
    /// None once it has been told of the end.
    observer: Mutex<Option<Box<dyn SearchObserver>>>,
    // Ends.
    stop: AtomicBool,
    ending: Mutex<Option<(EndReason, Option<String>)>>,
    /// A worker died with its tickets: the tree is not at rest, and never will be.
    broken: AtomicBool,
    running: AtomicUsize,
    finished: Mutex<bool>,
    all_finished: Condvar,
}

/// A lock that goes on after a panic elsewhere: what it guards is valid between any two calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SearchState {
    pub fn lock_tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    /// What positions are reached from.
    pub fn site(&self) -> Site<'_> {
        Site { root: &self.root, root_moves: &self.root_moves, params: &self.params, tables: &self.tables }
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the search; the first reason given stands.
    pub fn end(&self, ended: EndReason, error: Option<String>) {
        lock(&self.ending).get_or_insert((ended, error));
        self.stop.store(true, Ordering::Relaxed);
        // Under the lock, so that a worker about to wait either sees the flag or hears this.
        let _tree = self.lock_tree();
        self.tree_changed.notify_all();
    }

    pub fn publish(&self, tree: &Tree) {
        self.playouts.store(tree.playouts(), Ordering::Relaxed);
    }

    /// Visits that may still be gathered.
    pub fn visits_left(&self, tree: &Tree) -> u64 {
        let started = tree.playouts() + tree.in_flight();
        self.limits.visits.map_or(u64::MAX, |limit| limit.saturating_sub(started))
    }

    /// Visits that are still to come, if that matters and anybody knows.
    pub fn horizon(&self, tree: &Tree) -> Option<u64> {
        if self.params.smart_pruning <= 0.0 || self.limits.all_moves {
            return None;
        }
        let expected = self.expected.load(Ordering::Relaxed).min(self.visits_left(tree));
        (expected < u64::MAX).then_some(expected)
    }

    /// Mixes the noise that was asked for into the priors of the root, which has just got them.
    pub fn add_noise(&self, tree: &mut Tree) {
        if let Some(noise) = self.limits.noise {
            let shares = noise.shares(self.root_moves.len());
            tree.mix_into_root(noise.epsilon, &shares);
        }
    }

    pub fn limit_reached(&self, tree: &Tree) -> Option<EndReason> {
        let visits = self.limits.visits.is_some_and(|limit| tree.playouts() >= limit);
        let depth = self.limits.depth.is_some_and(|limit| tree.playouts() > 1 && tree.depth() >= limit);
        if visits || depth {
            return Some(EndReason::Limit);
        }
        let known = if self.limits.all_moves { tree.is_settled() } else { tree.root().proof.is_some() };
        known.then_some(EndReason::Exhausted)
    }

    /// Calls the observer, unless another worker is calling it; returns the reason if it stops the search.
    pub fn observe_round(&self) -> Option<EndReason> {
        let Ok(mut observer) = self.observer.try_lock() else { return None };
        match observer.as_mut().map_or(SearchControl::Stop, |observer| observer.round(self)) {
            SearchControl::Continue { expected_visits } => {
                self.expected.store(expected_visits.unwrap_or(u64::MAX), Ordering::Relaxed);
                None
            }
            SearchControl::Stop => Some(EndReason::Stopped),
        }
    }

    /// Called by each worker when it is done with the search; the last one reports the outcome.
    fn leave(&self, multipv: usize) {
        if self.running.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let (ended, error) = lock(&self.ending).take().unwrap_or((EndReason::Stopped, None));
        // Whoever waits for the end must not wait for ever, whatever goes wrong in here.
        let broken = self.broken.load(Ordering::Relaxed);
        let seen = catch_unwind(AssertUnwindSafe(|| {
            let tree = self.lock_tree();
            debug_assert!(broken || tree.check_at_rest() == Ok(()));
            (tree.report(multipv), tree.stats())
        }));
        let outcome = match seen {
            Ok((report, stats)) => SearchOutcome { report, stats, end_reason: ended, error },
            Err(_) => {
                let error = error.or(Some("the search's tree is in disorder".into()));
                SearchOutcome {
                    report: Report::default(),
                    stats: Vec::new(),
                    end_reason: EndReason::Failed,
                    error,
                }
            }
        };
        // Taken out, so that its end of any channel closes even if it panics.
        let observer = lock(&self.observer).take();
        let told = catch_unwind(AssertUnwindSafe(|| observer.map(|mut observer| observer.done(outcome))));
        if told.is_err() {
            log::error!("the search's end could not be told");
        }
        // While the opponent thinks, or the GUI does: a tree that is nearly full would be stopped for this
        // in the middle of the next search.
        if !broken && catch_unwind(AssertUnwindSafe(|| self.lock_tree().make_room())).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
        *lock(&self.finished) = true;
        self.all_finished.notify_all();
    }
}

impl SearchView for SearchState {
    fn visits(&self) -> u64 {
        self.playouts.load(Ordering::Relaxed)
    }

    fn lead(&self) -> (u64, u64) {
        self.lock_tree().lead()
    }

    fn stats(&self) -> Vec<MoveStats> {
        self.lock_tree().stats()
    }

    fn best(&self) -> Option<Move> {
        self.lock_tree().best()
    }

    fn report(&self, multipv: usize) -> Report {
        self.lock_tree().report(multipv)
    }
}

/// Workers, each with its evaluator, that live as long as the pool; dropping it stops and joins them.
pub struct Pool {
    params: Params,
    tables: Tables,
    memory: usize,
    jobs: Vec<Sender<Arc<SearchState>>>,
    threads: Vec<JoinHandle<()>>,
    current: Option<Arc<SearchState>>,
}

impl Pool {
    /// Starts one worker per evaluator. `memory` in bytes bounds the tree.
    pub fn new(evaluators: Vec<Box<dyn Evaluator>>, params: Params, memory: usize) -> Pool {
        let mut jobs = Vec::new();
        let mut threads = Vec::new();
        for (index, evaluator) in evaluators.into_iter().enumerate() {
            let (sender, receiver) = unbounded();
            let thread = std::thread::Builder::new()
                .name(format!("search-{index}"))
                .spawn(move || work(Worker::new(evaluator), &receiver))
                .expect("a thread for a worker");
            jobs.push(sender);
            threads.push(thread);
        }
        Pool { params, tables: Tables::default(), memory, jobs, threads, current: None }
    }

    /// Starts a search and returns at once. A search that still runs is stopped and waited for.
    ///
    /// Where the new position follows from the last one, the search goes on with its tree.
    pub fn start(&mut self, root: Game, limits: Limits, observer: Box<dyn SearchObserver>) {
        self.stop();
        self.wait();
        let mut tree = self
            .last_tree()
            .unwrap_or_else(|| Tree::new(root.clone(), &limits.root_moves, self.params.clone(), self.memory));
        // A depth is asked for to get the same every time.
        let reuse = self.params.reuse && limits.depth.is_none();
        let kept = tree.start(&root, &limits.root_moves, Params { reuse, ..self.params.clone() });
        log::debug!("search from {}: {}", root.fen(), if kept { "tree kept" } else { "new tree" });
        let root_moves: MoveList = tree.root_moves().iter().copied().collect();
        let search = Arc::new(SearchState {
            root,
            params: self.params.clone(),
            tables: self.tables.clone(),
            limits,
            tree: Mutex::new(tree),
            tree_changed: Condvar::new(),
            playouts: AtomicU64::new(0),
            expected: AtomicU64::new(u64::MAX),
            observer: Mutex::new(Some(observer)),
            stop: AtomicBool::new(false),
            ending: Mutex::new(None),
            broken: AtomicBool::new(false),
            running: AtomicUsize::new(self.jobs.len()),
            finished: Mutex::new(false),
            all_finished: Condvar::new(),
            root_moves,
        });
        if search.root_moves.is_empty() {
            search.end(EndReason::Exhausted, None);
        }
        if kept {
            search.add_noise(&mut search.lock_tree());
        }
        for job in &self.jobs {
            job.send(Arc::clone(&search)).expect("workers live as long as the pool");
        }
        self.current = Some(search);
    }

    /// The tree of the last search, which must have ended, unless a worker has left it in disorder.
    fn last_tree(&mut self) -> Option<Tree> {
        let last = self.current.take()?;
        if last.broken.load(Ordering::Relaxed) {
            return None;
        }
        // A worker may hold the search a moment longer: leave it a tree of nothing.
        let nothing = Tree::new(Game::new(), &[], Params::default(), 0);
        Some(std::mem::replace(&mut *last.lock_tree(), nothing))
    }

    /// Asks the running search, if any, to end; returns at once.
    pub fn stop(&self) {
        if let Some(search) = &self.current {
            search.end(EndReason::Stopped, None);
        }
    }

    /// Waits until the running search, if any, has ended and its watcher has been told.
    pub fn wait(&self) {
        if let Some(search) = &self.current {
            let mut finished = lock(&search.finished);
            while !*finished {
                finished = search.all_finished.wait(finished).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Whether a search runs.
    pub fn searching(&self) -> bool {
        self.current.as_ref().is_some_and(|search| !*lock(&search.finished))
    }

    /// Forgets the last search's tree; a running search is stopped first.
    pub fn clear(&mut self) {
        self.stop();
        self.wait();
        self.current = None;
    }

    /// Parameters from the next search on.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// Endgame tables from the next search on.
    pub fn set_tables(&mut self, tables: Tables) {
        self.tables = tables;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
        self.jobs.clear();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a search worker panicked");
            }
        }
    }
}

fn work(mut worker: Worker, jobs: &Receiver<Arc<SearchState>>) {
    for search in jobs {
        // Whatever happens in a worker, the search must end and its watcher must hear of it.
        if catch_unwind(AssertUnwindSafe(|| worker.run(&search))).is_err() {
            search.broken.store(true, Ordering::Relaxed);
            search.end(EndReason::Failed, Some("a search worker panicked".into()));
        }
        search.leave(usize::MAX);
    }
}
