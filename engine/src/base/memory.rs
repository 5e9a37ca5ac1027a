//! Large arrays in large pages.
//!
//! Whoever reads at random places of a large array waits for the processor to find out where each page lies. Large pages, of
//! which few make up the array, are found at once. Linux uses them where it is asked to; other systems do as they like.

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hugealloc::HugeAlloc;

/// An array of a fixed length, in large pages from 2 MiB on. Up to 2 MiB before it may be taken as well: it is meant for few
/// arrays that no bound counts.
pub(crate) type LargeArray<T> = Box<[T], HugeAlloc>;

/// The values in an array.
///
/// # Panics
///
/// If the system has no memory for it, or the values are not as many as the iterator says.
pub(crate) fn large_copy<T>(values: impl ExactSizeIterator<Item = T>) -> LargeArray<T> {
    let mut copy = Vec::with_capacity_in(values.len(), HugeAlloc);
    copy.extend(values);
    // Room to spare would be given back, and what this allocator does for that is not sound below 2 MiB.
    assert_eq!(copy.len(), copy.capacity());
    copy.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::large_copy;

    #[test]
    fn an_array_holds_the_values() {
        let words = large_copy(["a", "b"].into_iter().map(str::to_owned));
        assert_eq!(words[..], ["a".to_owned(), "b".to_owned()]);
        assert!(large_copy(std::iter::empty::<u8>()).is_empty());
    }

    #[test]
    fn an_array_of_two_mebibytes_begins_where_a_large_page_can() {
        let page = 2 << 20;
        let array = large_copy(std::iter::repeat_n(7_u8, page + 1));
        assert_eq!(array.as_ptr().addr() % page, 0);
        assert_eq!(array.iter().map(|&value| usize::from(value)).sum::<usize>(), 7 * (page + 1));
    }
}
