//! The searches of the positions of a self-played game.

use anyhow::ensure;
use engine::position::PackedMove;
use serde::{Deserialize, Serialize};

/// The search of one position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// The expected result for the mover, times 32767.
    pub q: i16,
    /// The probability of a draw, times 65535.
    pub d: u16,
    /// Moves with their share of the policy target, times 65535; empty if the search was too small for a target.
    pub shares: Vec<(PackedMove, u16)>,
}

impl SearchRecord {
    /// Packs an expected result, −1 to 1, a draw's probability, and shares that sum to one.
    pub fn new(q: f32, draw: f32, shares: impl IntoIterator<Item = (PackedMove, f32)>) -> SearchRecord {
        let word = |share: f32| (share.clamp(0.0, 1.0) * 65535.0).round() as u16;
        SearchRecord {
            q: (q.clamp(-1.0, 1.0) * 32767.0).round() as i16,
            d: word(draw),
            shares: shares.into_iter().map(|(m, share)| (m, word(share))).filter(|(_, s)| *s > 0).collect(),
        }
    }
}

/// Win, draw and loss for the mover of a stored q (times 32767) and d (times 65535).
pub fn wdl_of_search(q: i16, d: u16) -> [f32; 3] {
    let (q, draw) = (f32::from(q) / 32767.0, f32::from(d) / 65535.0);
    // Rounding may make them negative.
    let of = |side: f32| ((1.0 - draw + side * q) / 2.0).max(0.0);
    let total = of(1.0) + draw + of(-1.0);
    [of(1.0), draw, of(-1.0)].map(|share| share / total)
}

/// The [`SearchRecord`]s of a game, borrowed from columns: one entry per ply, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchView<'a> {
    /// `plies/q`.
    pub q: &'a [i16],
    /// `plies/d`.
    pub d: &'a [u16],
    /// `policy/first`: the index of a ply's first entry in `moves` and `shares`.
    pub first: &'a [u64],
    /// `policy/len`: the number of its entries; 0 means not recorded.
    pub len: &'a [u8],
    /// `policy/move`.
    pub moves: &'a [u16],
    /// `policy/share`.
    pub shares: &'a [u16],
}

impl<'a> SearchView<'a> {
    /// No searches.
    pub const NONE: SearchView<'static> =
        SearchView { q: &[], d: &[], first: &[], len: &[], moves: &[], shares: &[] };

    /// Whether the game has no searches.
    pub fn is_empty(&self) -> bool {
        self.len.is_empty()
    }

    /// Whether the ply has a policy target.
    pub fn is_recorded(&self, ply: usize) -> bool {
        self.len.get(ply).is_some_and(|len| *len > 0)
    }

    /// The packed moves of a ply with their shares, times 65535.
    pub fn shares(&self, ply: usize) -> impl Iterator<Item = (u16, u16)> + use<'a> {
        let len = self.len.get(ply).copied().map_or(0, usize::from);
        let range = self.first.get(ply).map_or(0..0, |first| *first as usize..*first as usize + len);
        self.moves[range.clone()].iter().copied().zip(self.shares[range].iter().copied())
    }

    /// Win, draw and loss for the mover of a recorded ply.
    pub fn wdl(&self, ply: usize) -> Option<[f32; 3]> {
        if !self.is_recorded(ply) {
            return None;
        }
        Some(wdl_of_search(self.q[ply], self.d[ply]))
    }

    /// The search of a ply.
    pub fn record(&self, ply: usize) -> SearchRecord {
        let shares = self.shares(ply).map(|(m, share)| (PackedMove(m), share)).collect();
        SearchRecord { q: self.q[ply], d: self.d[ply], shares }
    }
}

/// The columns of [`SearchView`], growing ply by ply; `first` counts from the first ply pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchColumns {
    /// `plies/q`.
    pub q: Vec<i16>,
    /// `plies/d`.
    pub d: Vec<u16>,
    /// `policy/first`.
    pub first: Vec<u64>,
    /// `policy/len`.
    pub len: Vec<u8>,
    /// `policy/move`.
    pub moves: Vec<u16>,
    /// `policy/share`.
    pub shares: Vec<u16>,
}

