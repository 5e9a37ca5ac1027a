//! Hash table from position keys to nodes, with a cache line per bucket. All memory is reserved at first, but the table
//! grows into it (linear hashing, Litwin 1980), so that a small tree touches few pages: each new bucket takes over part
//! of an older one's entries.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use prefetch_index::prefetch_index;

use crate::search::tree::node::NodeId;

/// Least memory per entry, in bytes; the number of buckets is rounded up to a power of two.
const BYTES_PER_ENTRY: usize = 128;

/// Entries per bucket: a cache line.
const BUCKET: usize = 8;

/// Nodes per bucket in use while the table can grow.
const NODES_PER_BUCKET: usize = 2;

/// Buckets in use at first: a power of two that fits a core's own cache.
const FIRST: usize = 4096;

/// Buckets added at once, a power of two.
const STEP: usize = 64;

/// Up to this many bytes, zeroing in place is faster than page faults on fresh memory.
const AT_ONCE: usize = 64 << 20;

/// An entry stores half of the key, so lookups must compare the node's key.
pub(super) struct KeyIndex {
    /// Upper half of the key, then node id plus one; 0 is empty.
    entries: Box<[AtomicU64]>,
    /// Offset of the first bucket, for cache-line alignment.
    begin: usize,
    buckets: usize,
    /// Buckets in use, a multiple of [`STEP`].
    used: AtomicUsize,
    /// Held while entries move to new buckets or one is removed, so that no removed entry moves.
    moving: Mutex<()>,
}

impl KeyIndex {
    /// `memory` is the store's, in bytes. `None` if the system refuses.
    pub fn new(memory: usize) -> Option<KeyIndex> {
        let entries = (memory / BYTES_PER_ENTRY).min(u32::MAX as usize);
        KeyIndex::of_buckets(entries.div_ceil(BUCKET).next_power_of_two().max(STEP))
    }

    fn of_buckets(buckets: usize) -> Option<KeyIndex> {
        let entries: Box<[AtomicU64]> =
            bytemuck::allocation::try_zeroed_slice_box((buckets + 1) * BUCKET).ok()?;
        let begin = entries.as_ptr().align_offset(BUCKET * size_of::<AtomicU64>()).min(BUCKET);
        Some(KeyIndex {
            entries,
            begin,
            buckets,
            used: AtomicUsize::new(FIRST.min(buckets)),
            moving: Mutex::new(()),
        })
    }

    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<AtomicU64>()
    }

    pub fn clear(&mut self) {
        let used = std::mem::replace(self.used.get_mut(), FIRST.min(self.buckets)) * BUCKET;
        if used * size_of::<AtomicU64>() > AT_ONCE
            && let Some(empty) = KeyIndex::of_buckets(self.buckets)
        {
            // The system zeroes fresh pages on demand.
            *self = empty;
        } else {
            self.entries[self.begin..][..used].fill_with(AtomicU64::default);
        }
    }

    #[inline]
    pub fn prefetch(&self, key: u64) {
        prefetch_index(&self.entries, self.first(key));
    }

    #[inline]
    pub fn find(&self, key: u64, has_key: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let known = |slot: &AtomicU64| node_of(slot.load(Ordering::Acquire), key).filter(|id| has_key(*id));
        self.bucket(key).iter().find_map(known)
    }

    /// Takes the first empty slot of the bucket, unless a node with the key comes first. Races (an equal key in a later
    /// slot, an entry added while its bucket moves) only lose a transposition.
    pub fn add(&self, id: NodeId, key: u64, has_key: impl Fn(NodeId) -> bool) -> Added {
        let used = self.used.load(Ordering::Relaxed);
        if id.0 as usize / NODES_PER_BUCKET >= used && used < self.buckets {
            self.grow();
        }
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

    pub fn remove(&self, id: NodeId, key: u64) {
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let own = entry_of(id, key);
        if let Some(slot) = self.bucket(key).iter().find(|slot| slot.load(Ordering::Relaxed) == own) {
            slot.store(0, Ordering::Relaxed);
        }
    }

    /// Does nothing while another thread grows or removes; the next node tries again.
    #[cold]
    fn grow(&self) {
        let Ok(_moving) = self.moving.try_lock() else { return };
        let used = self.used.load(Ordering::Relaxed);
        if used == self.buckets {
            return;
        }
        let half = (used + 1).next_power_of_two() / 2;
        for new in used..used + STEP {
            let (older, mut room) = (self.entries_of(new - half), self.entries_of(new).iter());
            for slot in older {
                let entry = slot.load(Ordering::Acquire);
                if entry != 0
                    && bucket_of(entry, used + STEP) == new
                    && let Some(place) = room.next()
                {
                    place.store(entry, Ordering::Release);
                    slot.store(0, Ordering::Release);
                }
            }
        }
        self.used.store(used + STEP, Ordering::Release);
    }

    #[inline]
    fn bucket(&self, key: u64) -> &[AtomicU64] {
        &self.entries[self.first(key)..][..BUCKET]
    }

    #[inline]
    fn first(&self, key: u64) -> usize {
        self.begin + bucket_of(key, self.used.load(Ordering::Acquire)) * BUCKET
    }

    fn entries_of(&self, bucket: usize) -> &[AtomicU64] {
        &self.entries[self.begin + bucket * BUCKET..][..BUCKET]
    }
}

