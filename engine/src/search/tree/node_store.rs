//! The memory of the tree: nodes, their moves and the edges to their children.
//!
//! | array | an entry is | bytes | an expanded node takes |
//! |---|---|--:|---|
//! | nodes | a position with its statistics | 64 | 1 |
//! | moves | a legal move with its prior | 4 | blocks of 16: a head and 15 moves |
//! | edges | the child of a visited move, with statistics | 16 | blocks of 4: a head and 3 edges |
//! | index | hash table from position keys to nodes | 8 | 1 of 4 reserved; fewer once the table is full size |
//!
//! Workers add concurrently; freeing needs exclusive access. Moves are sorted by falling prior and get their edges in that
//! order, so edge `i` belongs to move `i`. A block is one cache line; its head holds the id of the node's next block.
//! All blocks of an array have one size, so any freed block fits the next request.

mod key_index;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;

use self::key_index::{Added, KeyIndex};
use crate::search::tree::arena::{Arena, MemoryBudget};
use crate::search::tree::node::{Candidate, Chained, Edge, MovePrior, NONE, Node, NodeId};

/// Entries of a block of moves, the head included.
const MOVE_BLOCK: usize = 16;

const EDGE_BLOCK: usize = 4;

/// Bytes of the smallest store, which has room for some entries of each array.
const MIN_MEMORY: usize = 48 << 10;

/// Below this many nodes, unregistering each is faster than clearing the index.
const FEW: u32 = 256;

/// Bytes of an average expanded node.
#[cfg(test)]
const NODE_COST: usize =
    size_of::<Node>() + 3 * MOVE_BLOCK * size_of::<Candidate>() + 2 * size_of::<Edge>() + 6;

fn bytes_of(nodes: usize, moves: usize, edges: usize) -> usize {
    nodes * size_of::<Node>()
        + moves * MOVE_BLOCK * size_of::<Candidate>()
        + edges * EDGE_BLOCK * size_of::<Edge>()
}

#[derive(Default)]
struct FreeBlocks {
    nodes: Vec<u32>,
    moves: FreeChains,
    edges: FreeChains,
}

impl FreeBlocks {
    fn bytes(&self) -> usize {
        bytes_of(self.nodes.len(), self.moves.blocks, self.edges.blocks)
    }
}

/// Freed chains of blocks. The next block's id is read on reuse, when its cache line is needed anyway.
#[derive(Default)]
struct FreeChains {
    /// First block and length of each chain.
    chains: Vec<(u32, usize)>,
    blocks: usize,
}

impl FreeChains {
    fn push(&mut self, first: u32, blocks: usize) {
        if blocks > 0 {
            self.chains.push((first, blocks));
            self.blocks += blocks;
        }
    }

    fn pop<T: Chained, const N: usize>(&mut self, arena: &Arena<T, N>) -> Option<u32> {
        let (first, blocks) = self.chains.last_mut()?;
        let block = *first;
        if *blocks > 1 {
            (*first, *blocks) = (arena.get(block).next_block().load(Ordering::Relaxed), *blocks - 1);
        } else {
            self.chains.pop();
        }
        self.blocks -= 1;
        Some(block)
    }
}

/// Blocks reserved at once: processors prefetch adjacent cache lines, so workers should not write to adjacent blocks.
const BLOCKS_AT_ONCE: u32 = 16;

/// Blocks that a worker has reserved.
#[derive(Default)]
struct Stock {
    next: AtomicU32,
    left: AtomicU32,
}

impl Stock {
    /// Takes a block, refilling an empty stock from `arena`, for one thread at a time. Calls `stocked` for each block
    /// of a refill; entries keep stale contents.
    #[inline]
    fn take<T: Default, const N: usize>(
        &self,
        arena: &Arena<T, N>,
        budget: &MemoryBudget,
        stocked: impl Fn(u32),
    ) -> Option<u32> {
        let entries = N as u32;
        let left = self.left.load(Ordering::Relaxed);
        let block = if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            self.next.load(Ordering::Relaxed)
        } else if let Some(first) = arena.take(BLOCKS_AT_ONCE, budget) {
            self.left.store(BLOCKS_AT_ONCE - 1, Ordering::Relaxed);
            (0..BLOCKS_AT_ONCE).for_each(|number| stocked(first + number * entries));
            first
        } else {
            return arena.take(1, budget);
        };
        self.next.store(block + entries, Ordering::Relaxed);
        Some(block)
    }
}

#[derive(Default)]
struct Stocks {
    nodes: Stock,
    moves: Stock,
    edges: Stock,
}

impl Stocks {
    fn bytes(&self) -> usize {
        let left = |stock: &Stock| stock.left.load(Ordering::Relaxed) as usize;
        bytes_of(left(&self.nodes), left(&self.moves), left(&self.edges))
    }
}

