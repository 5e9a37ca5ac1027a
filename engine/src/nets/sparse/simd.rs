//! Instruction sets, detected at run time. All implementations of [`Simd`] compute the same integers.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::cast;

use super::integers::{Bytes, Lanes, UNITS};

pub(super) trait Simd: Copy {
    /// [`Lanes`] summed at a time, by the number of free registers.
    const SUMS: usize;

    /// Runs `f` compiled for the instruction set; everything that `f` calls must be inlined.
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output;

    /// `hidden · a + hidden · b`, exact for hidden units of at most 127.
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32;

    /// [`UNITS`] sums of 32 bits in registers.
    type Sums: Copy;

    fn sums(self, numbers: [i32; UNITS]) -> Self::Sums;

    fn numbers(self, sums: Self::Sums) -> [i32; UNITS];

    /// Adds to each sum the dot product of `pair`, two 16-bit numbers, and its pair in `row`. Sums must fit into 32
    /// bits.
    fn add_products(self, sums: Self::Sums, pair: i32, row: &Lanes) -> Self::Sums;

    /// Appends the non-zero numbers with their places; `numbers[0]` has place `first`. Branch-free, since zeros are
    /// unpredictable.
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers);
}

#[derive(Clone, Debug)]
pub(super) struct PlacedNumbers {
    /// Written in blocks of [`UNITS`]; garbage from `len` on.
    numbers: Vec<i32>,
    places: Vec<u32>,
    len: usize,
}

impl PlacedNumbers {
    /// `most` is the capacity, a multiple of [`UNITS`].
    pub fn new(most: usize) -> PlacedNumbers {
        PlacedNumbers { numbers: vec![0; most], places: vec![0; most], len: 0 }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends the first `count` numbers; later appends overwrite the rest.
    #[inline(always)]
    fn append<const N: usize>(&mut self, numbers: [i32; N], places: [u32; N], count: u32) {
        self.numbers[self.len..][..N].copy_from_slice(&numbers);
        self.places[self.len..][..N].copy_from_slice(&places);
        self.len += count as usize;
    }

    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (i32, usize)> {
        let (numbers, places) = (&self.numbers[..self.len], &self.places[..self.len]);
        numbers.iter().zip(places).map(|(number, place)| (*number, *place as usize))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Plain,
}

impl Level {
    /// Best first.
    pub fn all() -> Vec<Level> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx512::try_new().map(Level::Avx512));
            all.extend(Avx2::try_new().map(Level::Avx2));
        }
        all.push(Level::Plain);
        all
    }

    pub fn best() -> Level {
        Level::all()[0]
    }

    pub fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "AVX2",
            Level::Plain => "plain",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

impl Simd for Plain {
    const SUMS: usize = 2;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        f.call()
    }

    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let mut sum = 0;
        for ((hidden, a), b) in hidden.iter().zip(a).zip(b) {
            for ((hidden, a), b) in hidden.0.iter().zip(&a.0).zip(&b.0) {
                sum += i32::from(*hidden) * i32::from(i16::from(*a) + i16::from(*b));
            }
        }
        sum
    }

    type Sums = [i32; UNITS];

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> [i32; UNITS] {
        numbers
    }

    #[inline(always)]
    fn numbers(self, sums: [i32; UNITS]) -> [i32; UNITS] {
        sums
    }

    #[inline(always)]
    fn add_products(self, mut sums: [i32; UNITS], pair: i32, row: &Lanes) -> [i32; UNITS] {
        let [a, b]: [i16; 2] = pulp::cast(pair);
        for (sum, weights) in sums.iter_mut().zip(row.0.as_chunks::<2>().0) {
            *sum += i32::from(a) * i32::from(weights[0]) + i32::from(b) * i32::from(weights[1]);
        }
        sums
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        for (number, place) in numbers.into_iter().zip(first..) {
            list.append([number], [place], u32::from(number != 0));
        }
    }
}

#[cfg(target_arch = "x86_64")]
pulp::simd_type! {
    /// In server processors since 2017, in desktop processors since 2022.
    pub(super) struct Avx512 {
        f: "avx512f",
        bw: "avx512bw",
        dq: "avx512dq",
        vl: "avx512vl",
        avx: "avx",
        avx2: "avx2",
        bmi1: "bmi1",
        bmi2: "bmi2",
        lzcnt: "lzcnt",
        popcnt: "popcnt",
    }

    /// AVX2 and contemporary bit instructions, in most processors since 2013.
    pub(super) struct Avx2 {
        avx: "avx",
        avx2: "avx2",
        sse2: "sse2",
        bmi1: "bmi1",
        bmi2: "bmi2",
        lzcnt: "lzcnt",
        popcnt: "popcnt",
    }
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx512 {
    const SUMS: usize = 8;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        Avx512::vectorize(self, f)
    }

    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let ones = self.f._mm512_set1_epi16(1);
        let mut sum = [self.f._mm512_setzero_si512(); 2];
        for ((hidden, a), b) in hidden.iter().zip(a).zip(b) {
            let hidden = cast(hidden.0);
            for (sum, row) in sum.iter_mut().zip([a.0, b.0]) {
                // At most 2 · 127 · 128: no saturation.
                let pairs = self.bw._mm512_maddubs_epi16(hidden, cast(row));
                *sum = self.f._mm512_add_epi32(*sum, self.bw._mm512_madd_epi16(pairs, ones));
            }
        }
        self.f._mm512_reduce_add_epi32(self.f._mm512_add_epi32(sum[0], sum[1]))
    }

    type Sums = __m512i;

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> __m512i {
        cast(numbers)
    }

    #[inline(always)]
    fn numbers(self, sums: __m512i) -> [i32; UNITS] {
        cast(sums)
    }

    #[inline(always)]
    fn add_products(self, sums: __m512i, pair: i32, row: &Lanes) -> __m512i {
        let products = self.bw._mm512_madd_epi16(self.f._mm512_set1_epi32(pair), cast(row.0));
        self.f._mm512_add_epi32(sums, products)
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        let places: [u32; UNITS] = std::array::from_fn(|lane| first + lane as u32);
        let (numbers, places) = (cast(numbers), cast(places));
        let mask = self.f._mm512_test_epi32_mask(numbers, numbers);
        let numbers: [i32; UNITS] = cast(self.f._mm512_maskz_compress_epi32(mask, numbers));
        let places: [u32; UNITS] = cast(self.f._mm512_maskz_compress_epi32(mask, places));
        list.append(numbers, places, mask.count_ones());
    }
}

