//! Loops over rows, which the compiler vectorises. Sums have a fixed order and no fused multiply-add, so every machine
//! gives bit-identical results.

use pulp::{Arch, NullaryFnOnce};

/// Partial sums of a dot product. Rows of a multiple of this length have no remainder.
pub const LANES: usize = 32;

/// Runs `work` with the best instruction set of the CPU. All called functions must be inlined.
pub fn vectorized<F: NullaryFnOnce>(work: F) -> F::Output {
    Arch::new().dispatch(work)
}

/// Each row of `table` is as long as `sum`.
#[inline(always)]
pub fn add_rows(sum: &mut [f32], table: &[f32], rows: &[u16]) {
    let n = sum.len();
    let row = |index: u16| &table[usize::from(index) * n..][..n];
    let (fours, rest) = rows.as_chunks::<4>();
    for &[a, b, c, d] in fours {
        let (a, b, c, d) = (row(a), row(b), row(c), row(d));
        for i in 0..n {
            sum[i] += (a[i] + b[i]) + (c[i] + d[i]);
        }
    }
    for &index in rest {
        add(sum, row(index));
    }
}

/// Adds rows like [`add_rows`], without their factors.
#[inline(always)]
pub fn add_rows_of(sum: &mut [f32], table: &[f32], rows: &[(u32, f32)]) {
    let n = sum.len();
    let row = |index: u32| &table[index as usize * n..][..n];
    let (fours, rest) = rows.as_chunks::<4>();
    for &[(a, _), (b, _), (c, _), (d, _)] in fours {
        let (a, b, c, d) = (row(a), row(b), row(c), row(d));
        for i in 0..n {
            sum[i] += (a[i] + b[i]) + (c[i] + d[i]);
        }
    }
    for &(index, _) in rest {
        add(sum, row(index));
    }
}

/// `sum += x`
#[inline(always)]
pub fn add(sum: &mut [f32], x: &[f32]) {
    let x = &x[..sum.len()];
    for i in 0..sum.len() {
        sum[i] += x[i];
    }
}

