//! Large arrays in huge pages: with 4 KiB pages, random reads miss the TLB. Linux grants them on request (`madvise`);
//! other systems may not, and WebAssembly has none.

#[cfg(target_family = "wasm")]
use allocator_api2::alloc::Global as HugeAlloc;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
#[cfg(not(target_family = "wasm"))]
use hugealloc::HugeAlloc;

/// Huge pages from 2 MiB on; alignment may waste up to 2 MiB.
pub(crate) type LargeArray<T> = Box<[T], HugeAlloc>;

/// Panics if the memory is full or the iterator misreports its length.
pub(crate) fn large_copy<T>(values: impl ExactSizeIterator<Item = T>) -> LargeArray<T> {
    let mut copy = Vec::with_capacity_in(values.len(), HugeAlloc);
    copy.extend(values);
    // Spare capacity would be shrunk, which is unsound in this allocator below 2 MiB.
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
