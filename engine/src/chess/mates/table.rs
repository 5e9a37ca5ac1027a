use prefetch_index::prefetch_index;

use super::numbers::{INFINITE, Numbers};

/// Entries per cache line.
const WAYS: usize = 4;

#[derive(Clone, Copy, Default)]
struct MateEntry {
    key: u64,
    facts: u64,
}

impl MateEntry {
    /// The [generation](MateTable::generation) that wrote the entry; 0 if empty.
    fn generation(self) -> u8 {
        (self.facts >> 55) as u8
    }
}

/// An entry without its key.
#[derive(Clone, Copy)]
struct Facts {
    /// 20 bits.
    proof: u32,
    /// 20 bits.
    disproof: u32,
    /// Shortest mate found, in moves; 0 for none. 5 bits.
    mate: u8,
    /// No mate exists within this many moves. 5 bits.
    no_mate: u8,
    /// Bit length of the nodes spent. 5 bits.
    effort: u8,
    /// Not 0. 8 bits.
    generation: u8,
}

impl Facts {
    fn pack(self) -> u64 {
        u64::from(self.proof)
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
            generation: (bits >> 55) as u8,
        }
    }
}

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct MateBucket([MateEntry; WAYS]);

pub(super) struct MateTable {
    buckets: Box<[MateBucket]>,
    /// Entries of other generations count as empty.
    generation: u8,
}

impl MateTable {
    /// At most `bytes`, but at least one bucket.
    pub fn new(bytes: usize) -> MateTable {
        let buckets = (bytes / size_of::<MateBucket>()).max(1);
        MateTable { buckets: vec![MateBucket::default(); buckets].into_boxed_slice(), generation: 1 }
    }

    /// Starts a new generation. Overwrites the entries only every 255th time: that takes longer than many a search.
    pub fn clear(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or_else(|| {
            self.buckets.fill(MateBucket::default());
            1
        });
    }

    pub fn prefetch(&self, key: u64) {
        prefetch_index(&self.buckets, self.index(key));
    }

    /// Returns a mate or refutation that holds for `limit`, else the open numbers last stored, even for another limit.
    pub fn get(&self, key: u64, limit: u8) -> Option<Numbers> {
        let bucket = &self.buckets[self.index(key)];
        let entry =
            bucket.0.iter().find(|entry| entry.key == key && entry.generation() == self.generation)?;
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

    /// `nodes` is the effort: entries of the least effort are replaced first.
    pub fn put(&mut self, key: u64, numbers: Numbers, nodes: u64) {
        let index = self.index(key);
        let generation = self.generation;
        let bucket = &mut self.buckets[index].0;
        let known = bucket.iter().position(|entry| entry.key == key && entry.generation() == generation);
        let slot = known.unwrap_or_else(|| {
            let worth = |slot: &usize| {
                let entry = bucket[*slot];
                (entry.generation() == generation).then(|| Facts::unpack(entry.facts).effort)
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
            generation: u8::MAX,
        };
        let back = Facts::unpack(all.pack());
        assert_eq!((back.proof, back.disproof), (INFINITE - 1, INFINITE));
        assert_eq!((back.mate, back.no_mate, back.effort, back.generation), (31, 30, 29, u8::MAX));
    }

    #[test]
    fn entries_of_little_effort_make_room_first() {
        let mut table = MateTable::new(1);
        for key in 0..4 {
            table.put(key, Numbers::open(1, 1), 1 << key);
        }
        table.put(4, Numbers::open(1, 1), 1);
        assert_eq!(table.get(0, 1), None, "the least effort");
        assert!((1..=4).all(|key| table.get(key, 1).is_some()));
    }

    #[test]
    fn a_cleared_table_is_as_a_new_one() {
        let mut table = MateTable::new(2 * size_of::<MateBucket>());
        // In the second bucket, where nothing else goes.
        table.put(u64::MAX, Numbers::open(1, 1), 1);
        // More often than there are generations.
        for time in 0..600 {
            table.clear();
            assert!([0, 1, 2, 3, 4, u64::MAX].iter().all(|key| table.get(*key, 1).is_none()), "{time}");
            for key in 0..5 {
                // Entries of an older generation make room even for less effort.
                table.put(key, Numbers::open(1, 1), 1 + (time % 7) * key);
            }
            let known: Vec<bool> = (0..5).map(|key| table.get(key, 1).is_some()).collect();
            assert_eq!(known, [false, true, true, true, true], "{time}");
        }
    }
}