/// `sum += Σ factor · table[row]` over `(row, factor)` in `rows`.
#[inline(always)]
pub fn add_scaled_rows(sum: &mut [f32], table: &[f32], rows: &[(u32, f32)]) {
    let n = sum.len();
    let row = |index: u32| &table[index as usize * n..][..n];
    let (fours, rest) = rows.as_chunks::<4>();
    for &[(a, p), (b, q), (c, r), (d, s)] in fours {
        let (a, b, c, d) = (row(a), row(b), row(c), row(d));
        for i in 0..n {
            sum[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
        }
    }
    for &(index, factor) in rest {
        add_scaled(sum, row(index), factor);
    }
}

/// `sum += Σ factors[k] · table[k]` over all rows of `table`.
#[inline(always)]
pub fn add_scaled_all(sum: &mut [f32], table: &[f32], factors: &[f32]) {
    let n = sum.len();
    let (fours, rest) = factors.as_chunks::<4>();
    let mut rows = table.chunks_exact(n);
    let mut next = || rows.next().expect("a row for each factor");
    for &[p, q, r, s] in fours {
        let (a, b, c, d) = (next(), next(), next(), next());
        for i in 0..n {
            sum[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
        }
    }
    for &factor in rest {
        add_scaled(sum, next(), factor);
    }
}

/// `sum += factor · x`
#[inline(always)]
pub fn add_scaled(sum: &mut [f32], x: &[f32], factor: f32) {
    let x = &x[..sum.len()];
    for i in 0..sum.len() {
        sum[i] += factor * x[i];
    }
}

/// `x · (a + b)`
#[inline(always)]
pub fn dot_of_sum(x: &[f32], a: &[f32], b: &[f32]) -> f32 {
    let ((x, x_rest), (a, a_rest), (b, b_rest)) =
        (x.as_chunks::<LANES>(), a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for ((x, a), b) in x.iter().zip(a).zip(b) {
        for k in 0..LANES {
            sums[k] += x[k] * (a[k] + b[k]);
        }
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            sums[k] += sums[k + width];
        }
    }
    let rest: f32 = x_rest.iter().zip(a_rest).zip(b_rest).map(|((x, a), b)| x * (a + b)).sum();
    sums[0] + rest
}

/// `sum += Σ factors[k] · (a[rows_a[k]] + b[rows_b[k]])`
#[inline(always)]
pub fn add_scaled_sums(
    sum: &mut [f32],
    a: &[f32],
    b: &[f32],
    rows_a: &[u16],
    rows_b: &[u16],
    factors: &[f32],
) {
    let n = sum.len();
    let row = |table: &'_ [f32], index: u16| -> std::ops::Range<usize> {
        let first = usize::from(index) * n;
        debug_assert!(first + n <= table.len());
        first..first + n
    };
    let count = factors.len();
    let (rows_a, rows_b) = (&rows_a[..count], &rows_b[..count]);
    let mut k = 0;
    while k + 1 < count {
        let (a0, b0) = (&a[row(a, rows_a[k])], &b[row(b, rows_b[k])]);
        let (a1, b1) = (&a[row(a, rows_a[k + 1])], &b[row(b, rows_b[k + 1])]);
        let (a0, b0, a1, b1) = (&a0[..n], &b0[..n], &a1[..n], &b1[..n]);
        let (p, q) = (factors[k], factors[k + 1]);
        for i in 0..n {
            sum[i] += p * (a0[i] + b0[i]) + q * (a1[i] + b1[i]);
        }
        k += 2;
    }
    if k < count {
        let (a, b, p) = (&a[row(a, rows_a[k])], &b[row(b, rows_b[k])], factors[k]);
        let (a, b) = (&a[..n], &b[..n]);
        for i in 0..n {
            sum[i] += p * (a[i] + b[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, seed: u64) -> Vec<f32> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..n).map(|_| rng.f32() - 0.5).collect()
    }

    fn close(a: &[f32], b: &[f32]) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }

    #[test]
    fn sums_of_rows_are_sums_of_rows() {
        let (table, factors) = (numbers(9 * 20, 1), numbers(9, 2));
        for count in 0..9usize {
            let mut expected = [[0.5; 20]; 2];
            for k in 0..count {
                for i in 0..20 {
                    expected[0][i] += table[k * 20 + i];
                    expected[1][i] += factors[k] * table[k * 20 + i];
                }
            }
            let mut sum = [0.5; 20];
            add_rows(&mut sum, &table, &(0..count as u16).collect::<Vec<_>>());
            close(&sum, &expected[0]);
            sum = [0.5; 20];
            add_rows_of(&mut sum, &table, &(0..count as u32).rev().map(|k| (k, 9.0)).collect::<Vec<_>>());
            close(&sum, &expected[0]);
            sum = [0.5; 20];
            let pairs: Vec<_> = (0..count).map(|k| (k as u32, factors[k])).collect();
            add_scaled_rows(&mut sum, &table, &pairs);
            close(&sum, &expected[1]);
            sum = [0.5; 20];
            add_scaled_all(&mut sum, &table, &factors[..count]);
            close(&sum, &expected[1]);
        }
    }

    #[test]
    fn dot_products_of_any_length() {
        for n in [0, 1, 15, 16, 17, 64, 100] {
            let (x, a, b) = (numbers(n, 3), numbers(n, 4), numbers(n, 5));
            let expected: f64 = (0..n).map(|i| f64::from(x[i] * (a[i] + b[i]))).sum();
            assert!((f64::from(dot_of_sum(&x, &a, &b)) - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn sums_of_two_tables() {
        let (a, b, factors) = (numbers(9 * 20, 1), numbers(9 * 20, 2), numbers(9, 3));
        for count in 0..9usize {
            let rows_a: Vec<u16> = (0..count as u16).collect();
            let rows_b: Vec<u16> = rows_a.iter().map(|k| (k * 5 + 2) % 9).collect();
            let mut expected = [0.5; 20];
            for k in 0..count {
                for i in 0..20 {
                    let at = usize::from(rows_b[k]) * 20 + i;
                    expected[i] += factors[k] * (a[k * 20 + i] + b[at]);
                }
            }
            let mut sum = [0.5; 20];
            add_scaled_sums(&mut sum, &a, &b, &rows_a, &rows_b, &factors[..count]);
            close(&sum, &expected);
        }
    }
}
