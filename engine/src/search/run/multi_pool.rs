use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::eval::{EvalError, Evaluator, Request};
use crate::search::params::{Limits, Params};
use crate::search::run::context::SearchContext;
use crate::search::run::observer::{EndReason, SearchObserver};
use crate::search::run::pending::PendingBatch;
use crate::search::run::pool::{are_native, empty_memory};
use crate::search::run::shared::{SharedSearch, lock};
use crate::search::run::walker::Walker;
use crate::search::run::worker::{GATHER_PASSES, GatherRound, WalkedRound, evaluate, walk_round};

const WAIT: Duration = Duration::from_millis(1);

/// Worker threads, each with an evaluator, that serve many searches at once.
///
/// A batch collects leaves of several searches, so that it is full although each adds few. A lone search gets all
/// workers.
pub struct MultiPool {
    desk: Arc<Desk>,
    tables: Tables,
    capacity: usize,
    native: bool,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Clone, Debug)]
pub struct SearchTask {
    pub root: Game,
    pub limits: Limits,
    /// [`Params::batch`] limits the search's leaves in a worker's batch.
    pub params: Params,
    /// Only searches of the highest priority run; others wait.
    pub priority: i64,
    /// In bytes, for tree and mate search.
    pub memory: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunningId(u64);

/// The running searches, shared by the pool and its workers.
#[derive(Default)]
struct Desk {
    state: Mutex<DeskState>,
    /// Signals a new search, and applied visits to waiting workers.
    changed: Condvar,
}

#[derive(Default)]
struct DeskState {
    /// By falling priority, then by start.
    entries: Vec<DeskEntry>,
    started: u64,
    waiting: usize,
    is_closed: bool,
}

struct DeskEntry {
    running: Arc<Running>,
    /// Workers in a round of this search.
    users: usize,
}

/// The desk counts as a worker of the search until it ends, so that the outcome is not delivered between rounds.
struct Running {
    id: RunningId,
    priority: i64,
    search: SharedSearch,
}

impl MultiPool {
    /// Starts one worker per evaluator, with batches of at most `batch`.
    pub fn new(mut evaluators: Vec<Box<dyn Evaluator>>, tables: Tables, batch: usize) -> MultiPool {
        let desk = Arc::<Desk>::default();
        let workers = evaluators.len();
        let native = are_native(&mut evaluators);
        // Doubled, so that a worker whose search has ended finds another one at once.
        let capacity = if native { 2 * workers } else { workers * batch };
        let start = |(number, evaluator)| {
            let desk = Arc::clone(&desk);
            let thread = std::thread::Builder::new().name(format!("search-{number}"));
            let work = move || work(&desk, MultiWorker::new(evaluator, number, workers, batch));
            thread.spawn(work).expect("a thread for a worker")
        };
        let threads = evaluators.into_iter().enumerate().map(start).collect();
        MultiPool { desk, tables, capacity, native, threads }
    }

    /// Searches that keep all workers busy if each adds few leaves.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns at once. If there is nothing to search, the observer receives the outcome first.
    pub fn start(&self, task: SearchTask, observer: Box<dyn SearchObserver>) -> RunningId {
        let SearchTask { root, limits, params, priority, memory } = task;
        let (params, workers) = (Params { reuse: false, ..params }, self.threads.len());
        let (mut tree, mates) = empty_memory(memory, self.native);
        let (context, _) =
            SearchContext::start(&mut tree, root, limits, params, self.tables.clone(), workers);
        let search = SharedSearch::new(context, tree, mates, observer, 1);
        let has_nothing = search.context.root_moves.is_empty();
        let is_over = has_nothing || search.context.limits.visits == Some(0);
        let mut state = lock(&self.desk.state);
        state.started += 1;
        let id = RunningId(state.started);
        if is_over {
            drop(state);
            search.end(if has_nothing { EndReason::Exhausted } else { EndReason::Limit }, None);
            search.leave();
            return id;
        }
        let running = Arc::new(Running { id, priority, search });
        let place = state.entries.partition_point(|entry| entry.running.priority >= priority);
        state.entries.insert(place, DeskEntry { running, users: 0 });
        drop(state);
        self.desk.changed.notify_all();
        id
    }

    /// Returns at once.
    pub fn stop(&self, id: RunningId) {
        let mut state = lock(&self.desk.state);
        let Some(place) = state.entries.iter().position(|entry| entry.running.id == id) else { return };
        let entry = state.entries.remove(place);
        drop(state);
        entry.running.search.end(EndReason::Stopped, None);
        entry.running.search.leave();
    }
}

impl Drop for MultiPool {
    fn drop(&mut self) {
        let entries = {
            let mut state = lock(&self.desk.state);
            state.is_closed = true;
            std::mem::take(&mut state.entries)
        };
        self.desk.changed.notify_all();
        for entry in entries {
            entry.running.search.end(EndReason::Stopped, None);
            entry.running.search.leave();
        }
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a search worker panicked");
            }
        }
    }
}