impl SearchColumns {
    /// Adds a ply.
    pub fn push(&mut self, q: i16, d: u16, shares: impl Iterator<Item = (u16, u16)>) {
        let before = self.moves.len();
        for (m, share) in shares.take(usize::from(u8::MAX)) {
            self.moves.push(m);
            self.shares.push(share);
        }
        self.q.push(q);
        self.d.push(d);
        self.first.push(before as u64);
        self.len.push((self.moves.len() - before) as u8);
    }

    /// Adds plies without a search until there are `plies`.
    pub fn pad(&mut self, plies: usize) {
        (self.len.len()..plies).for_each(|_| self.push(0, 0, std::iter::empty()));
    }

    /// The plies in `range`, all of them if none was ever pushed.
    pub fn get(&self, range: std::ops::Range<usize>) -> SearchView<'_> {
        if self.len.is_empty() {
            return SearchView::NONE;
        }
        SearchView {
            q: &self.q[range.clone()],
            d: &self.d[range.clone()],
            first: &self.first[range.clone()],
            len: &self.len[range],
            moves: &self.moves,
            shares: &self.shares,
        }
    }

    /// Checks that the columns are consistent and have this number of plies.
    ///
    /// # Errors
    ///
    /// The first inconsistent column.
    pub fn check(&self, plies: usize) -> anyhow::Result<()> {
        if self.len.is_empty() && self.moves.is_empty() && self.q.is_empty() {
            return Ok(());
        }
        let columns = [
            ("plies/q", self.q.len(), plies),
            ("plies/d", self.d.len(), plies),
            ("policy/first", self.first.len(), plies),
            ("policy/len", self.len.len(), plies),
            ("policy/share", self.shares.len(), self.moves.len()),
        ];
        for (name, found, expected) in columns {
            ensure!(found == expected, "{name} has {found} entries, expected {expected}");
        }
        let mut next = 0;
        for (ply, (first, len)) in self.first.iter().zip(&self.len).enumerate() {
            ensure!(*first == next, "the policy of ply {ply} starts at {first}, expected {next}");
            next += u64::from(*len);
        }
        let moves = self.moves.len();
        ensure!(next == moves as u64, "the plies have policies of {next} moves, policy/move has {moves}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_packing() {
        let searched = SearchRecord::new(
            -0.25,
            0.5,
            [(PackedMove(796), 0.75), (PackedMove(1), 0.25), (PackedMove(2), 0.0)],
        );
        assert_eq!(searched.shares.len(), 2, "moves without a share are left out");
        let mut columns = SearchColumns::default();
        columns.pad(1);
        columns.push(searched.q, searched.d, searched.shares.iter().map(|(m, share)| (m.0, *share)));
        columns.check(2).unwrap();
        let searches = columns.get(0..2);
        assert_eq!(searches.record(1), searched);
        let [win, draw, loss] = searches.wdl(1).unwrap();
        assert!((win - 0.125).abs() < 1e-4 && (draw - 0.5).abs() < 1e-4 && (loss - 0.375).abs() < 1e-4);
        assert_eq!((searches.wdl(0), searches.is_recorded(0)), (None, false));
        assert_eq!(columns.get(1..2).shares(0).collect::<Vec<_>>(), [(796, 49151), (1, 16384)]);
    }

    #[test]
    fn inconsistent_columns_are_named() {
        let mut columns = SearchColumns::default();
        columns.push(0, 0, [(1, 2)].into_iter());
        assert!(columns.check(2).unwrap_err().to_string().starts_with("plies/q has 1 entries"));
        columns.len[0] = 2;
        let error = columns.check(1).unwrap_err().to_string();
        assert_eq!(error, "the plies have policies of 2 moves, policy/move has 1");
    }
}
