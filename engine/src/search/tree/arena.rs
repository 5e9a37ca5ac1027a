use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use prefetch_index::prefetch_index;

/// Bytes left, shared by several arenas.
#[derive(Debug)]
pub(in crate::search) struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    pub fn new(bytes: usize) -> MemoryBudget {
        MemoryBudget(AtomicUsize::new(bytes))
    }

    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A growing array of blocks of `N` entries that never move, in chunks allocated on demand. `N` and the blocks per
/// chunk are powers of two.
pub(in crate::search) struct Arena<T, const N: usize> {
    chunks: Box<[OnceLock<Chunk<T, N>>]>,
    /// `1 << shift` blocks per chunk.
    shift: u32,
    /// Includes blocks skipped at the ends of chunks.
    used: CachePadded<AtomicU32>,
}

type Chunk<T, const N: usize> = Box<[Block<T, N>]>;

/// Aligned so that a block does not straddle cache lines.
#[repr(align(64))]
struct Block<T, const N: usize>([T; N]);

impl<T: Default, const N: usize> Arena<T, N> {
    pub fn new(bytes: usize, chunk_bytes: usize) -> Arena<T, N> {
        let shift = (chunk_bytes / Self::BLOCK_BYTES).max(2).ilog2();
        // Ids have 32 bits, and the greatest is `NONE`.
        let most = (u32::MAX as usize / N) >> shift;
        let chunks = (bytes >> shift).div_ceil(Self::BLOCK_BYTES).clamp(1, most);
        Arena {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            shift,
            used: CachePadded::new(AtomicU32::new(0)),
        }
    }

    /// Takes adjacent blocks, at most a chunk's, with stale contents. Returns the first entry's id; `None` if the
    /// memory is full.
    pub fn take(&self, blocks: u32, budget: &MemoryBudget) -> Option<u32> {
        let chunk = 1 << self.shift;
        debug_assert!(blocks <= chunk);
        loop {
            let used = self.used.load(Ordering::Relaxed);
            let left = chunk - (used & (chunk - 1));
            // The blocks must not cross the end of a chunk.
            let first = if left < blocks { used.checked_add(left)? } else { used };
            self.ensure((first >> self.shift) as usize, budget)?;
            let end = first + blocks;
            let taken = self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(first * N as u32);
            }
        }
    }

    fn ensure(&self, chunk: usize, budget: &MemoryBudget) -> Option<()> {
        let place = self.chunks.get(chunk)?;
        if place.get().is_some() {
            return Some(());
        }
        let blocks = 1 << self.shift;
        if !budget.take(blocks * Self::BLOCK_BYTES) {
            return None;
        }
        let mut memory = Vec::new();
        if memory.try_reserve_exact(blocks).is_err() {
            log::warn!("the system has no memory for more of the tree");
            budget.give_back(blocks * Self::BLOCK_BYTES);
            return None;
        }
        memory.resize_with(blocks, || Block(std::array::from_fn(|_| T::default())));
        if place.set(memory.into_boxed_slice()).is_err() {
            budget.give_back(blocks * Self::BLOCK_BYTES);
        }
        Some(())
    }
}

impl<T, const N: usize> Arena<T, N> {
    const BLOCK_BYTES: usize = size_of::<Block<T, N>>();

    /// Keeps the chunks.
    pub fn clear(&mut self) {
        *self.used.get_mut() = 0;
    }

    /// Keeps the first chunk.
    pub fn shrink(&mut self, budget: &MemoryBudget) {
        self.clear();
        let taken = self.chunks[1..].iter_mut().filter_map(OnceLock::take);
        taken.for_each(|_| budget.give_back(Self::BLOCK_BYTES << self.shift));
    }

    /// Exclusive upper bound of the taken ids.
    pub fn end(&self) -> u32 {
        self.used.load(Ordering::Relaxed) * N as u32
    }

    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.block(id)[id as usize % N]
    }

    #[inline]
    pub fn block(&self, id: u32) -> &[T; N] {
        let (chunk, block) = self.place(id);
        &self.chunks[chunk].get().expect("entries are taken before they are used")[block].0
    }

    #[inline]
    pub fn prefetch(&self, id: u32) {
        let (chunk, block) = self.place(id);
        if let Some(chunk) = self.chunks.get(chunk).and_then(OnceLock::get) {
            prefetch_index(chunk, block);
        }
    }

    #[inline]
    fn place(&self, id: u32) -> (usize, usize) {
        let block = id / N as u32;
        ((block >> self.shift) as usize, (block & ((1 << self.shift) - 1)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disjoint_in_cache_lines_of_their_own_and_end_with_the_budget() {
        let budget = MemoryBudget::new(4 * 16 * 64);
        let arena: Arena<AtomicU32, 16> = Arena::new(1 << 20, 16 * 64);
        let mut owner = [0; 64];
        for (number, count) in (1..).zip([5, 5, 5, 5, 16, 1, 1].iter().cycle()) {
            let Some(first) = arena.take(*count, &budget) else { break };
            let first = first / 16;
            assert_eq!(first / 16, (first + count - 1) / 16, "one chunk");
            for block in first..first + count {
                assert_eq!(std::mem::replace(&mut owner[block as usize], number), 0, "taken twice");
                let entries = arena.block(16 * block + 7);
                assert_eq!(entries.as_ptr().align_offset(64), 0);
                entries.iter().for_each(|entry| entry.store(number, Ordering::Relaxed));
            }
        }
        assert_eq!(budget.left(), 0);
        let written = (0..64).filter(|block| owner[*block as usize] > 0);
        assert!(written.clone().count() > 35);
        let kept = |block: u32| {
            (0..16).all(|i| arena.get(16 * block + i).load(Ordering::Relaxed) == owner[block as usize])
        };
        assert!(written.into_iter().all(kept));
    }
}