impl Desk {
    /// Takes a worker's share, at most `most`, of the searches with the highest priority, those with fewest workers
    /// first. Waits if there is none; `None` when the pool is dropped.
    fn take(&self, workers: usize, most: usize) -> Option<Vec<Arc<Running>>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(highest) = state.entries.first().map(|entry| entry.running.priority) {
                let of_highest = |entry: &&mut DeskEntry| entry.running.priority == highest;
                let mut entries: Vec<_> = state.entries.iter_mut().take_while(of_highest).collect();
                let share = entries.len().div_ceil(workers).min(most);
                entries.sort_by_key(|entry| entry.users);
                let taken = entries.into_iter().take(share).map(|entry| {
                    entry.users += 1;
                    entry.running.search.join();
                    Arc::clone(&entry.running)
                });
                return Some(taken.collect());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, taken: Vec<Arc<Running>>) {
        let mut ended = Vec::new();
        let mut state = lock(&self.state);
        for running in &taken {
            // Absent if the search was ended elsewhere.
            if let Some(place) = state.entries.iter().position(|entry| entry.running.id == running.id) {
                state.entries[place].users -= 1;
                if running.search.is_stopped() {
                    ended.push(state.entries.remove(place).running);
                }
            }
        }
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
        // Once for this worker, and for ended searches once for the desk.
        taken.iter().chain(&ended).for_each(|running| running.search.leave());
    }

    fn wait(&self) {
        let mut state = lock(&self.state);
        state.waiting += 1;
        let (mut state, _) = self.changed.wait_timeout(state, WAIT).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
    }
}

struct MultiWorker {
    evaluator: Box<dyn Evaluator>,
    number: usize,
    workers: usize,
    /// Most positions per batch and searches per round.
    size: usize,
    walker: Walker,
    batches: Vec<PendingBatch>,
}

fn work(desk: &Desk, mut worker: MultiWorker) {
    while let Some(taken) = desk.take(worker.workers, worker.size) {
        // Even after a failure or panic, each search must end and deliver its outcome.
        let progress = match catch_unwind(AssertUnwindSafe(|| worker.round(&taken))) {
            Ok(Ok(progress)) => progress,
            Ok(Err(error)) => {
                for running in &taken {
                    running.search.end(EndReason::Failed, Some(error.to_string()));
                }
                true
            }
            Err(_) => {
                worker.batches.clear();
                taken.iter().for_each(|running| running.search.end_broken());
                true
            }
        };
        desk.give_back(taken);
        if !progress {
            desk.wait();
        }
    }
}

impl MultiWorker {
    fn new(mut evaluator: Box<dyn Evaluator>, number: usize, workers: usize, batch: usize) -> MultiWorker {
        let size = if evaluator.split().is_some() { 1 } else { batch.clamp(1, evaluator.max_batch()) };
        MultiWorker { evaluator, number, workers, size, walker: Walker::new(number), batches: Vec::new() }
    }

    /// Returns whether there was anything to do.
    fn round(&mut self, taken: &[Arc<Running>]) -> Result<bool, EvalError> {
        if let (Some(evaluator), [running]) = (self.evaluator.split(), taken) {
            self.walker.start(&running.search.context);
            let round = walk_round(&running.search, &mut self.walker, evaluator);
            let WalkedRound::Visited(reason) = round else { return Ok(false) };
            if let Some(reason) = reason {
                running.search.end(reason, None);
            }
            return Ok(true);
        }
        self.batch_round(taken)
    }

    fn batch_round(&mut self, taken: &[Arc<Running>]) -> Result<bool, EvalError> {
        while self.batches.len() < taken.len() {
            self.batches.push(PendingBatch::new(self.number));
        }
        // Trees stay locked during evaluation, so blocking on one could deadlock.
        let trees: Vec<_> = taken
            .iter()
            .zip(0..)
            .filter_map(|(running, place)| Some((place, running.search.try_tree()?)))
            .collect();
        let mut rounds: Vec<GatherRound> = trees.iter().map(|(_, tree)| GatherRound::new(tree)).collect();
        let mut gathered = 0;
        for pass in 1..=GATHER_PASSES {
            for ((place, tree), round) in trees.iter().zip(&mut rounds) {
                let (search, batch) = (&taken[*place].search, &mut self.batches[*place]);
                // All searches contribute equally at first; later passes fill the rest.
                let share = (pass * self.size.div_ceil(taken.len())).min(search.context.params.batch);
                let target = share.min(batch.len() + self.size - gathered);
                if !round.is_over && batch.len() < target {
                    let before = batch.len();
                    round.gather(search, tree, batch, target);
                    gathered += batch.len() - before;
                }
            }
        }
        let requests: Vec<Request<'_>> =
            trees.iter().flat_map(|(place, _)| self.batches[*place].requests()).collect();
        let answers = match evaluate(self.evaluator.as_mut(), &requests) {
            Ok(answers) => answers,
            Err(error) => {
                for (place, tree) in &trees {
                    self.batches[*place].cancel(tree);
                }
                return Err(error);
            }
        };
        let mut answers = &answers[..];
        for ((place, tree), round) in trees.iter().zip(&mut rounds) {
            let batch = &mut self.batches[*place];
            let (own, others) = answers.split_at(batch.len());
            round.apply(&taken[*place].search, tree, batch, own);
            answers = others;
        }
        // Blocking is safe from here on: this worker holds no tree.
        let places: Vec<usize> = trees.into_iter().map(|(place, _)| place).collect();
        let mut progress = false;
        for (place, round) in places.into_iter().zip(rounds) {
            let running = &taken[place];
            if !round.progress && !round.full {
                continue;
            }
            progress = true;
            if let Some(reason) = round.end(&running.search) {
                running.search.end(reason, None);
            }
        }
        Ok(progress)
    }
}