pub(in crate::search) struct NodeStore {
    budget: MemoryBudget,
    memory: usize,
    nodes: Arena<Node, 1>,
    moves: Arena<Candidate, MOVE_BLOCK>,
    edges: Arena<Edge, EDGE_BLOCK>,
    index: KeyIndex,
    stocks: Vec<CachePadded<Stocks>>,
    freed: Mutex<FreeBlocks>,
    any_freed: AtomicBool,
}

impl NodeStore {
    /// Takes at most `memory` bytes, fewer if the system refuses; most are touched only when needed.
    pub fn new(memory: usize) -> NodeStore {
        let mut memory = memory.max(MIN_MEMORY);
        let index = loop {
            match KeyIndex::new(memory) {
                Some(index) => break index,
                None => memory /= 2,
            }
        };
        let left = memory.saturating_sub(index.bytes());
        // Large chunks, so that the system can back them with large pages.
        let chunk = (left / 64).clamp(4 << 10, 8 << 20).next_power_of_two();
        NodeStore {
            budget: MemoryBudget::new(left),
            memory: left,
            nodes: Arena::new(left, chunk),
            moves: Arena::new(left, chunk),
            edges: Arena::new(left, chunk),
            index,
            stocks: vec![CachePadded::default()],
            freed: Mutex::default(),
            any_freed: AtomicBool::new(false),
        }
    }

    /// In permille.
    pub fn fullness(&self) -> u32 {
        (self.used_bytes() as u128 * 1000 / self.memory as u128).min(1000) as u32
    }

    fn used_bytes(&self) -> usize {
        let taken = self.nodes.end() as usize * size_of::<Node>()
            + self.moves.end() as usize * size_of::<Candidate>()
            + self.edges.end() as usize * size_of::<Edge>();
        let in_stock: usize = self.stocks.iter().map(|stocks| stocks.bytes()).sum();
        taken.saturating_sub(self.lock_freed().bytes() + in_stock)
    }

    pub fn set_workers(&mut self, workers: usize) {
        if self.stocks.len() < workers {
            self.stocks.resize_with(workers, CachePadded::default);
        }
    }

    pub fn memory(&self) -> usize {
        self.memory
    }

    pub fn free_bytes(&self) -> usize {
        self.memory.saturating_sub(self.used_bytes())
    }

