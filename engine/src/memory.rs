//! Large arrays in large pages.
//!
//! Whoever reads at random places of a large array waits for the processor to find out where each page lies. Large pages, of
//! which few make up the array, are found at once. Linux uses them where it is asked to; other systems do as they like.

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hugealloc::HugeAlloc;

/// An array of a fixed length, in large pages from 2 MiB on.
pub(crate) type LargeArray<T> = Box<[T], HugeAlloc>;

/// An array of so many values that `make` makes; `None` if the system has no memory for it.
pub(crate) fn large_array<T>(count: usize, make: impl FnMut() -> T) -> Option<LargeArray<T>> {
    let mut values = Vec::new_in(HugeAlloc);
    values.try_reserve_exact(count).ok()?;
    values.resize_with(count, make);
    Some(values.into_boxed_slice())
}

/// The values in an array.
///
/// # Panics
///
/// If the system has no memory for it.
pub(crate) fn large_copy<T>(values: impl ExactSizeIterator<Item = T>) -> LargeArray<T> {
    let mut copy = Vec::with_capacity_in(values.len(), HugeAlloc);
    copy.extend(values);
    copy.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::{large_array, large_copy};

    #[test]
    fn arrays_hold_what_they_are_made_of() {
        let mut next = 0;
        let made = large_array(5, || {
            next += 1;
            next
        });
        assert_eq!(made.unwrap()[..], [1, 2, 3, 4, 5]);
        assert_eq!(
            large_copy(["a", "b"].into_iter().map(str::to_owned))[..],
            ["a".to_owned(), "b".to_owned()]
        );
        assert!(large_copy(std::iter::empty::<u8>()).is_empty());
    }

    #[test]
    fn arrays_of_two_mebibytes_begin_where_a_large_page_can() {
        let page = 2 << 20;
        let array = large_copy(std::iter::repeat_n(7_u8, page + 1));
        assert_eq!(array.as_ptr().addr() % page, 0);
        assert_eq!(array.iter().map(|&value| usize::from(value)).sum::<usize>(), 7 * (page + 1));
    }

    #[test]
    fn what_the_system_has_no_memory_for_is_not_made() {
        assert!(large_array(usize::MAX / 16, || 0_u64).is_none());
    }
}
