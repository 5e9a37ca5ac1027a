//! The memory of the tree: nodes, their moves, and the links to the positions after them.
//!
//! | array | one entry is | bytes | an expanded node takes |
//! |---|---|--:|---|
//! | nodes | a position with its statistics | 64 | 1 |
//! | moves | a legal move with its prior | 4 | blocks of 16, each with a head and 15 moves |
//! | links | a move that was taken: its child and its statistics | 16 | blocks of 4, each with a head and 3 links |
//! | index | hash table from position keys to nodes | 8 | 1, in a table of four times as many until all of it is in use |
//!
//! Workers add to it concurrently ([`Node`] says how); only freeing needs the store for itself. A node's moves are in
//! order of falling prior and are taken for the first time in that order, so its links belong to the first of them.
//! Blocks are chained, each a cache line whose head leads to the next one; as they are all of one size, freed memory
//! fits whatever needs it next.

mod key_index;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use self::key_index::{Added, KeyIndex};
use crate::search::tree::arena::{Arena, MemoryBudget};
use crate::search::tree::node::{Candidate, Chained, Link, MovePrior, NONE, Node, NodeId};

/// Entries of a block of moves, with its head.
const MOVE_BLOCK: usize = 16;

/// Entries of a block of links, with its head.
const LINK_BLOCK: usize = 4;

/// The least memory that a store has: some of each array.
const MIN_MEMORY: usize = 48 << 10;

/// So few nodes leave the index one by one when all do.
const FEW: u32 = 256;

/// Bytes of an average expanded node, for estimates.
#[cfg(test)]
const NODE_COST: usize =
    size_of::<Node>() + 3 * MOVE_BLOCK * size_of::<Candidate>() + 2 * size_of::<Link>() + 6;

/// Bytes of so many nodes, blocks of moves and blocks of links.
fn bytes_of(nodes: usize, moves: usize, links: usize) -> usize {
    nodes * size_of::<Node>()
        + moves * MOVE_BLOCK * size_of::<Candidate>()
        + links * LINK_BLOCK * size_of::<Link>()
}

/// What was freed.
#[derive(Default)]
struct FreeBlocks {
    nodes: Vec<u32>,
    moves: FreeChains,
    links: FreeChains,
}

impl FreeBlocks {
    fn bytes(&self) -> usize {
        bytes_of(self.nodes.len(), self.moves.blocks, self.links.blocks)
    }
}

/// Freed chains of blocks. Where a block leads to is read when it is used again: then its cache line is needed anyway.
#[derive(Default)]
struct FreeChains {
    /// First blocks and lengths.
    chains: Vec<(u32, usize)>,
    /// Blocks in all.
    blocks: usize,
}

impl FreeChains {
    fn push(&mut self, first: u32, blocks: usize) {
        if blocks > 0 {
            self.chains.push((first, blocks));
            self.blocks += blocks;
        }
    }

    /// Takes a block, if there is one.
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

/// Blocks that a worker takes from an array at once: the processor fetches neighbouring cache lines together, so those of
/// different workers should not be neighbours.
const BLOCKS_AT_ONCE: u32 = 16;

/// What a worker has taken from an array and not used yet.
#[derive(Default)]
struct Stock {
    next: AtomicU32,
    /// Blocks.
    left: AtomicU32,
}

impl Stock {
    /// Takes a block, from `arena` if there is none in stock; only one thread at a time may do so. All blocks that come
    /// into stock are passed to `stocked`: entries have the contents that they happen to have.
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

/// What one worker has in stock, in cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Stocks {
    nodes: Stock,
    moves: Stock,
    links: Stock,
}

impl Stocks {
    fn bytes(&self) -> usize {
        let left = |stock: &Stock| stock.left.load(Ordering::Relaxed) as usize;
        bytes_of(left(&self.nodes), left(&self.moves), left(&self.links))
    }
}

/// The arrays of a tree.
pub(in crate::search) struct NodeStore {
    budget: MemoryBudget,
    memory: usize,
    nodes: Arena<Node, 1>,
    moves: Arena<Candidate, MOVE_BLOCK>,
    links: Arena<Link, LINK_BLOCK>,
    index: KeyIndex,
    /// By the number of the worker.
    stocks: Vec<Stocks>,
    freed: Mutex<FreeBlocks>,
    /// Whether anything has ever been freed.
    any_freed: AtomicBool,
}

impl NodeStore {
    /// A store of at most `memory` bytes, or less if the system refuses. Most of it is allocated, or at least touched,
    /// when it is needed.
    pub fn new(memory: usize) -> NodeStore {
        let mut memory = memory.max(MIN_MEMORY);
        let index = loop {
            match KeyIndex::new(memory) {
                Some(index) => break index,
                None => memory /= 2,
            }
        };
        let left = memory.saturating_sub(index.bytes());
        // Large chunks: the system can back them with large pages.
        let chunk = (left / 64).clamp(4 << 10, 8 << 20).next_power_of_two();
        NodeStore {
            budget: MemoryBudget::new(left),
            memory: left,
            nodes: Arena::new(left, chunk),
            moves: Arena::new(left, chunk),
            links: Arena::new(left, chunk),
            index,
            stocks: vec![Stocks::default()],
            freed: Mutex::default(),
            any_freed: AtomicBool::new(false),
        }
    }