/// The places of each byte's set bits, then zeros.
#[cfg(target_arch = "x86_64")]
static SET_BITS: [[u32; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut number = 0;
    while number < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if number >> bit & 1 == 1 {
                all[number][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        number += 1;
    }
    all
};

#[cfg(target_arch = "x86_64")]
impl Simd for Avx2 {
    const SUMS: usize = 4;

    #[inline(always)]
    fn vectorize<F: NullaryFnOnce>(self, f: F) -> F::Output {
        Avx2::vectorize(self, f)
    }

    #[inline(always)]
    fn products(self, hidden: &[Bytes<u8>], a: &[Bytes<i8>], b: &[Bytes<i8>]) -> i32 {
        let ones = self.avx._mm256_set1_epi16(1);
        let mut sum = [self.avx._mm256_setzero_si256(); 2];
        for ((hidden, a), b) in hidden.iter().zip(a).zip(b) {
            let [hidden, a, b]: [[__m256i; 2]; 3] = [cast(hidden.0), cast(a.0), cast(b.0)];
            for half in 0..2 {
                for (sum, row) in sum.iter_mut().zip([a[half], b[half]]) {
                    let pairs = self.avx2._mm256_maddubs_epi16(hidden[half], row);
                    *sum = self.avx2._mm256_add_epi32(*sum, self.avx2._mm256_madd_epi16(pairs, ones));
                }
            }
        }
        self.reduced(self.avx2._mm256_add_epi32(sum[0], sum[1]))
    }

    type Sums = [__m256i; 2];

    #[inline(always)]
    fn sums(self, numbers: [i32; UNITS]) -> [__m256i; 2] {
        cast(numbers)
    }

    #[inline(always)]
    fn numbers(self, sums: [__m256i; 2]) -> [i32; UNITS] {
        cast(sums)
    }

    #[inline(always)]
    fn add_products(self, sums: [__m256i; 2], pair: i32, row: &Lanes) -> [__m256i; 2] {
        let (pair, row): (_, [__m256i; 2]) = (self.avx._mm256_set1_epi32(pair), cast(row.0));
        let add = |half: usize| {
            self.avx2._mm256_add_epi32(sums[half], self.avx2._mm256_madd_epi16(pair, row[half]))
        };
        [add(0), add(1)]
    }

    #[inline(always)]
    fn append_nonzero(self, numbers: [i32; UNITS], first: u32, list: &mut PlacedNumbers) {
        let halves: [__m256i; 2] = cast(numbers);
        let zero = self.avx._mm256_setzero_si256();
        for (half, first) in halves.into_iter().zip([first, first + 8]) {
            let is_zero = self.avx2._mm256_cmpeq_epi32(half, zero);
            let mask = !self.avx._mm256_movemask_ps(cast(is_zero)) as u8;
            let lanes = cast(SET_BITS[usize::from(mask)]);
            let first = self.avx._mm256_set1_epi32(first as i32);
            let numbers: [i32; 8] = cast(self.avx2._mm256_permutevar8x32_epi32(half, lanes));
            let places: [u32; 8] = cast(self.avx2._mm256_add_epi32(lanes, first));
            list.append(numbers, places, mask.count_ones());
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    #[inline(always)]
    fn reduced(self, sum: __m256i) -> i32 {
        let numbers: [i32; 8] = cast(sum);
        numbers.into_iter().fold(0, i32::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Append<'a, S>(S, &'a [[i32; UNITS]], &'a mut PlacedNumbers);

    impl<S: Simd> NullaryFnOnce for Append<'_, S> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Append(simd, blocks, list) = self;
            for (numbers, first) in blocks.iter().zip((0..).step_by(UNITS)) {
                simd.append_nonzero(*numbers, first, list);
            }
        }
    }

    #[test]
    fn numbers_that_are_not_zero_are_listed_with_their_places() {
        let all = std::array::from_fn(|lane| lane as i32 - 20);
        let some = std::array::from_fn(|lane| if lane % 5 == 3 { i32::MIN + lane as i32 } else { 0 });
        for blocks in [vec![], vec![[0; UNITS]], vec![all, some, [0; UNITS], some, all], vec![all; 4]] {
            let numbered = blocks.as_flattened().iter().copied().zip(0..);
            let expected: Vec<(i32, usize)> = numbered.filter(|(number, _)| *number != 0).collect();
            for level in Level::all() {
                let mut list = PlacedNumbers::new(UNITS * blocks.len());
                for _ in 0..2 {
                    list.clear();
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(simd) => simd.vectorize(Append(simd, &blocks, &mut list)),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(simd) => simd.vectorize(Append(simd, &blocks, &mut list)),
                        Level::Plain => Plain.vectorize(Append(Plain, &blocks, &mut list)),
                    }
                    assert_eq!(list.iter().collect::<Vec<_>>(), expected, "{}", level.name());
                }
            }
        }
    }
}
