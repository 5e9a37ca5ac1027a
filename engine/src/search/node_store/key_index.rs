//! From the keys of positions to their nodes: a hash table whose buckets are cache lines.

use std::sync::atomic::{AtomicU64, Ordering};

use prefetch_index::prefetch_index;

use super::super::node::{NONE, NodeId};

/// Bytes of memory for each entry.
const BYTES_PER_ENTRY: usize = 128;

/// Entries that a key can have: a cache line.
const BUCKET: usize = 8;

/// Up to this size, in bytes, zeroing in place takes less time than the page faults of fresh memory.
const AT_ONCE: usize = 64 << 20;

/// The table. Whoever finds an entry has to look whether its node has the key: only half of it is stored.
pub(super) struct KeyIndex {
    /// Node ids plus one, with the upper half of the key so that few nodes are looked at in vain; 0 is empty.
    entries: Box<[AtomicU64]>,
    /// Where the first bucket begins: at a cache line.
    begin: usize,
    buckets: usize,
}

impl KeyIndex {
    /// An empty index for a store of so much memory, if the system has as much.
    pub fn new(memory: usize) -> Option<KeyIndex> {
        // More nodes than ids are never needed.
        KeyIndex::of_buckets(((memory / BYTES_PER_ENTRY).min(NONE as usize) / BUCKET).max(8))
    }

    fn of_buckets(buckets: usize) -> Option<KeyIndex> {
        let entries: Box<[AtomicU64]> =
            bytemuck::allocation::try_zeroed_slice_box((buckets + 1) * BUCKET).ok()?;
        let begin = entries.as_ptr().align_offset(BUCKET * size_of::<AtomicU64>()).min(BUCKET);
        Some(KeyIndex { entries, begin, buckets })
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<AtomicU64>()
    }

    /// Entries that fit.
    pub fn capacity(&self) -> usize {
        self.buckets * BUCKET
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        if self.bytes() > AT_ONCE
            && let Some(empty) = KeyIndex::of_buckets(self.buckets)
        {
            // The system zeroes it, page by page when they are needed.
            *self = empty;
        } else {
            self.entries.fill_with(AtomicU64::default);
        }
    }

    /// Asks the processor to fetch what the other functions read.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        prefetch_index(&self.entries, self.first(key));
    }

    /// The first node under `key` of which `has_key` is true.
    #[inline]
    pub fn find(&self, key: u64, has_key: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let known = |slot: &AtomicU64| node_of(slot.load(Ordering::Acquire), key).filter(|id| has_key(*id));
        self.bucket(key).iter().find_map(known)
    }

    /// Adds a node in the first empty place of its bucket, unless another under its key comes before that. (One after it
    /// costs only the transposition.)
    pub fn add(&self, id: NodeId, key: u64, has_key: impl Fn(NodeId) -> bool) -> Added {
        for slot in self.bucket(key) {
            let mut entry = slot.load(Ordering::Acquire);
            if entry == 0 {
                match slot.compare_exchange(0, entry_of(id, key), Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Added::New,
                    Err(others) => entry = others,
                }
            }
            if let Some(other) = node_of(entry, key).filter(|id| has_key(*id)) {
                return Added::Known(other);
            }
        }
        Added::NoRoom
    }

    /// Removes a node.
    pub fn remove(&self, id: NodeId, key: u64) {
        let own = entry_of(id, key);
        if let Some(slot) = self.bucket(key).iter().find(|slot| slot.load(Ordering::Relaxed) == own) {
            slot.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn bucket(&self, key: u64) -> &[AtomicU64] {
        &self.entries[self.first(key)..][..BUCKET]
    }

    /// The index of the first entry of a key's bucket.
    #[inline]
    fn first(&self, key: u64) -> usize {
        // By the lower half of the key: the upper one is in the entries.
        let bucket = ((key & 0xffff_ffff) * self.buckets as u64) >> 32;
        self.begin + bucket as usize * BUCKET
    }
}

/// What came of adding a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// It is in the index.
    New,
    /// There is another under its key.
    Known(NodeId),
    /// Its bucket is full.
    NoRoom,
}

/// The entry of a node under a key.
fn entry_of(id: NodeId, key: u64) -> u64 {
    key >> 32 << 32 | (u64::from(id.0) + 1)
}

/// The node of an entry, if it can be that of this key.
#[inline]
fn node_of(entry: u64, key: u64) -> Option<NodeId> {
    (entry != 0 && entry >> 32 == key >> 32).then(|| NodeId(entry as u32 - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_cache_line_and_has_room_for_eight() {
        let index = KeyIndex::new(1 << 20).unwrap();
        assert_eq!(index.capacity(), (1 << 20) / BYTES_PER_ENTRY);
        let keys: Vec<u64> = (1..=9).map(|upper| upper << 32 | 0xffff_ffff).collect();
        assert_eq!(index.bucket(keys[0]).as_ptr().align_offset(64), 0);
        assert_eq!(index.bucket(0).as_ptr().align_offset(64), 0);
        let added: Vec<Added> =
            (0..).zip(&keys).map(|(id, key)| index.add(NodeId(id), *key, |_| true)).collect();
        assert_eq!((&added[..8], added[8]), (&[Added::New; 8][..], Added::NoRoom));
        assert_eq!(index.add(NodeId(20), keys[3], |id| id == NodeId(3)), Added::Known(NodeId(3)));
        assert_eq!(index.find(keys[3], |id| id == NodeId(3)), Some(NodeId(3)));
        index.remove(NodeId(3), keys[3]);
        assert_eq!(index.find(keys[3], |_| true), None);
        assert_eq!(index.add(NodeId(8), keys[8], |_| true), Added::New);
    }
}
