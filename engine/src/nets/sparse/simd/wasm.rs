//! WebAssembly's vectors of 128 bits. A module that has them loads only where they are: it cannot ask when it runs.

use std::arch::wasm32::{
    i8x16_swizzle, i16x8_add, i16x8_extmul_high_i8x16, i16x8_extmul_low_i8x16, i32x4_add, i32x4_bitmask,
    i32x4_dot_i16x8, i32x4_extadd_pairwise_i16x8, i32x4_ne, i32x4_splat, v128,
};

use pulp::{NullaryFnOnce, cast};

use super::set_bits::{SET_BITS, SetBits};
use super::{PlacedNumbers, Simd};
use crate::nets::sparse::integers::{Bytes, Lanes, UNITS};

#[derive(Clone, Copy, Debug)]
pub(in crate::nets::sparse) struct Simd128;

impl Simd for Simd128 {
    const SUMS: usize = 2;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        f.call()
    }

    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let mut sums = [i32x4_splat(0); 2];
        for ((hidden, a), b) in hidden.iter().zip(a).zip(b) {
            let [hidden, a, b]: [[v128; 4]; 3] = [cast(hidden.0), cast(a.0), cast(b.0)];
            for ((hidden, a), b) in hidden.into_iter().zip(a).zip(b) {
                // At most 2 · 127 · 128: no overflow.
                let low = i16x8_add(i16x8_extmul_low_i8x16(hidden, a), i16x8_extmul_low_i8x16(hidden, b));
                let high = i16x8_add(i16x8_extmul_high_i8x16(hidden, a), i16x8_extmul_high_i8x16(hidden, b));
                sums[0] = i32x4_add(sums[0], i32x4_extadd_pairwise_i16x8(low));
                sums[1] = i32x4_add(sums[1], i32x4_extadd_pairwise_i16x8(high));
            }
        }
        let numbers: [i32; 4] = cast(i32x4_add(sums[0], sums[1]));
        numbers.into_iter().sum()
    }

    type Sums = [v128; 4];

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> [v128; 4] {
        cast(numbers)
    }

    #[inline(always)]
    fn numbers(self, sums: [v128; 4]) -> [i32; UNITS] {
        cast(sums)
    }

    #[inline(always)]
    fn add_products(self, mut sums: [v128; 4], pair: i32, row: &Lanes) -> [v128; 4] {
        let (pair, row): (_, [v128; 4]) = (i32x4_splat(pair), cast(row.0));
        for (sum, row) in sums.iter_mut().zip(row) {
            *sum = i32x4_add(*sum, i32x4_dot_i16x8(pair, row));
        }
        sums
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        let quarters: [v128; 4] = cast(numbers);
        for (quarter, first) in quarters.into_iter().zip((first..).step_by(4)) {
            let mask = i32x4_bitmask(i32x4_ne(quarter, i32x4_splat(0)));
            let SetBits { lanes, bytes, count } = SET_BITS[usize::from(mask)];
            let numbers: [i32; 4] = cast(i8x16_swizzle(quarter, cast(bytes)));
            let places: [u32; 4] = cast(i32x4_add(cast(lanes), i32x4_splat(first as i32)));
            list.append(numbers, places, count);
        }
    }
}
