use std::ops::Range;

use anyhow::ensure;
use engine::chess::position::PackedMove;
use serde::{Deserialize, Serialize};

use super::NO_EVAL;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Expected result (−1 to 1) for the side to move, times 32767.
    pub q: i16,
    /// P(draw), times 65535.
    pub d: u16,
    /// Policy target: moves with shares, times 65535. Empty if the search was too small for a target.
    pub shares: Vec<(PackedMove, u16)>,
    /// An engine's scores of these moves, as in [`GameRecord::evals`](super::GameRecord::evals). Empty for Philidor's
    /// own searches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<i16>,
}

impl SearchRecord {
    /// `q` is −1 to 1; the shares sum to one.
    pub fn new(q: f32, draw: f32, shares: impl IntoIterator<Item = (PackedMove, f32)>) -> SearchRecord {
        let shares = shares.into_iter().map(|(m, share)| (m, word(share))).filter(|(_, s)| *s > 0).collect();
        SearchRecord { shares, ..SearchRecord::of_value(q, draw) }
    }

    /// Like `new`, for moves scored by an engine. Keeps moves whose share rounds to 0.
    pub fn scored(
        q: f32,
        draw: f32,
        moves: impl IntoIterator<Item = (PackedMove, f32, i16)>,
    ) -> SearchRecord {
        let moves = moves.into_iter().map(|(m, share, score)| ((m, word(share)), score));
        let (shares, scores) = moves.unzip();
        SearchRecord { shares, scores, ..SearchRecord::of_value(q, draw) }
    }

    fn of_value(q: f32, draw: f32) -> SearchRecord {
        let q = (q.clamp(-1.0, 1.0) * 32767.0).round() as i16;
        SearchRecord { q, d: word(draw), ..SearchRecord::default() }
    }

    pub fn moves(&self) -> impl Iterator<Item = (u16, u16, i16)> {
        let scores = self.scores.iter().copied().chain(std::iter::repeat(NO_EVAL));
        self.shares.iter().zip(scores).map(|((m, share), score)| (m.0, *share, score))
    }
}

fn word(share: f32) -> u16 {
    (share.clamp(0.0, 1.0) * 65535.0).round() as u16
}

/// For the side to move.
pub fn wdl_of_search(q: i16, d: u16) -> [f32; 3] {
    let (q, draw) = (f32::from(q) / 32767.0, f32::from(d) / 65535.0);
    // Rounding may make these negative.
    let of = |side: f32| ((1.0 - draw + side * q) / 2.0).max(0.0);
    let total = of(1.0) + draw + of(-1.0);
    [of(1.0), draw, of(-1.0)].map(|share| share / total)
}

/// A game's [`SearchRecord`]s, borrowed from columns: one entry per ply, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchView<'a> {
    pub q: &'a [i16],
    pub d: &'a [u16],
    /// `policy/first`: index of the ply's first entry in `moves` and `shares`.
    pub first: &'a [u64],
    /// `policy/len`: the ply's number of entries; 0 is not recorded.
    pub len: &'a [u8],
    pub moves: &'a [u16],
    pub shares: &'a [u16],
    /// `policy/eval`, parallel to `moves`; empty if the file has no such scores.
    pub scores: &'a [i16],
}

impl<'a> SearchView<'a> {
    pub const NONE: SearchView<'static> =
        SearchView { q: &[], d: &[], first: &[], len: &[], moves: &[], shares: &[], scores: &[] };

    pub fn is_empty(&self) -> bool {
        self.len.is_empty()
    }

    pub fn is_recorded(&self, ply: usize) -> bool {
        self.len.get(ply).is_some_and(|len| *len > 0)
    }

