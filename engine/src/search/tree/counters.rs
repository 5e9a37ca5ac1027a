//! Search counters, one set per worker to avoid contended cache lines.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::search::tree::node::Counter;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCounters {
    pub playouts: u64,
    pub evaluations: u64,
    /// Visits that backed up a transposition's mean.
    pub transpositions: u64,
    pub table_hits: u64,
    pub path_plies: u64,
    pub depth: u32,
    pub longest_path: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum VisitKind {
    Evaluation,
    Transposition,
    TableHit,
    /// Ended at a value already in the tree.
    Known,
}

pub(in crate::search) struct Counters {
    workers: Box<[CachePadded<WorkerCounters>]>,
    depth: AtomicU32,
    /// Playouts from which the depth counts: a reused tree's first visits only follow its principal variation.
    depth_counts_from: u64,
}

#[derive(Default)]
struct WorkerCounters {
    playouts: AtomicU64,
    evaluations: AtomicU64,
    transpositions: AtomicU64,
    table_hits: AtomicU64,
    path_plies: AtomicU64,
    longest_path: AtomicU32,
}

impl Counters {
    pub fn new(workers: usize, depth_counts_from: u64) -> Counters {
        Counters {
            workers: (0..workers.max(1)).map(|_| CachePadded::default()).collect(),
            depth: AtomicU32::new(0),
            depth_counts_from,
        }
    }

    #[inline]
    pub fn add(&self, worker: usize, kind: VisitKind, plies: usize) {
        let counters = &self.workers[worker];
        counters.playouts.increase(1, false);
        counters.path_plies.increase(plies as u64, false);
        if plies as u32 > counters.longest_path.load(Ordering::Relaxed) {
            counters.longest_path.store(plies as u32, Ordering::Relaxed);
        }
        match kind {
            VisitKind::Evaluation => counters.evaluations.increase(1, false),
            VisitKind::Transposition => counters.transpositions.increase(1, false),
            VisitKind::TableHit => counters.table_hits.increase(1, false),
            VisitKind::Known => 0,
        };
    }

    fn total(&self, counter: impl Fn(&WorkerCounters) -> &AtomicU64) -> u64 {
        self.workers.iter().map(|worker| counter(worker).load(Ordering::Relaxed)).sum()
    }

    #[inline]
    pub fn playouts(&self) -> u64 {
        self.total(|worker| &worker.playouts)
    }

    /// Greatest mean path length at any call, in plies, rounded down.
    pub fn depth(&self) -> u32 {
        let playouts = self.playouts();
        if playouts > self.depth_counts_from {
            let mean = self.total(|worker| &worker.path_plies) / playouts;
            self.depth.fetch_max(mean as u32, Ordering::Relaxed);
        }
        self.depth.load(Ordering::Relaxed)
    }

    pub fn sum(&self) -> SearchCounters {
        let longest = self.workers.iter().map(|worker| worker.longest_path.load(Ordering::Relaxed)).max();
        SearchCounters {
            playouts: self.playouts(),
            evaluations: self.total(|worker| &worker.evaluations),
            transpositions: self.total(|worker| &worker.transpositions),
            table_hits: self.total(|worker| &worker.table_hits),
            path_plies: self.total(|worker| &worker.path_plies),
            depth: self.depth(),
            longest_path: longest.unwrap_or(0),
        }
    }
}