    /// The used share of the memory, in thousandths.
    pub fn fullness(&self) -> u32 {
        (self.used_bytes() as u128 * 1000 / self.memory as u128).min(1000) as u32
    }

    fn used_bytes(&self) -> usize {
        let taken = self.nodes.end() as usize * size_of::<Node>()
            + self.moves.end() as usize * size_of::<Candidate>()
            + self.links.end() as usize * size_of::<Link>();
        let in_stock: usize = self.stocks.iter().map(Stocks::bytes).sum();
        taken.saturating_sub(self.lock_freed().bytes() + in_stock)
    }

    /// Prepares for so many workers.
    pub fn set_workers(&mut self, workers: usize) {
        if self.stocks.len() < workers {
            self.stocks.resize_with(workers, Stocks::default);
        }
    }

    /// Bytes that the store may use.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Bytes that were freed and not used again, and those never used.
    pub fn free_bytes(&self) -> usize {
        self.memory.saturating_sub(self.used_bytes())
    }

    fn lock_freed(&self) -> std::sync::MutexGuard<'_, FreeBlocks> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many nodes were ever added, including freed ones.
    pub fn len(&self) -> usize {
        self.nodes.end() as usize
    }

    /// All nodes ever added, including freed ones.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.end()).map(NodeId)
    }

    /// Removes all nodes, but keeps the memory.
    pub fn clear(&mut self) {
        if self.nodes.end() < FEW {
            self.ids().for_each(|id| self.unregister(id));
        } else {
            self.index.clear();
        }
        self.nodes.clear();
        self.moves.clear();
        self.links.clear();
        self.stocks.fill_with(Stocks::default);
        *self.freed.get_mut().unwrap_or_else(PoisonError::into_inner) = FreeBlocks::default();
        *self.any_freed.get_mut() = false;
    }