/// Uses the low bits of the key's upper half, which the entry stores. Entries of a bucket not yet in use are in the
/// bucket without the highest bit.
#[inline]
fn bucket_of(key: u64, used: usize) -> usize {
    let most = used.next_power_of_two();
    let bucket = (key >> 32) as usize & (most - 1);
    if bucket < used { bucket } else { bucket - most / 2 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    New,
    Known(NodeId),
    NoRoom,
}

fn entry_of(id: NodeId, key: u64) -> u64 {
    key >> 32 << 32 | (u64::from(id.0) + 1)
}

/// `None` if the stored half of the key differs.
#[inline]
fn node_of(entry: u64, key: u64) -> Option<NodeId> {
    (entry != 0 && entry >> 32 == key >> 32).then(|| NodeId(entry as u32 - 1))
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn keys(count: u32) -> Vec<(NodeId, u64)> {
        let mut random = SmallRng::seed_from_u64(5);
        (0..count).map(|id| (NodeId(id), random.random())).collect()
    }

    fn is_found(index: &KeyIndex, (id, key): &(NodeId, u64)) -> bool {
        index.find(*key, |other| other == *id) == Some(*id)
    }

    #[test]
    fn a_bucket_is_one_cache_line_and_has_room_for_eight() {
        let index = KeyIndex::new(1 << 20).unwrap();
        assert_eq!(index.buckets * BUCKET, (1 << 20) / BYTES_PER_ENTRY);
        let keys: Vec<u64> = (1..=9).map(|upper| upper << 52 | 7 << 32 | 0xffff_ffff).collect();
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

    #[test]
    fn every_key_has_a_bucket_in_use_that_it_leaves_only_for_a_new_one() {
        for (_, key) in keys(1000) {
            for used in (STEP..16 * STEP).step_by(STEP) {
                let (before, after) = (bucket_of(key, used), bucket_of(key, used + STEP));
                assert!(before < used, "{key:x} of {used}");
                assert!(after == before || (used..used + STEP).contains(&after), "{key:x} of {used}");
            }
        }
    }

    #[test]
    fn it_grows_with_the_nodes_and_keeps_nearly_all_of_them() {
        let mut index = KeyIndex::new(64 << 20).unwrap();
        for count in [100_000, 3000] {
            let keys = keys(count);
            let lost = keys.iter().filter(|(id, key)| index.add(*id, *key, |_| false) != Added::New).count();
            // At four nodes per bucket, the most here, 0.8 % find no room.
            assert!(lost * 150 < keys.len(), "{lost} of {count}");
            assert_eq!(keys.iter().filter(|key| is_found(&index, key)).count(), keys.len() - lost);
            let wanted = FIRST.max(count as usize / NODES_PER_BUCKET);
            assert!((wanted..wanted + STEP).contains(index.used.get_mut()));
            let entries = index.entries.iter().filter(|entry| entry.load(Ordering::Relaxed) != 0).count();
            assert_eq!(entries, keys.len() - lost, "what moved is in one bucket only");
            index.clear();
            assert!(index.entries.iter().all(|entry| entry.load(Ordering::Relaxed) == 0));
            assert_eq!(*index.used.get_mut(), FIRST);
        }
    }

    #[test]
    fn it_stops_growing_at_its_memory() {
        let mut index = KeyIndex::new(8 << 20).unwrap();
        assert!(index.buckets > FIRST);
        let keys = keys(20_000);
        for (id, key) in &keys {
            index.add(*id, *key, |_| false);
        }
        assert_eq!(*index.used.get_mut(), index.buckets);
        assert!(keys.iter().filter(|key| is_found(&index, key)).count() > 19_900);
    }

    #[test]
    fn threads_may_add_and_remove_while_it_grows() {
        let index = KeyIndex::new(64 << 20).unwrap();
        let keys = keys(200_000);
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let own = keys.iter().skip(worker).step_by(4);
                let index = &index;
                scope.spawn(move || {
                    for (id, key) in own {
                        index.add(*id, *key, |_| false);
                        if id.0 % 3 == 0 {
                            index.remove(*id, *key);
                        }
                    }
                });
            }
        });
        let (removed, kept): (Vec<_>, Vec<_>) = keys.iter().partition(|(id, _)| id.0 % 3 == 0);
        assert!(!removed.iter().any(|key| is_found(&index, key)));
        // An entry added while its bucket moves may be lost.
        let found = kept.iter().filter(|key| is_found(&index, key)).count();
        assert!(found * 100 > kept.len() * 99, "{found} of {}", kept.len());
    }
}