    /// Packed moves with shares times 65535.
    pub fn shares(&self, ply: usize) -> impl Iterator<Item = (u16, u16)> + use<'a> {
        let range = self.range(ply);
        self.moves[range.clone()].iter().copied().zip(self.shares[range].iter().copied())
    }

    /// Empty if no engine scored the ply's moves.
    pub fn scores(&self, ply: usize) -> &'a [i16] {
        let scores = self.scores.get(self.range(ply)).unwrap_or_default();
        if scores.iter().all(|score| *score == NO_EVAL) { &[] } else { scores }
    }

    fn range(&self, ply: usize) -> Range<usize> {
        let len = self.len.get(ply).copied().map_or(0, usize::from);
        self.first.get(ply).map_or(0..0, |first| *first as usize..*first as usize + len)
    }

    /// For the side to move.
    pub fn wdl(&self, ply: usize) -> Option<[f32; 3]> {
        if !self.is_recorded(ply) {
            return None;
        }
        Some(wdl_of_search(self.q[ply], self.d[ply]))
    }

    pub fn record(&self, ply: usize) -> SearchRecord {
        let shares = self.shares(ply).map(|(m, share)| (PackedMove(m), share)).collect();
        SearchRecord { q: self.q[ply], d: self.d[ply], shares, scores: self.scores(ply).to_vec() }
    }
}

/// Columns of [`SearchView`] that grow ply by ply. `first` counts from the first ply pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchColumns {
    pub q: Vec<i16>,
    pub d: Vec<u16>,
    pub first: Vec<u64>,
    pub len: Vec<u8>,
    pub moves: Vec<u16>,
    pub shares: Vec<u16>,
    pub scores: Vec<i16>,
}

impl SearchColumns {
    pub fn push(&mut self, q: i16, d: u16, shares: impl Iterator<Item = (u16, u16)>) {
        self.push_scored(q, d, shares.map(|(m, share)| (m, share, NO_EVAL)));
    }

    pub fn push_scored(&mut self, q: i16, d: u16, moves: impl Iterator<Item = (u16, u16, i16)>) {
        let before = self.moves.len();
        for (m, share, score) in moves.take(usize::from(u8::MAX)) {
            // The column begins with the first score, padded for the moves before.
            if score != NO_EVAL || !self.scores.is_empty() {
                self.scores.resize(self.moves.len(), NO_EVAL);
                self.scores.push(score);
            }
            self.moves.push(m);
            self.shares.push(share);
        }
        self.q.push(q);
        self.d.push(d);
        self.first.push(before as u64);
        self.len.push((self.moves.len() - before) as u8);
    }

    pub fn pad(&mut self, plies: usize) {
        (self.len.len()..plies).for_each(|_| self.push(0, 0, std::iter::empty()));
    }

    /// Nothing if no ply was ever pushed.
    pub fn get(&self, range: Range<usize>) -> SearchView<'_> {
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
            scores: &self.scores,
        }
    }

    /// Checks that the columns have consistent lengths, for `plies` plies.
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
        let scores =
            (!self.scores.is_empty()).then_some(("policy/eval", self.scores.len(), self.moves.len()));
        for (name, found, expected) in columns.into_iter().chain(scores) {
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
    fn the_scores_of_moves_are_kept_where_an_engine_gave_them() {
        let scored = SearchRecord::scored(0.5, 0.5, [(PackedMove(796), 1.0, 80), (PackedMove(1), 0.0, -900)]);
        assert_eq!(
            (scored.shares.len(), &scored.scores[..]),
            (2, &[80, -900][..]),
            "also one without a share"
        );
        let own = SearchRecord::new(0.0, 0.0, [(PackedMove(3), 1.0)]);
        let mut columns = SearchColumns::default();
        for record in [&own, &scored, &own] {
            columns.push_scored(record.q, record.d, record.moves());
        }
        columns.check(3).unwrap();
        assert_eq!(columns.scores, [NO_EVAL, 80, -900, NO_EVAL]);
        let searches = columns.get(0..3);
        assert_eq!([0, 1, 2].map(|ply| searches.record(ply)), [own.clone(), scored, own]);
        columns.scores.pop();
        assert_eq!(columns.check(3).unwrap_err().to_string(), "policy/eval has 3 entries, expected 4");
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
