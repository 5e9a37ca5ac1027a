//! NEON, and its dot products of bytes.
//!
//! A level for `i8mm` would gain nothing. `smmla` multiplies two rows of eight bytes by two and needs two positions to
//! fill its sums; with the one that is evaluated, half of its 32 products are of no use, and 16 are left, as of `sdot`.
//! `usdot` takes bytes above 127, which hidden units never are. Sums and the value's layer have 16 bits.

use std::arch::aarch64::{int8x16_t, int16x8_t, int32x4_t};

use pulp::{NullaryFnOnce, cast};

use super::set_bits::{SET_BITS, SetBits};
use super::{PlacedNumbers, Simd};
use crate::nets::sparse::integers::{Bytes, Lanes, UNITS};

pulp::simd_type! {
    /// In every aarch64 processor.
    pub(in crate::nets::sparse) struct Neon {
        neon: "neon",
    }

    /// In most processors since 2018, and in Apple's.
    pub(in crate::nets::sparse) struct NeonDotprod {
        neon: "neon",
        dotprod: "dotprod",
    }
}

impl Simd for Neon {
    const SUMS: usize = 4;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        Neon::vectorize(self, f)
    }

    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let neon = self.neon;
        let mut sums = [neon.vdupq_n_s32(0); 2];
        for ((hidden, a), b) in hidden.iter().zip(a).zip(b) {
            let [hidden, a, b]: [[int8x16_t; 4]; 3] = [cast(hidden.0), cast(a.0), cast(b.0)];
            for ((hidden, a), b) in hidden.into_iter().zip(a).zip(b) {
                // At most 2 · 127 · 128: no overflow.
                let [low, low_a, low_b] = [hidden, a, b].map(|all| neon.vget_low_s8(all));
                let low = neon.vmlal_s8(neon.vmull_s8(low, low_a), low, low_b);
                let high = neon.vmlal_high_s8(neon.vmull_high_s8(hidden, a), hidden, b);
                sums = [neon.vpadalq_s16(sums[0], low), neon.vpadalq_s16(sums[1], high)];
            }
        }
        neon.vaddvq_s32(neon.vaddq_s32(sums[0], sums[1]))
    }

    type Sums = [int32x4_t; 4];

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> [int32x4_t; 4] {
        cast(numbers)
    }

    #[inline(always)]
    fn numbers(self, sums: [int32x4_t; 4]) -> [i32; UNITS] {
        cast(sums)
    }

    #[inline(always)]
    fn add_products(self, mut sums: [int32x4_t; 4], pair: i32, row: &Lanes) -> [int32x4_t; 4] {
        let neon = self.neon;
        let pair: [i16; 2] = cast(pair);
        let pair = pair.map(|number| neon.vdupq_n_s16(number));
        let row: [[int16x8_t; 2]; 2] = cast(row.0);
        for (sums, [first, second]) in sums.as_chunks_mut::<2>().0.iter_mut().zip(row) {
            let weights = [neon.vuzp1q_s16(first, second), neon.vuzp2q_s16(first, second)];
            for (number, weights) in pair.into_iter().zip(weights) {
                let low = [weights, number].map(|all| neon.vget_low_s16(all));
                sums[0] = neon.vmlal_s16(sums[0], low[0], low[1]);
                sums[1] = neon.vmlal_high_s16(sums[1], weights, number);
            }
        }
        sums
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        let neon = self.neon;
        let quarters: [int32x4_t; 4] = cast(numbers);
        let [a, b, c, d] = quarters.map(|quarter| cast(neon.vtstq_s32(quarter, quarter)));
        let all = neon.vuzp1q_u8(cast(neon.vuzp1q_u16(a, b)), cast(neon.vuzp1q_u16(c, d)));
        let bits = neon.vandq_u8(all, cast([[1u8, 2, 4, 8]; 4]));
        let bits = neon.vpaddq_u8(bits, bits);
        let masks: [[u8; 4]; 4] = cast(neon.vpaddq_u8(bits, bits));
        for ((quarter, mask), first) in quarters.into_iter().zip(masks[0]).zip((first..).step_by(4)) {
            let SetBits { lanes, bytes, count } = SET_BITS[usize::from(mask)];
            let numbers: [i32; 4] = cast(neon.vqtbl1q_u8(cast(quarter), cast(bytes)));
            let places: [u32; 4] = cast(neon.vaddq_u32(cast(lanes), neon.vdupq_n_u32(first)));
            list.append(numbers, places, count);
        }
    }
}

impl NeonDotprod {
    #[inline(always)]
    fn neon(self) -> Neon {
        Neon { neon: self.neon }
    }
}

impl Simd for NeonDotprod {
    const SUMS: usize = Neon::SUMS;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        NeonDotprod::vectorize(self, f)
    }

    /// Stable Rust has no function for the instruction `sdot`; the compiler makes it from this loop.
    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let products = |hidden: &Bytes<u8>, row: &Bytes<i8>| -> i32 {
            let pairs = hidden.0.iter().zip(&row.0);
            pairs.map(|(hidden, weight)| i32::from(*hidden as i8) * i32::from(*weight)).sum()
        };
        let blocks = hidden.iter().zip(a).zip(b);
        blocks.map(|((hidden, a), b)| products(hidden, a) + products(hidden, b)).sum()
    }

    type Sums = [int32x4_t; 4];

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> [int32x4_t; 4] {
        self.neon().sums(numbers)
    }

    #[inline(always)]
    fn numbers(self, sums: [int32x4_t; 4]) -> [i32; UNITS] {
        self.neon().numbers(sums)
    }

    #[inline(always)]
    fn add_products(self, sums: [int32x4_t; 4], pair: i32, row: &Lanes) -> [int32x4_t; 4] {
        self.neon().add_products(sums, pair, row)
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        self.neon().append_nonzero(numbers, first, list);
    }
}
