//! Instruction sets, detected at run time. All implementations of [`Simd`] compute the same integers.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "aarch64", target_feature = "simd128"))]
mod set_bits;
#[cfg(target_feature = "simd128")]
mod wasm;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256i, __m512i};

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::cast;

#[cfg(target_arch = "aarch64")]
use self::neon::{Neon, NeonDotprod};
#[cfg(target_feature = "simd128")]
use self::wasm::Simd128;
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
    #[cfg(target_arch = "aarch64")]
    NeonDotprod(NeonDotprod),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_feature = "simd128")]
    Simd128(Simd128),
    Plain,
}

/// What an instruction set runs.
pub(super) trait Kernel {
    type Output;

    /// Everything that it calls must be inlined.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

struct With<S, K>(S, K);

impl<S: Simd, K: Kernel> NullaryFnOnce for With<S, K> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.1.run(self.0)
    }
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
        #[cfg(target_arch = "aarch64")]
        {
            all.extend(NeonDotprod::try_new().map(Level::NeonDotprod));
            all.extend(Neon::try_new().map(Level::Neon));
        }
        #[cfg(target_feature = "simd128")]
        all.push(Level::Simd128(Simd128));
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
            #[cfg(target_arch = "aarch64")]
            Level::NeonDotprod(_) => "NEON dotprod",
            #[cfg(target_arch = "aarch64")]
            Level::Neon(_) => "NEON",
            #[cfg(target_feature = "simd128")]
            Level::Simd128(_) => "SIMD128",
            Level::Plain => "plain",
        }
    }

    #[inline(always)]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.vectorize(With(simd, kernel)),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(simd) => simd.vectorize(With(simd, kernel)),
            #[cfg(target_arch = "aarch64")]
            Level::NeonDotprod(simd) => simd.vectorize(With(simd, kernel)),
            #[cfg(target_arch = "aarch64")]
            Level::Neon(simd) => simd.vectorize(With(simd, kernel)),
            #[cfg(target_feature = "simd128")]
            Level::Simd128(simd) => simd.vectorize(With(simd, kernel)),
            Level::Plain => Plain.vectorize(With(Plain, kernel)),
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

    struct Append<'a>(&'a [[i32; UNITS]], &'a mut PlacedNumbers);

    impl Kernel for Append<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Append(blocks, list) = self;
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
                    level.run(Append(&blocks, &mut list));
                    assert_eq!(list.iter().collect::<Vec<_>>(), expected, "{}", level.name());
                }
            }
        }
    }

    struct Products<'a>([&'a [Bytes<i8>]; 2], &'a [Bytes<u8>]);

    impl Kernel for Products<'_> {
        type Output = i32;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> i32 {
            let Products([a, b], hidden) = self;
            simd.products(hidden, a, b)
        }
    }

    #[test]
    fn products_are_exact_up_to_the_largest() {
        let rows = |weight: fn(usize) -> i8| -> Vec<Bytes<i8>> {
            (0..5).map(|block| Bytes(std::array::from_fn(|lane| weight(64 * block + lane)))).collect()
        };
        let rows = [
            rows(|_| 127),
            rows(|_| -128),
            rows(|lane| if lane % 2 == 0 { -128 } else { 127 }),
            rows(|lane| (37 * lane % 251) as i8),
        ];
        let most = [Bytes([127; 64]); 5];
        let mixed: [Bytes<u8>; 5] =
            std::array::from_fn(|block| Bytes(std::array::from_fn(|lane| ((71 * lane + block) % 128) as u8)));
        for (a, b) in rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b))) {
            for hidden in [&most[..], &mixed, &mixed[..1], &[]] {
                let (a, b) = (&a[..hidden.len()], &b[..hidden.len()]);
                let terms = hidden.iter().zip(a).zip(b).flat_map(|((hidden, a), b)| {
                    (0..64)
                        .map(|lane| i32::from(hidden.0[lane]) * (i32::from(a.0[lane]) + i32::from(b.0[lane])))
                });
                let expected: i32 = terms.sum();
                for level in Level::all() {
                    assert_eq!(level.run(Products([a, b], hidden)), expected, "{}", level.name());
                }
            }
        }
    }

    struct AddProducts<'a>([i32; UNITS], &'a [(i32, Lanes)]);

    impl Kernel for AddProducts<'_> {
        type Output = [i32; UNITS];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [i32; UNITS] {
            let AddProducts(numbers, rows) = self;
            let mut sums = simd.sums(numbers);
            for (pair, row) in rows {
                sums = simd.add_products(sums, *pair, row);
            }
            simd.numbers(sums)
        }
    }

    #[test]
    fn products_of_pairs_are_added_to_their_unit() {
        let start: [i32; UNITS] = std::array::from_fn(|unit| 1_000_003 * unit as i32 - 7_000_000);
        let row = |step: i16| Lanes(std::array::from_fn(|lane| step.wrapping_mul(lane as i16 + 1)));
        let rows = [([4064, 0], row(-2039)), ([1, 4064], row(811)), ([4063, 4064], Lanes([-32_767; 32]))];
        let mut expected = start;
        for ([even, odd], row) in &rows {
            for (unit, sum) in expected.iter_mut().enumerate() {
                *sum += even * i32::from(row.0[2 * unit]) + odd * i32::from(row.0[2 * unit + 1]);
            }
        }
        let rows = rows.map(|(pair, row)| (cast_pair(pair), row));
        for level in Level::all() {
            assert_eq!(level.run(AddProducts(start, &rows)), expected, "{}", level.name());
        }
    }

    fn cast_pair(pair: [i32; 2]) -> i32 {
        pulp::cast(pair.map(|number| number as i16))
    }
}
