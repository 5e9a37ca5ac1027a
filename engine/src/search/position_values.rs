//! What positions are worth by the visits so far, whichever way led to them (after Monty's hash table).
//!
//! Nodes are [shared](super::Tree) only if the fifty-move counter and the positions that can be repeated are the same too,
//! which two orders of reversible moves never have. Here the position alone counts: a new leaf takes the mean result of
//! the most visited node of its position in place of an evaluation.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::nets::eval::Wdl;

/// A fixed table, 8 bytes a position: 24 bits of the hash, Q and the probability of a draw in 16 bits each, and the
/// number of times that the visits have doubled, plus one.
pub(super) struct PositionValues(Box<[AtomicU64]>);

const STEPS: f32 = u16::MAX as f32;

impl PositionValues {
    /// An empty table of at most so many bytes; `None` if there is no memory for it.
    pub fn new(bytes: usize) -> Option<PositionValues> {
        let entries = (bytes / size_of::<AtomicU64>()).max(1024);
        let entries = 1_usize << entries.ilog2();
        bytemuck::allocation::try_zeroed_slice_box(entries).ok().map(PositionValues)
    }

    fn entry(&self, hash: u64) -> &AtomicU64 {
        &self.0[hash as usize & (self.0.len() - 1)]
    }

    /// Records the mean result after so many visits, for the side to move. Of one position the most visited node counts,
    /// of two the later.
    pub fn put(&self, hash: u64, wdl: Wdl, visits: u32) {
        let doublings = u64::from(visits.checked_ilog2().map_or(0, |doublings| doublings + 1));
        let entry = self.entry(hash);
        let before = entry.load(Ordering::Relaxed);
        if before >> 40 == hash >> 40 && before & 0xff > doublings {
            return;
        }
        let q = ((wdl.q() + 1.0) / 2.0 * STEPS).round() as u64;
        let draw = (wdl.draw * STEPS).round() as u64;
        entry.store(hash >> 40 << 40 | q << 24 | draw << 8 | doublings, Ordering::Relaxed);
    }

    /// The recorded result, for the side to move.
    pub fn get(&self, hash: u64) -> Option<Wdl> {
        let entry = self.entry(hash).load(Ordering::Relaxed);
        if entry & 0xff == 0 || entry >> 40 != hash >> 40 {
            return None;
        }
        let part = |bits: u64| f32::from(bits as u16) / STEPS;
        let (q, draw) = (2.0 * part(entry >> 24) - 1.0, part(entry >> 8));
        let win = ((1.0 - draw + q) / 2.0).clamp(0.0, 1.0);
        Some(Wdl { win, draw, loss: (1.0 - draw - win).max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_visited_counts_and_the_key_is_checked() {
        let values = PositionValues::new(1 << 14).unwrap();
        let (one, other) = (0xabcd_ef01_2345_6789, 0x1bcd_ef01_2345_6789);
        assert_eq!(values.get(one), None);
        let wdl = Wdl { win: 0.5, draw: 0.3, loss: 0.2 };
        values.put(one, wdl, 8);
        let close = |found: Wdl, wdl: Wdl| {
            assert!((found.win - wdl.win).abs() < 1e-4 && (found.draw - wdl.draw).abs() < 1e-4, "{found:?}");
        };
        close(values.get(one).unwrap(), wdl);
        values.put(one, Wdl::WIN, 7);
        close(values.get(one).unwrap(), wdl);
        values.put(one, Wdl::LOSS, 16);
        close(values.get(one).unwrap(), Wdl::LOSS);
        assert_eq!(values.get(other), None, "another position of the same entry");
        values.put(other, Wdl::DRAW, 1);
        assert_eq!((values.get(one), values.get(other).is_some()), (None, true));
    }
}
