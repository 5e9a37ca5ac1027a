//! Arrays that several threads fill: entries are taken in blocks, and memory chunk by chunk.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bytes that may still be taken by several arenas.
#[derive(Debug)]
pub(super) struct MemoryBudget(AtomicUsize);

impl MemoryBudget {
    pub fn new(bytes: usize) -> MemoryBudget {
        MemoryBudget(AtomicUsize::new(bytes))
    }

    /// Takes `bytes`; returns whether there were so many.
    fn take(&self, bytes: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes left.
    #[cfg(test)]
    pub fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A growing array whose entries never move. Its chunks are allocated when they are needed and kept until the arena is
/// dropped.
pub(super) struct Arena<T> {
    chunks: Box<[OnceLock<Box<[T]>>]>,
    /// A chunk has `1 << shift` entries.
    shift: u32,
    /// Entries taken so far, and those left over at the ends of chunks.
    used: Apart,
}

/// A number in cache lines of its own: workers that change it would slow down those that read what lies beside it.
#[repr(align(128))]
struct Apart(AtomicU32);

impl<T: Default> Arena<T> {
    /// An empty arena for `bytes` at most, in chunks of `chunk_bytes` or a little less.
    pub fn new(bytes: usize, chunk_bytes: usize) -> Arena<T> {
        let shift = (chunk_bytes / size_of::<T>()).max(2).ilog2();
        // Ids have 32 bits, and the greatest means 'none'.
        let chunks = (bytes >> shift).div_ceil(size_of::<T>()).clamp(1, (u32::MAX >> shift) as usize);
        Arena {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            shift,
            used: Apart(AtomicU32::new(0)),
        }
    }

    /// Takes `count` adjacent entries, with the contents that they happen to have, and returns the id of the first;
    /// `None` if there is no memory for them. A block may be as large as a chunk.
    pub fn take(&self, count: u32, budget: &MemoryBudget) -> Option<u32> {
        let chunk = 1 << self.shift;
        debug_assert!(count <= chunk);
        loop {
            let used = self.used.0.load(Ordering::Relaxed);
            let left = chunk - (used & (chunk - 1));
            // A block does not reach over the end of a chunk.
            let first = if left < count { used.checked_add(left)? } else { used };
            self.ensure((first >> self.shift) as usize, budget)?;
            let end = first + count;
            let taken = self.used.0.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(first);
            }
        }
    }

    /// Allocates a chunk unless it is there.
    fn ensure(&self, chunk: usize, budget: &MemoryBudget) -> Option<()> {
        let place = self.chunks.get(chunk)?;
        if place.get().is_some() {
            return Some(());
        }
        let entries = 1 << self.shift;
        if !budget.take(entries * size_of::<T>()) {
            return None;
        }
        let mut memory = Vec::new();
        if memory.try_reserve_exact(entries).is_err() {
            log::warn!("the system has no memory for more of the tree");
            budget.give_back(entries * size_of::<T>());
            return None;
        }
        memory.resize_with(entries, T::default);
        if place.set(memory.into_boxed_slice()).is_err() {
            // Another thread was faster.
            budget.give_back(entries * size_of::<T>());
        }
        Some(())
    }
}

impl<T> Arena<T> {
    /// Forgets all entries, but keeps the chunks.
    pub fn clear(&mut self) {
        *self.used.0.get_mut() = 0;
    }

    /// All ids that may have been taken are below this one.
    pub fn end(&self) -> u32 {
        self.used.0.load(Ordering::Relaxed)
    }

    /// An entry that was taken.
    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.chunk(id)[(id & ((1 << self.shift) - 1)) as usize]
    }

    /// A block that was taken, or its beginning.
    #[inline]
    pub fn block(&self, first: u32, count: usize) -> &[T] {
        if count == 0 {
            return &[];
        }
        &self.chunk(first)[(first & ((1 << self.shift) - 1)) as usize..][..count]
    }

    #[inline]
    fn chunk(&self, id: u32) -> &[T] {
        self.chunks[(id >> self.shift) as usize].get().expect("entries are taken before they are used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disjoint_stay_in_their_chunk_and_end_with_the_budget() {
        let budget = MemoryBudget::new(4 * 64);
        let arena: Arena<AtomicU32> = Arena::new(1 << 20, 64);
        let mut owner = [0; 64];
        for (number, count) in (1..).zip([5, 5, 5, 5, 16, 1, 1].iter().cycle()) {
            let Some(first) = arena.take(*count, &budget) else { break };
            assert_eq!(first / 16, (first + count - 1) / 16, "one chunk");
            for entry in &mut owner[first as usize..(first + count) as usize] {
                assert_eq!(std::mem::replace(entry, number), 0, "taken twice");
            }
            arena.block(first, *count as usize).iter().for_each(|x| x.store(number, Ordering::Relaxed));
        }
        assert_eq!(budget.left(), 0);
        let written = (0..64).filter(|id| owner[*id as usize] > 0);
        assert!(written.clone().count() > 35);
        assert!(written.into_iter().all(|id| arena.get(id).load(Ordering::Relaxed) == owner[id as usize]));
    }
}