    fn lock_freed(&self) -> std::sync::MutexGuard<'_, FreeBlocks> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`NodeStore::ids`], includes freed nodes.
    pub fn len(&self) -> usize {
        self.nodes.end() as usize
    }

    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.end()).map(NodeId)
    }

    pub fn clear(&mut self) {
        if self.nodes.end() < FEW {
            self.ids().for_each(|id| self.unregister(id));
        } else {
            self.index.clear();
        }
        self.nodes.clear();
        self.moves.clear();
        self.edges.clear();
        self.stocks.fill_with(CachePadded::default);
        *self.freed.get_mut().unwrap_or_else(PoisonError::into_inner) = FreeBlocks::default();
        *self.any_freed.get_mut() = false;
    }

    /// Also frees the memory beyond a new store's: the next tree may divide it differently among the arrays.
    pub fn shrink(&mut self) {
        self.clear();
        self.nodes.shrink(&self.budget);
        self.moves.shrink(&self.budget);
        self.edges.shrink(&self.budget);
    }

    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0)
    }

    /// Adds an unevaluated node with one reference; `None` if the memory is full. Threads need different worker
    /// numbers.
    pub fn add(&self, worker: usize) -> Option<NodeId> {
        let taken = self.reuse(|freed| freed.nodes.pop());
        // Freeing scans all nodes, including those in stock, which must look unreferenced.
        let unused = |id| self.nodes.get(id).references.store(0, Ordering::Relaxed);
        let id = taken.or_else(|| self.stocks[worker].nodes.take(&self.nodes, &self.budget, unused))?;
        self.nodes.get(id).reset();
        Some(NodeId(id))
    }

    fn reuse(&self, pop: impl FnOnce(&mut FreeBlocks) -> Option<u32>) -> Option<u32> {
        self.any_freed.load(Ordering::Relaxed).then(|| pop(&mut self.lock_freed())).flatten()
    }

    /// Requires the [claim](Node::claim) on the node. If the memory is full, returns false and leaves it without moves.
    pub fn set_moves(&self, worker: usize, id: NodeId, moves: &[MovePrior]) -> bool {
        let node = self.node(id);
        let mut next = NONE;
        // From the last block, because each head holds the next block's id.
        for (number, block) in moves.chunks(MOVE_BLOCK - 1).enumerate().rev() {
            let taken = self.reuse(|freed| freed.moves.pop(&self.moves));
            let stock = &self.stocks[worker].moves;
            let Some(first) = taken.or_else(|| stock.take(&self.moves, &self.budget, |_| ())) else {
                let later = (moves.len() - 1) / (MOVE_BLOCK - 1) - number;
                self.lock_freed().moves.push(next, later);
                self.any_freed.store(true, Ordering::Relaxed);
                node.set_moves(0);
                return false;
            };
            let [head, entries @ ..] = self.moves.block(first);
            head.next_block().store(next, Ordering::Relaxed);
            entries.iter().zip(block).for_each(|(candidate, value)| candidate.set(*value));
            next = first;
        }
        node.first_move.store(next, Ordering::Relaxed);
        node.set_moves(moves.len());
        true
    }

    #[inline]
    pub fn moves_of(&self, id: NodeId) -> Chain<'_, Candidate, MOVE_BLOCK> {
        let node = self.node(id);
        Chain::new(&self.moves, &node.first_move, node.moves())
    }

    #[inline]
    pub fn candidate(&self, id: NodeId, index: usize) -> &Candidate {
        self.moves.get(entry::<_, MOVE_BLOCK>(&self.moves, &self.node(id).first_move, index))
    }

    #[inline]
    pub fn edges_of(&self, id: NodeId) -> Chain<'_, Edge, EDGE_BLOCK> {
        let node = self.node(id);
        Chain::new(&self.edges, &node.first_edge, node.edges())
    }

    /// Calls `each` with the index, the edge's number, the edge and the move of every expanded move, in order. Returns the
    /// first move that has no edge yet.
    #[inline]
    pub fn for_each_edge<'a>(
        &'a self,
        node: &Node,
        mut each: impl FnMut(usize, u32, &'a Edge, &'a Candidate),
    ) -> Option<&'a Candidate> {
        const {
            assert!(
                (MOVE_BLOCK - 1).is_multiple_of(EDGE_BLOCK - 1),
                "a block of moves has whole blocks of edges"
            )
        };
        let (moves, edges) = (node.moves(), node.edges());
        let mut move_block = node.first_move.load(Ordering::Relaxed);
        let mut edge_block = node.first_edge.load(Ordering::Relaxed);
        let mut index = 0;
        while index < moves {
            let [move_head, candidates @ ..] = self.moves.block(move_block);
            for candidates in candidates.chunks_exact(EDGE_BLOCK - 1) {
                if index >= edges {
                    return (index < moves).then_some(&candidates[0]);
                }
                let [edge_head, block @ ..] = self.edges.block(edge_block);
                for ((edge, candidate), place) in block.iter().zip(candidates).zip(1..) {
                    if index >= edges {
                        return (index < moves).then_some(candidate);
                    }
                    each(index, edge_block + place, edge, candidate);
                    index += 1;
                }
                edge_block = edge_head.next_block().load(Ordering::Acquire);
            }
            move_block = move_head.next_block().load(Ordering::Relaxed);
        }
        None
    }

    /// The head that holds the prior mass of visited moves; `None` before the first edge.
    #[inline]
    pub fn head_of(&self, id: NodeId) -> Option<&Edge> {
        let node = self.node(id);
        (node.edges() > 0).then(|| self.edges.get(node.first_edge.load(Ordering::Relaxed)))
    }

    #[inline]
    pub fn prefetch(&self, id: NodeId) {
        self.nodes.prefetch(id.0);
    }

    #[inline]
    pub fn prefetch_moves(&self, id: NodeId) {
        let node = self.node(id);
        self.edges.prefetch(node.first_edge.load(Ordering::Relaxed));
        self.moves.prefetch(node.first_move.load(Ordering::Relaxed));
    }

    #[inline]
    pub fn edge_id(&self, id: NodeId, index: usize) -> u32 {
        entry::<_, EDGE_BLOCK>(&self.edges, &self.node(id).first_edge, index)
    }

    pub fn recount_priors(&self, id: NodeId) {
        if let Some(head) = self.head_of(id) {
            let visited = self.edges_of(id).zip(self.moves_of(id)).filter(|(edge, _)| edge.visits() > 0);
            head.set_priors(visited.map(|(_, candidate)| candidate.get().steps()).sum());
        }
    }

    #[inline]
    pub fn edge(&self, id: u32) -> &Edge {
        self.edges.get(id)
    }

    /// `index` is the first move without an edge; with several workers, the node must be locked. `None` if the memory is full.
    pub fn add_edge(&self, worker: usize, id: NodeId, index: usize, child: NodeId) -> Option<u32> {
        if index.is_multiple_of(EDGE_BLOCK - 1) {
            let taken = self.reuse(|freed| freed.edges.pop(&self.edges));
            let stock = &self.stocks[worker].edges;
            let block = taken.or_else(|| stock.take(&self.edges, &self.budget, |_| ()))?;
            self.edges.get(block).reset(NONE);
            if index == 0 {
                self.node(id).first_edge.store(block, Ordering::Release);
            } else {
                let head = self.edge_id(id, index - 1) - (EDGE_BLOCK - 1) as u32;
                self.edges.get(head).next_block().store(block, Ordering::Release);
            }
        }
        let edge = self.edge_id(id, index);
        self.edges.get(edge).reset(child.0);
        Some(edge)
    }

    pub fn find(&self, key: u64) -> Option<NodeId> {
        self.index.find(key, |id| self.has_key(id, key))
    }

    #[inline]
    pub fn prefetch_key(&self, key: u64) {
        self.index.prefetch(key);
    }

    /// Returns another worker's node if that registered the key first. If the bucket is full, the node stays
    /// unregistered and misses its transpositions.
    pub fn register(&self, id: NodeId, key: u64) -> Option<NodeId> {
        self.node(id).key.store(key, Ordering::Relaxed);
        let added = self.index.add(id, key, |other| self.has_key(other, key));
        if added != Added::New {
            self.node(id).key.store(0, Ordering::Relaxed);
        }
        match added {
            Added::Known(other) => Some(other),
            Added::New | Added::NoRoom => None,
        }
    }

    pub fn unregister(&self, id: NodeId) {
        let key = self.node(id).key.swap(0, Ordering::Relaxed);
        if key != 0 {
            self.index.remove(id, key);
        }
    }

    fn has_key(&self, id: NodeId, key: u64) -> bool {
        self.node(id).key.load(Ordering::Relaxed) == key
    }

    /// The node becomes a leaf that keeps its statistics.
    pub fn free_moves(&mut self, id: NodeId) {
        let node = self.nodes.get(id.0);
        let freed = self.freed.get_mut().unwrap_or_else(PoisonError::into_inner);
        let blocks = |entries: usize, size: usize| entries.div_ceil(size - 1);
        let first = |block: &AtomicU32| block.load(Ordering::Relaxed);
        freed.moves.push(first(&node.first_move), blocks(node.moves(), MOVE_BLOCK));
        freed.edges.push(first(&node.first_edge), blocks(node.edges(), EDGE_BLOCK));
        node.forget_moves();
        *self.any_freed.get_mut() = true;
    }

    /// The nodes must be unregistered, unreferenced and without moves.
    pub fn free_nodes(&mut self, ids: &[NodeId]) {
        let freed = self.freed.get_mut().unwrap_or_else(PoisonError::into_inner);
        freed.nodes.extend(ids.iter().map(|id| id.0));
        *self.any_freed.get_mut() = true;
    }

    /// The node must be unreferenced and without moves.
    pub fn free_node(&self, id: NodeId) {
        self.unregister(id);
        self.lock_freed().nodes.push(id.0);
        self.any_freed.store(true, Ordering::Relaxed);
    }
}

