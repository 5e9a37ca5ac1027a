use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::request::{Query, QueryId};
use crate::search::RunningId;

/// In bytes; enough except in the widest positions.
const BYTES_PER_VISIT: u64 = 512;

const LEAST_MEMORY: u64 = 256 << 10;

#[derive(Clone, Debug)]
pub struct Job {
    pub query: Arc<Query>,
    pub turn: usize,
}

#[derive(Debug)]
pub struct RunningJob {
    pub job: Job,
    pub id: RunningId,
    pub memory: usize,
    pub deadline: Option<Instant>,
    pub is_terminated: Arc<AtomicBool>,
}

/// Waiting searches, which have no tree yet, and running ones, numbered in the order of queries and turns.
#[derive(Debug)]
pub struct JobQueue {
    /// By falling priority, then by number.
    waiting: BTreeMap<(Reverse<i64>, u64), Job>,
    running: BTreeMap<u64, RunningJob>,
    numbered: u64,
    open: HashMap<QueryId, usize>,
    /// A search begins only while fewer searches of its priority or higher are running.
    capacity: usize,
    /// Limit for all trees, in bytes.
    memory: usize,
}

impl JobQueue {
    pub fn new(capacity: usize, memory: usize) -> JobQueue {
        JobQueue {
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            numbered: 0,
            open: HashMap::new(),
            capacity,
            memory,
        }
    }

    pub fn add(&mut self, query: &Arc<Query>) {
        *self.open.entry(query.id.clone()).or_default() += query.turns.len();
        for turn in &query.turns {
            self.numbered += 1;
            let job = Job { query: Arc::clone(query), turn: *turn };
            self.waiting.insert((Reverse(query.priority), self.numbered), job);
        }
    }

    /// Returns number, job and memory in bytes of the first waiting search, unless memory or the capacity for its
    /// priority is used up. Searches behind it wait, too.
    pub fn take_next(&mut self) -> Option<(u64, Job, usize)> {
        let (&(Reverse(priority), number), job) = self.waiting.first_key_value()?;
        let before = self.running.values().filter(|running| running.job.query.priority >= priority).count();
        let used: usize = self.running.values().map(|running| running.memory).sum();
        let memory = self.memory_of(&job.query);
        let may_run = self.running.is_empty() || (before < self.capacity && used + memory <= self.memory);
        if !may_run {
            return None;
        }
        let job = self.waiting.remove(&(Reverse(priority), number))?;
        Some((number, job, memory))
    }

    /// In bytes. At most 3/8 of the total, so that small searches fit beside two large ones.
    fn memory_of(&self, query: &Query) -> usize {
        let most = self.memory / 8 * 3;
        let needed = query.nodes.map_or(u64::MAX, |nodes| LEAST_MEMORY + nodes * BYTES_PER_VISIT);
        usize::try_from(needed).unwrap_or(usize::MAX).min(most)
    }

    pub fn begin(&mut self, number: u64, running: RunningJob) {
        self.running.insert(number, running);
    }

    pub fn end(&mut self, number: u64) {
        if let Some(running) = self.running.remove(&number) {
            self.close(&running.job.query.id);
        }
    }

    fn close(&mut self, id: &QueryId) {
        if let Some(left) = self.open.get_mut(id) {
            *left -= 1;
            if *left == 0 {
                self.open.remove(id);
            }
        }
    }

    pub fn running(&self) -> impl Iterator<Item = &RunningJob> {
        self.running.values()
    }

    pub fn overdue(&mut self, now: Instant) -> Vec<RunningId> {
        let is_overdue = |running: &&mut RunningJob| running.deadline.is_some_and(|deadline| deadline <= now);
        let overdue = self.running.values_mut().filter(is_overdue);
        overdue.map(|running| (running.deadline = None, running.id).1).collect()
    }

    /// Returns the removed searches in the order in which they would have begun.
    pub fn remove(&mut self, is_wanted: impl Fn(&Job) -> bool) -> Vec<Job> {
        let removed: Vec<Job> =
            self.waiting.extract_if(.., |_, job| is_wanted(job)).map(|(_, job)| job).collect();
        removed.iter().for_each(|job| self.close(&job.query.id));
        removed
    }

    pub fn has(&self, id: &QueryId) -> bool {
        self.open.contains_key(id)
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}
