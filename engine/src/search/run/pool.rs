use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::base::threads::{self, Thread};
use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::eval::Evaluator;
use crate::search::params::{Limits, Params};
use crate::search::run::context::SearchContext;
use crate::search::run::mate_probe::MateProbe;
use crate::search::run::observer::{EndReason, SearchControl, SearchObserver, SearchOutcome, SearchView};
use crate::search::run::shared::SharedSearch;
use crate::search::run::worker::{WorkEnd, Worker};
use crate::search::tree::Tree;

/// Runs one search at a time with its workers, each of which has an evaluator.
pub struct Pool {
    params: Params,
    native: bool,
    tables: Tables,
    memory: usize,
    workers: Workers,
    current: Option<Arc<SharedSearch>>,
    /// Memory of a cleared search.
    empty: Option<(Tree, MateProbe)>,
}

enum Workers {
    Threads { jobs: Vec<Sender<Arc<SharedSearch>>>, threads: Vec<Thread> },
    Driven(Box<Worker>),
}

struct OutcomeSender(Sender<SearchOutcome>);

impl SearchObserver for OutcomeSender {
    fn round(&mut self, view: &dyn SearchView) -> SearchControl {
        ().round(view)
    }

    fn done(&mut self, outcome: SearchOutcome) {
        // Fails only if nobody waits for the outcome.
        let _ = self.0.send(outcome);
    }
}

/// Splits `memory` bytes between both.
pub(in crate::search) fn empty_memory(memory: usize, native: bool) -> (Tree, MateProbe) {
    (Tree::empty(memory.saturating_sub(MateProbe::memory(memory))), MateProbe::new(memory, native))
}

/// Whether all evaluators have separate value and policy.
pub(in crate::search) fn are_native(evaluators: &mut [Box<dyn Evaluator>]) -> bool {
    evaluators.iter_mut().all(|evaluator| evaluator.split().is_some())
}

impl Pool {
    /// Starts a thread per evaluator. `memory` bounds tree and mate search, in bytes.
    pub fn new(mut evaluators: Vec<Box<dyn Evaluator>>, params: Params, memory: usize) -> Pool {
        let native = are_native(&mut evaluators);
        let mut jobs = Vec::new();
        let mut threads = Vec::new();
        for (index, evaluator) in evaluators.into_iter().enumerate() {
            let (sender, receiver) = unbounded();
            let name = format!("search-{index}");
            threads.push(threads::spawn(name, move || work(Worker::new(evaluator, index), &receiver)));
            jobs.push(sender);
        }
        threads.iter().for_each(Thread::wait_for_begin);
        Pool::of(Workers::Threads { jobs, threads }, native, params, memory)
    }

    /// One worker without a thread: a search makes progress only in [`Pool::advance`] and where the pool waits for it.
    pub fn driven(mut evaluator: Box<dyn Evaluator>, params: Params, memory: usize) -> Pool {
        let native = are_native(std::slice::from_mut(&mut evaluator));
        Pool::of(Workers::Driven(Box::new(Worker::new(evaluator, 0))), native, params, memory)
    }

    fn of(workers: Workers, native: bool, params: Params, memory: usize) -> Pool {
        Pool { params, native, tables: Tables::default(), memory, workers, current: None, empty: None }
    }

    /// Stops a running search first. Without limits, searches until the root is proven.
    pub fn search(&mut self, game: &Game, limits: Limits) -> SearchOutcome {
        let (sender, receiver) = bounded(1);
        self.start(game.clone(), limits, Box::new(OutcomeSender(sender)));
        self.wait();
        receiver.recv().expect("every search delivers an outcome")
    }

    /// Stops a running search first and returns at once. Reuses the last tree if it contains the new root.
    pub fn start(&mut self, root: Game, limits: Limits, observer: Box<dyn SearchObserver>) {
        self.stop();
        self.wait();
        let (mut tree, mates) = self.take_memory().unwrap_or_else(|| empty_memory(self.memory, self.native));
        let params = self.params.clone();
        let tables = self.tables.clone();
        let workers = match &self.workers {
            Workers::Threads { jobs, .. } => jobs.len(),
            Workers::Driven(_) => 1,
        };
        let (context, kept) = SearchContext::start(&mut tree, root, limits, params, tables, workers);
        if kept {
            context.add_noise(&mut tree);
        }
        let search = Arc::new(SharedSearch::new(context, tree, mates, observer, workers));
        if search.context.root_moves.is_empty() {
            search.end(EndReason::Exhausted, None);
        } else if search.context.limits.visits == Some(0) {
            search.end(EndReason::Limit, None);
        }
        match &mut self.workers {
            Workers::Threads { jobs, .. } => {
                for job in jobs {
                    job.send(Arc::clone(&search)).expect("workers live as long as the pool");
                }
            }
            Workers::Driven(worker) => worker.begin(&search),
        }
        self.current = Some(search);
    }

    /// Searches with a [driven](Pool::driven) worker until the search ends, or until `pause`, which is asked after each
    /// round. Returns whether the search goes on.
    pub fn advance(&mut self, pause: &mut dyn FnMut() -> bool) -> bool {
        if let (Workers::Driven(worker), Some(search)) = (&mut self.workers, &self.current)
            && !search.is_finished()
            && work_on(worker, search, pause)
        {
            search.leave();
        }
        self.searching()
    }

    pub fn stop(&self) {
        if let Some(search) = &self.current {
            search.end(EndReason::Stopped, None);
        }
    }

    pub fn wait(&mut self) {
        self.advance(&mut || false);
        if let Some(search) = &self.current {
            search.wait();
        }
    }

    pub fn searching(&self) -> bool {
        self.current.as_ref().is_some_and(|search| !search.is_finished())
    }

    pub fn read_tree<T>(&self, read: impl FnOnce(&Tree) -> T) -> Option<T> {
        self.current.as_ref().map(|search| read(&search.tree()))
    }

    /// Stops a running search and frees most of its memory.
    pub fn clear(&mut self) {
        self.stop();
        self.wait();
        self.empty = self.take_memory().map(|(tree, mates)| (tree.emptied(), mates));
    }

    fn take_memory(&mut self) -> Option<(Tree, MateProbe)> {
        self.current.take().and_then(|search| search.take_memory()).or_else(|| self.empty.take())
    }

    pub fn is_native(&self) -> bool {
        self.native
    }

    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    pub fn set_tables(&mut self, tables: Tables) {
        self.tables = tables;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
        self.advance(&mut || false);
        let Workers::Threads { jobs, threads } = &mut self.workers else { return };
        jobs.clear();
        for thread in threads.drain(..) {
            if !thread.join() {
                log::error!("a search worker panicked");
            }
        }
    }
}

fn work(mut worker: Worker, jobs: &Receiver<Arc<SharedSearch>>) {
    for search in jobs {
        worker.begin(&search);
        work_on(&mut worker, &search, &mut || false);
        search.leave();
    }
}

/// Returns whether the worker has no more to do. Even after a failure or panic, the search must end and deliver its
/// outcome.
fn work_on(worker: &mut Worker, search: &SharedSearch, pause: &mut dyn FnMut() -> bool) -> bool {
    match catch_unwind(AssertUnwindSafe(|| worker.run(search, pause))) {
        Ok(Ok(WorkEnd::Paused)) => return false,
        Ok(Ok(WorkEnd::Over(None))) => {}
        Ok(Ok(WorkEnd::Over(Some(reason)))) => search.end(reason, None),
        Ok(Err(error)) => search.end(EndReason::Failed, Some(error.to_string())),
        Err(_) => search.end_broken(),
    }
    true
}