    /// Removes all nodes and gives back the memory that a new store would not have: later the nodes, moves and links may need
    /// other shares of it.
    pub fn shrink(&mut self) {
        self.clear();
        self.nodes.shrink(&self.budget);
        self.moves.shrink(&self.budget);
        self.links.shrink(&self.budget);
    }

    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0)
    }

    /// Adds an unevaluated node with one reference; `None` if the memory is full. Here and below, no two threads may use the
    /// same number of a worker at once.
    pub fn add(&self, worker: usize) -> Option<NodeId> {
        let taken = self.reuse(|freed| freed.nodes.pop());
        // Freeing looks at all nodes, also those in stock: nothing may lead to them.
        let unused = |id| self.nodes.get(id).references.store(0, Ordering::Relaxed);
        let id = taken.or_else(|| self.stocks[worker].nodes.take(&self.nodes, &self.budget, unused))?;
        self.nodes.get(id).reset();
        Some(NodeId(id))
    }

    /// Takes something that was freed, if there is any.
    fn reuse(&self, pop: impl FnOnce(&mut FreeBlocks) -> Option<u32>) -> Option<u32> {
        self.any_freed.load(Ordering::Relaxed).then(|| pop(&mut self.lock_freed())).flatten()
    }

    /// Gives a node its moves, highest prior first. Returns whether there was memory for them; without, the node has
    /// none. The caller must have the right to [expand](Node::claim) it.
    pub fn set_moves(&self, worker: usize, id: NodeId, moves: &[MovePrior]) -> bool {
        let node = self.node(id);
        let mut next = NONE;
        // The last block first, so that each can lead to the next.
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

    /// A node's moves, highest prior first.
    #[inline]
    pub fn moves_of(&self, id: NodeId) -> Chain<'_, Candidate, MOVE_BLOCK> {
        let node = self.node(id);
        Chain::new(&self.moves, &node.first_move, node.moves())
    }

    /// The move `edge` of an expanded node.
    #[inline]
    pub fn candidate(&self, id: NodeId, edge: usize) -> &Candidate {
        self.moves.get(entry::<_, MOVE_BLOCK>(&self.moves, &self.node(id).first_move, edge))
    }

    /// The links of the node's moves that were taken, in the order of the moves.
    #[inline]
    pub fn links_of(&self, id: NodeId) -> Chain<'_, Link, LINK_BLOCK> {
        let node = self.node(id);
        Chain::new(&self.links, &node.first_link, node.links())
    }

    /// Calls `each` for the moves of an expanded node that were taken, in their order, with the move's number, the id of
    /// its link, the link and the move. Returns the first move that was not taken, if there is one.
    #[inline]
    pub fn for_each_taken<'a>(
        &'a self,
        node: &Node,
        mut each: impl FnMut(usize, u32, &'a Link, &'a Candidate),
    ) -> Option<&'a Candidate> {
        const {
            assert!(
                (MOVE_BLOCK - 1).is_multiple_of(LINK_BLOCK - 1),
                "a block of moves has whole blocks of links"
            )
        };
        let (moves, links) = (node.moves(), node.links());
        let mut move_block = node.first_move.load(Ordering::Relaxed);
        let mut link_block = node.first_link.load(Ordering::Relaxed);
        let mut edge = 0;
        while edge < moves {
            let [move_head, candidates @ ..] = self.moves.block(move_block);
            for candidates in candidates.chunks_exact(LINK_BLOCK - 1) {
                if edge >= links {
                    // There may be as many links as moves.
                    return (edge < moves).then_some(&candidates[0]);
                }
                let [link_head, block @ ..] = self.links.block(link_block);
                for ((link, candidate), place) in block.iter().zip(candidates).zip(1..) {
                    if edge >= links {
                        return (edge < moves).then_some(candidate);
                    }
                    each(edge, link_block + place, link, candidate);
                    edge += 1;
                }
                link_block = link_head.next_block().load(Ordering::Acquire);
            }
            move_block = move_head.next_block().load(Ordering::Relaxed);
        }
        None
    }

    /// The head of the node's first block of links, which counts the priors of the visited moves; `None` before the
    /// first link.
    #[inline]
    pub fn head_of(&self, id: NodeId) -> Option<&Link> {
        let node = self.node(id);
        (node.links() > 0).then(|| self.links.get(node.first_link.load(Ordering::Relaxed)))
    }

    /// Asks the processor to fetch a node.
    #[inline]
    pub fn prefetch(&self, id: NodeId) {
        self.nodes.prefetch(id.0);
    }

    /// Asks the processor to fetch the first of an expanded node's moves and links.
    #[inline]
    pub fn prefetch_moves(&self, id: NodeId) {
        let node = self.node(id);
        self.links.prefetch(node.first_link.load(Ordering::Relaxed));
        self.moves.prefetch(node.first_move.load(Ordering::Relaxed));
    }

    /// The id of the link of the move `edge`, which was taken.
    #[inline]
    pub fn link_id(&self, id: NodeId, edge: usize) -> u32 {
        entry::<_, LINK_BLOCK>(&self.links, &self.node(id).first_link, edge)
    }

    /// Brings what the head of a node's links knows about its priors up to date, after these were changed.
    pub fn recount_priors(&self, id: NodeId) {
        if let Some(head) = self.head_of(id) {
            let visited = self.links_of(id).zip(self.moves_of(id)).filter(|(link, _)| link.visits() > 0);
            head.set_priors(visited.map(|(_, candidate)| candidate.get().steps()).sum());
        }
    }

    /// A link by its id.
    #[inline]
    pub fn link(&self, id: u32) -> &Link {
        self.links.get(id)
    }

    /// Adds a link for the move `edge`, the first that was not taken, to `child`; `None` if the memory is full. If there
    /// are several workers, the node must be locked.
    pub fn add_link(&self, worker: usize, id: NodeId, edge: usize, child: NodeId) -> Option<u32> {
        if edge.is_multiple_of(LINK_BLOCK - 1) {
            let taken = self.reuse(|freed| freed.links.pop(&self.links));
            let stock = &self.stocks[worker].links;
            let block = taken.or_else(|| stock.take(&self.links, &self.budget, |_| ()))?;
            self.links.get(block).reset(NONE);
            if edge == 0 {
                self.node(id).first_link.store(block, Ordering::Release);
            } else {
                // The head of the block before is as far from its last link as there are links in a block.
                let head = self.link_id(id, edge - 1) - (LINK_BLOCK - 1) as u32;
                self.links.get(head).next_block().store(block, Ordering::Release);
            }
        }
        let link = self.link_id(id, edge);
        self.links.get(link).reset(child.0);
        Some(link)
    }

    /// The node registered under `key`.
    pub fn find(&self, key: u64) -> Option<NodeId> {
        self.index.find(key, |id| self.has_key(id, key))
    }

    /// Asks the processor to fetch what [`Self::find`] reads.
    #[inline]
    pub fn prefetch_key(&self, key: u64) {
        self.index.prefetch(key);
    }

    /// Registers a new node under `key`. If another worker has registered a node for it meanwhile, that is returned
    /// instead. A full bucket costs only the transposition.
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

    /// Removes a node from the index.
    pub fn unregister(&self, id: NodeId) {
        let key = self.node(id).key.swap(0, Ordering::Relaxed);
        if key != 0 {
            self.index.remove(id, key);
        }
    }

    fn has_key(&self, id: NodeId, key: u64) -> bool {
        self.node(id).key.load(Ordering::Relaxed) == key
    }

    /// Frees a node's moves and links, after which it is a leaf that keeps its statistics.
    pub fn free_moves(&mut self, id: NodeId) {
        let node = self.nodes.get(id.0);
        let freed = self.freed.get_mut().unwrap_or_else(PoisonError::into_inner);
        let blocks = |entries: usize, size: usize| entries.div_ceil(size - 1);
        let first = |block: &AtomicU32| block.load(Ordering::Relaxed);
        freed.moves.push(first(&node.first_move), blocks(node.moves(), MOVE_BLOCK));
        freed.links.push(first(&node.first_link), blocks(node.links(), LINK_BLOCK));
        node.forget_moves();
        *self.any_freed.get_mut() = true;
    }

    /// Frees nodes that are not in the index, that nothing leads to, and that have no moves.
    pub fn free_nodes(&mut self, ids: &[NodeId]) {
        let freed = self.freed.get_mut().unwrap_or_else(PoisonError::into_inner);
        freed.nodes.extend(ids.iter().map(|id| id.0));
        *self.any_freed.get_mut() = true;
    }

    /// Frees a node that nothing leads to and that has no moves.
    pub fn free_node(&self, id: NodeId) {
        self.unregister(id);
        self.lock_freed().nodes.push(id.0);
        self.any_freed.store(true, Ordering::Relaxed);
    }
}

/// The id of the entry of this number in a chain of blocks of `N` entries, heads not counted.
#[inline]
fn entry<T: Chained, const N: usize>(arena: &Arena<T, N>, first: &AtomicU32, number: usize) -> u32 {
    let mut block = first.load(Ordering::Relaxed);
    for _ in 0..number / (N - 1) {
        block = arena.get(block).next_block().load(Ordering::Acquire);
    }
    block + 1 + (number % (N - 1)) as u32
}

/// Iterates over the entries of a chain of blocks of `N` entries, without the heads.
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
