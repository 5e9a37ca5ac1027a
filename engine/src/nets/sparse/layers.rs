use crate::nets::encoding::moves1::Rows;

use super::integers::{Bytes, LAYER_SUM_STEPS, Lanes, UNITS, Weights};
use super::simd::{PlacedNumbers, Simd};

/// 1.0 in embedding steps, where sums are clipped.
const ONE: i16 = 255;

/// Adds the features' embeddings to the bias, for the [`Lanes`] from `start` on.
#[inline(always)]
pub(super) fn accumulate<S: Simd>(weights: &Weights, features: &[u16], start: usize, sums: &mut [Lanes]) {
    let mut done = 0;
    while done < sums.len() {
        // The compiler keeps chunks of constant size in registers; pairs do the rest.
        let place = start + done;
        let size = match S::SUMS {
            8 if sums.len() - done >= 8 => add_up::<8>(weights, features, place, &mut sums[done..]),
            4.. if sums.len() - done >= 4 => add_up::<4>(weights, features, place, &mut sums[done..]),
            _ => add_up::<2>(weights, features, place, &mut sums[done..]),
        };
        done += size;
    }
}

#[inline(always)]
fn add_up<const N: usize>(weights: &Weights, features: &[u16], place: usize, out: &mut [Lanes]) -> usize {
    let chunk =
        |table: &[Lanes], start: usize| -> [Lanes; N] { *table[start..].first_chunk().expect("a whole row") };
    let mut sums = chunk(&weights.bias, place);
    for feature in features {
        let start = usize::from(*feature) * weights.lanes + place;
        let row: &[Lanes; N] = weights.embedding[start..].first_chunk().expect("a whole row");
        for (sums, row) in sums.iter_mut().zip(row) {
            for (sum, weight) in sums.0.iter_mut().zip(&row.0) {
                *sum = sum.wrapping_add(*weight);
            }
        }
    }
    out[..N].copy_from_slice(&sums);
    N
}

/// Multiplies the clipped sums of the policy's two halves, giving 0 to 127.
#[inline(always)]
pub(super) fn hidden(sums: &[Lanes], hidden: &mut [Bytes<u8>]) {
    let (first, second) = sums.split_at(sums.len() / 2);
    let pairs = first.as_chunks::<2>().0.iter().zip(second.as_chunks::<2>().0);
    for ((first, second), out) in pairs.zip(hidden) {
        for half in 0..2 {
            for lane in 0..32 {
                let a = first[half].0[lane].clamp(0, ONE) as u16;
                let b = second[half].0[lane].clamp(0, ONE) as u16;
                out.0[32 * half + lane] = ((a * b + 256) >> 9) as u8;
            }
        }
    }
}

/// One logit per move, in steps of 1 / [`LOGIT_STEPS`](super::integers::LOGIT_STEPS).
#[inline(always)]
pub(super) fn logits<S: Simd>(
    simd: S,
    weights: &Weights,
    hidden: &[Bytes<u8>],
    rows: &[Rows],
    out: &mut [i32],
) {
    let width = weights.row_bytes;
    for (rows, logit) in rows.iter().zip(out) {
        let (a, b) = (usize::from(rows.a), usize::from(rows.b));
        let bias = weights.row_bias_a[a] + weights.row_bias_b[b];
        let row_a = &weights.rows_a[a * width..][..width];
        let row_b = &weights.rows_b[b * width..][..width];
        *logit = bias + simd.products(hidden, row_a, row_b);
    }
}

/// Clips and squares the value's sums in place, giving 0 to 4064.
#[inline(always)]
pub(super) fn squares(sums: &mut [Lanes]) {
    for sums in sums {
        for sum in &mut sums.0 {
            let clipped = (*sum).clamp(0, ONE) as u16;
            *sum = ((clipped * clipped + 8) >> 4) as i16;
        }
    }
}

#[inline(always)]
pub(super) fn value<S: Simd>(
    simd: S,
    weights: &Weights,
    squares: &[Lanes],
    pairs: &mut PlacedNumbers,
) -> [f32; 3] {
    // About half of the pairs of inputs are zero and skipped.
    pairs.clear();
    for (lanes, first) in squares.iter().zip((0..).step_by(UNITS)) {
        simd.append_nonzero(pulp::cast(lanes.0), first, pairs);
    }
    let mut logits = weights.output_bias;
    let mut done = 0;
    while done < weights.layer_lanes {
        done += match weights.layer_lanes - done {
            4.. => add_units::<S, 4>(simd, weights, pairs, done, &mut logits),
            2.. => add_units::<S, 2>(simd, weights, pairs, done, &mut logits),
            _ => add_units::<S, 1>(simd, weights, pairs, done, &mut logits),
        };
    }
    logits
}

/// Adds the logit contributions of N · [`UNITS`] units of the value's first layer, from `place` on.
#[inline(always)]
fn add_units<S: Simd, const N: usize>(
    simd: S,
    weights: &Weights,
    pairs: &PlacedNumbers,
    place: usize,
    logits: &mut [f32; 3],
) -> usize {
    const SCALE: f32 = (1.0 / LAYER_SUM_STEPS) as f32;
    let bias: &[[i32; UNITS]; N] = weights.layer_bias[place..].first_chunk().expect("whole lanes");
    let mut sums = bias.map(|bias| simd.sums(bias));
    for (pair, input) in pairs.iter() {
        let rows: &[Lanes; N] =
            weights.layer[input * weights.layer_lanes + place..].first_chunk().expect("whole lanes");
        for (sums, row) in sums.iter_mut().zip(rows) {
            *sums = simd.add_products(*sums, pair, row);
        }
    }
    let units = sums.map(|sums| simd.numbers(sums));
    for (sum, output) in units.as_flattened().iter().zip(&weights.output[UNITS * place..]) {
        let clipped = (*sum as f32 * SCALE).clamp(0.0, 1.0);
        let unit = clipped * clipped;
        for (logit, weight) in logits.iter_mut().zip(output) {
            *logit += unit * weight;
        }
    }
    N
}