/// Id of entry `number`, heads not counted.
#[inline]
fn entry<T: Chained, const N: usize>(arena: &Arena<T, N>, first: &AtomicU32, number: usize) -> u32 {
    let mut block = first.load(Ordering::Relaxed);
    for _ in 0..number / (N - 1) {
        block = arena.get(block).next_block().load(Ordering::Acquire);
    }
    block + 1 + (number % (N - 1)) as u32
}

pub(in crate::search) struct Chain<'a, T, const N: usize> {
    arena: &'a Arena<T, N>,
    block: std::slice::Iter<'a, T>,
    next: u32,
    left: usize,
}

impl<'a, T: Chained, const N: usize> Chain<'a, T, N> {
    #[inline]
    fn new(arena: &'a Arena<T, N>, first: &AtomicU32, count: usize) -> Chain<'a, T, N> {
        Chain { arena, block: [].iter(), next: first.load(Ordering::Relaxed), left: count }
    }
}

impl<'a, T: Chained, const N: usize> Iterator for Chain<'a, T, N> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        if let Some(entry) = self.block.next() {
            return Some(entry);
        }
        if self.left == 0 {
            return None;
        }
        let count = self.left.min(N - 1);
        let entries = self.arena.block(self.next);
        self.next = entries[0].next_block().load(Ordering::Acquire);
        self.left -= count;
        self.block = entries[1..=count].iter();
        self.block.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.block.len() + self.left;
        (count, Some(count))
    }
}

impl<T: Chained, const N: usize> ExactSizeIterator for Chain<'_, T, N> {}

#[cfg(test)]
mod tests;
