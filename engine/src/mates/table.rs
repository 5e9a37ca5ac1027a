//! The table of results, of a fixed size.

use prefetch_index::prefetch_index;

use super::numbers::{INFINITE, Numbers};

/// Entries that share a cache line.
const WAYS: usize = 4;

/// Generations before the count starts again.
const GENERATIONS: u8 = 16;

/// What is known of one position, in 16 bytes.
#[derive(Clone, Copy, Default)]
struct MateEntry {
    key: u64,
    /// [`Facts`], packed; 0 if the entry is empty.
    facts: u64,
}

/// What an entry holds besides its key.
#[derive(Clone, Copy)]
struct Facts {
    /// Proof number, 20 bits.
    proof: u32,
    /// Disproof number, 20 bits.
    disproof: u32,
    /// Moves to the shortest mate found, 5 bits; 0 if none was found.
    mate: u8,
    /// Moves within which there is no mate, 5 bits.
    no_mate: u8,
    /// Bits of the number of nodes spent, 5 bits.
    effort: u8,
    /// 4 bits.
    generation: u8,
}

impl Facts {
    fn pack(self) -> u64 {
        // The highest bit tells a used entry from an empty one.
        1 << 63
            | u64::from(self.proof)
            | u64::from(self.disproof) << 20
            | u64::from(self.mate) << 40
            | u64::from(self.no_mate) << 45
            | u64::from(self.effort) << 50
            | u64::from(self.generation) << 55
    }

    fn unpack(bits: u64) -> Facts {
        Facts {
            proof: bits as u32 & INFINITE,
            disproof: (bits >> 20) as u32 & INFINITE,
            mate: (bits >> 40) as u8 & 31,
            no_mate: (bits >> 45) as u8 & 31,
            effort: (bits >> 50) as u8 & 31,
            generation: (bits >> 55) as u8 & (GENERATIONS - 1),
        }
    }
}

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct MateBucket([MateEntry; WAYS]);

/// Results by position, in a fixed number of buckets.
pub(super) struct MateTable {
    buckets: Box<[MateBucket]>,
    generation: u8,
}

impl MateTable {
    /// A table of at most `bytes`, but of at least one bucket.
    pub fn new(bytes: usize) -> MateTable {
        let buckets = (bytes / size_of::<MateBucket>()).max(1);
        MateTable { buckets: vec![MateBucket::default(); buckets].into_boxed_slice(), generation: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.buckets.fill(MateBucket::default());
    }

    /// From now on, entries made before are the first to be replaced.
    pub fn next_generation(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
    }

    /// Asks the processor to fetch the entries where a key is looked up soon.
    pub fn prefetch(&self, key: u64) {
        prefetch_index(&self.buckets, self.index(key));
    }

    /// What is known about a mate within `limit` moves.
    ///
    /// Numbers found with another limit are given as well: they are estimates in any case, and better than none.
    pub fn get(&self, key: u64, limit: u8) -> Option<Numbers> {
        let bucket = &self.buckets[self.index(key)];
        let entry = bucket.0.iter().find(|entry| entry.key == key && entry.facts != 0)?;
        let facts = Facts::unpack(entry.facts);
        if facts.mate != 0 && facts.mate <= limit {
            Some(Numbers::mate(facts.mate))
        } else if facts.no_mate >= limit {
            Some(Numbers::no_mate(facts.no_mate))
        } else if facts.proof.max(facts.disproof) < INFINITE {
            Some(Numbers::open(facts.proof, facts.disproof))
        } else {
            None
        }
    }

    /// Stores numbers found with so many nodes.
    pub fn put(&mut self, key: u64, numbers: Numbers, nodes: u64) {
        let index = self.index(key);
        let generation = self.generation;
        let bucket = &mut self.buckets[index].0;
        let known = bucket.iter().position(|entry| entry.key == key && entry.facts != 0);
        let slot = known.unwrap_or_else(|| {
            let worth = |slot: &usize| {
                let entry = bucket[*slot];
                let facts = Facts::unpack(entry.facts);
                (entry.facts != 0, facts.generation == generation, facts.effort)
            };
            (0..WAYS).min_by_key(worth).expect("a bucket has entries")
        });
        let earlier = known.map(|slot| Facts::unpack(bucket[slot].facts));
        let (mut mate, mut no_mate) = earlier.map_or((0, 0), |facts| (facts.mate, facts.no_mate));
        if numbers.is_mate() && (mate == 0 || numbers.moves < mate) {
            mate = numbers.moves;
        }
        if numbers.is_refuted() {
            no_mate = no_mate.max(numbers.moves);
        }
        let effort = (u64::BITS - nodes.leading_zeros()).min(31) as u8;
        let Numbers { proof, disproof, .. } = numbers;
        bucket[slot] =
            MateEntry { key, facts: Facts { proof, disproof, mate, no_mate, effort, generation }.pack() };
    }

    fn index(&self, key: u64) -> usize {
        ((u128::from(key) * self.buckets.len() as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mate_holds_for_greater_limits_and_a_refutation_for_smaller_ones() {
        let mut table = MateTable::new(1 << 10);
        table.put(7, Numbers::no_mate(2), 1);
        table.put(7, Numbers::mate(5), 1);
        assert_eq!(table.get(7, 2), Some(Numbers::no_mate(2)));
        assert_eq!(table.get(7, 3), None);
        assert_eq!(table.get(7, 5), Some(Numbers::mate(5)));
        assert_eq!(table.get(7, 31), Some(Numbers::mate(5)));
        table.put(7, Numbers::open(3, 4), 1);
        assert_eq!(table.get(7, 4), Some(Numbers::open(3, 4)));
        assert_eq!(table.get(7, 5), Some(Numbers::mate(5)), "kept beside the numbers");
        assert_eq!(table.get(8, 5), None);
    }

    #[test]
    fn every_field_survives_packing() {
        let all = Facts {
            proof: INFINITE - 1,
            disproof: INFINITE,
            mate: 31,
            no_mate: 30,
            effort: 29,
            generation: GENERATIONS - 1,
        };
        let back = Facts::unpack(all.pack());
        assert_eq!((back.proof, back.disproof), (INFINITE - 1, INFINITE));
        assert_eq!((back.mate, back.no_mate, back.effort, back.generation), (31, 30, 29, GENERATIONS - 1));
    }

    #[test]
    fn old_entries_make_room_first_then_those_of_little_effort() {
        let mut table = MateTable::new(1);
        for key in 0..4 {
            table.put(key, Numbers::open(1, 1), 1 << key);
        }
        table.put(4, Numbers::open(1, 1), 1);
        assert_eq!(table.get(0, 1), None, "the least effort");
        assert!((1..=4).all(|key| table.get(key, 1).is_some()));
        table.next_generation();
        table.put(5, Numbers::open(1, 1), 1);
        table.put(6, Numbers::open(1, 1), 1);
        assert_eq!(table.get(5, 1), Some(Numbers::open(1, 1)), "older entries went first");
        table.clear();
        assert!((0..=6).all(|key| table.get(key, 1).is_none()));
    }
}
