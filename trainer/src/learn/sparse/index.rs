/// For each row of a table, the entries of a batch that use it, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct RowIndex<T> {
    at: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy + Default> RowIndex<T> {
    /// Groups `entries` by row. `used` has the row of each entry, `rows` is the table's size.
    pub fn new(rows: usize, used: &[u16], entries: impl Iterator<Item = T>) -> RowIndex<T> {
        let mut at = vec![0u32; rows + 1];
        used.iter().for_each(|row| at[usize::from(*row) + 1] += 1);
        for row in 0..rows {
            at[row + 1] += at[row];
        }
        let mut next = at.clone();
        let mut sorted = vec![T::default(); used.len()];
        for (row, entry) in used.iter().zip(entries) {
            let slot = &mut next[usize::from(*row)];
            sorted[*slot as usize] = entry;
            *slot += 1;
        }
        RowIndex { at, entries: sorted }
    }

    #[inline(always)]
    pub fn of(&self, row: usize) -> &[T] {
        &self.entries[self.at[row] as usize..self.at[row + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_by_row_and_keep_their_order() {
        let index = RowIndex::new(4, &[3, 0, 3, 1, 0], 0u32..5);
        assert_eq!([index.of(0), index.of(1), index.of(2), index.of(3)], [&[1, 4][..], &[3], &[], &[0, 2]]);
    }
}
