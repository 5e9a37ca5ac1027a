//! Simulates cache-line contention between many workers on a real tree.
//!
//! Each series runs on the tree. Its accesses then go through a model of cache lines: a line written by another worker
//! takes [`TRANSFER`] to fetch, by one worker at a time. Results become visible slightly too early, so workers follow
//! the same moves more often than in reality.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use crate::chess::position::Game;
use crate::chess::tables::Tables;
use crate::nets::sparse::SparseNetwork;
use crate::search::run::context::SearchContext;
use crate::search::run::walker::{VisitEnd, WalkedPath, Walker};
use crate::search::tree::Tree;
use crate::search::{Limits, Params};

/// Picoseconds per visit of a lone worker, from a measured 385,000 visits/s.
const VISIT: u64 = 2_600_000;

/// Picoseconds to fetch a line from another core's cache; pessimistic.
const TRANSFER: u64 = 100_000;

/// Accesses until a line is evicted from its worker's cache.
const CACHED: u64 = 16_384;

/// Visits between a worker's accesses to the shared search state.
const ROUND: u64 = 32;

/// Writes to shared locks and counters per round: tickets, tree lock and unlock, mate search, observer.
const WRITES_A_ROUND: usize = 5;

#[derive(Clone, Copy, Hash, PartialEq, Eq)]
enum LineId {
    Node(u32),
    Edges(u32),
    Search(usize),
}

/// `holders` is a bit set of workers; `free` is when the last writer will have fetched the line.
#[derive(Default)]
struct Line {
    holders: u64,
    free: u64,
}

struct Lines {
    lines: HashMap<LineId, Line>,
    /// Per worker: its access count when it last accessed each line, and its count now.
    accessed: Vec<HashMap<LineId, u64>>,
    accesses: Vec<u64>,
    /// Picoseconds over all workers: waiting for another worker's fetch, and fetching.
    waited: u64,
    fetched: u64,
}

impl Lines {
    fn new(workers: usize) -> Lines {
        Lines {
            lines: HashMap::new(),
            accessed: vec![HashMap::new(); workers],
            accesses: vec![0; workers],
            waited: 0,
            fetched: 0,
        }
    }

    /// Returns when the worker has the line; it asks at `now`.
    fn get(&mut self, worker: usize, id: LineId, write: bool, now: u64) -> u64 {
        self.accesses[worker] += 1;
        let before = self.accessed[worker].insert(id, self.accesses[worker]);
        // A lone worker would fetch a cold line too.
        let is_cold = before.is_none_or(|before| self.accesses[worker] - before > CACHED);
        let line = self.lines.entry(id).or_default();
        let own = 1 << worker;
        let is_held = line.holders & own != 0 && (!write || line.holders == own);
        let begin = if is_held { now } else { now.max(line.free) };
        let have = if is_held || is_cold { begin } else { begin + TRANSFER };
        self.waited += begin - now;
        self.fetched += have - begin;
        if write && !is_held {
            line.free = have;
        }
        line.holders = if write { own } else { line.holders | own };
        have
    }
}

#[derive(Clone, Copy)]
enum Act {
    Read(LineId),
    Write(LineId),
    Visit,
}

#[derive(Default)]
struct State {
    acts: VecDeque<Act>,
    done: u64,
}

impl State {
    fn series(&mut self, tree: &Tree, trace: &[WalkedPath], visits: u64) {
        for WalkedPath { steps, begun, kept } in trace {
            for &(node, edge) in &steps[*begun..] {
                self.acts.push_back(Act::Read(LineId::Node(node.0)));
                let edges = (0..tree.node(node).edges()).map(|index| tree.nodes.edge_id(node, index));
                self.acts.extend(edges.map(|edge| Act::Read(edges_line(edge))));
                self.acts.push_back(Act::Write(edges_line(edge)));
            }
            self.acts.push_back(Act::Visit);
            for (node, edge) in steps[*kept..].iter().rev() {
                self.acts.extend([Act::Write(edges_line(*edge)), Act::Write(LineId::Node(node.0))]);
            }
        }
        if self.done / ROUND < (self.done + visits) / ROUND {
            self.acts.extend((0..WRITES_A_ROUND).map(|place| Act::Write(LineId::Search(place))));
        }
        self.done += visits;
    }
}

/// Shares of time lost to waiting for other workers' fetches and to fetching lines that others changed, on a tree of
/// 50,000 visits.
fn lost(workers: usize, visits_each: u64) -> (f64, f64) {
    let game = Game::from_fen("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut tree = Tree::empty(1 << 27);
    let (limits, tables, params) = (Limits::default(), Tables::default(), Params::native());
    let (context, _) = SearchContext::start(&mut tree, game.unwrap(), limits, params, tables, workers.max(2));
    let mut evaluator = SparseNetwork::embedded().evaluator();
    let mut walkers: Vec<Walker> = (0..workers).map(Walker::new).collect();
    walkers.iter_mut().for_each(|walker| walker.start(&context));
    while tree.playouts() < 50_000 {
        walkers[0].visit(&context, &tree, &mut evaluator, ROUND);
    }
    let mut lines = Lines::new(workers);
    let mut states: Vec<State> = (0..workers).map(|_| State::default()).collect();
    let mut next: BinaryHeap<_> = (0..workers).map(|w| Reverse((w as u64 * VISIT / 7, w))).collect();
    let mut end = 0;
    while let Some(Reverse((now, worker))) = next.pop() {
        end = end.max(now);
        let (walker, state) = (&mut walkers[worker], &mut states[worker]);
        let Some(act) = state.acts.pop_front() else {
            if state.done < visits_each {
                let (visits, ended) = walker.visit(&context, &tree, &mut evaluator, ROUND);
                assert_eq!(ended, VisitEnd::Applied);
                state.series(&tree, &walker.trace, visits);
                next.push(Reverse((now, worker)));
            }
            continue;
        };
        let later = match act {
            Act::Read(id) => lines.get(worker, id, false, now),
            Act::Write(id) => lines.get(worker, id, true, now),
            Act::Visit => now + VISIT,
        };
        next.push(Reverse((later, worker)));
    }
    let all = (end * workers as u64) as f64;
    (lines.waited as f64 / all, lines.fetched as f64 / all)
}

fn edges_line(edge: u32) -> LineId {
    LineId::Edges(edge / 4)
}

#[test]
fn sixty_four_workers_wait_less_than_a_tenth_of_their_time_for_one_another() {
    assert_eq!(lost(1, 200), (0.0, 0.0));
    let (waiting, fetching) = lost(64, 1_000);
    println!("waiting {waiting:.3}, fetching {fetching:.3}");
    assert!(waiting < 0.1 && (0.1..0.6).contains(&fetching), "{waiting} {fetching}");
}
