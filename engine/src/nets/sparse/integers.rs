use super::network::SparseError;
use super::tensors::SparseTensors;
use crate::base::memory::{LargeArray, large_copy};

/// An AVX-512 register.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Lanes(pub [i16; 32]);

/// An AVX-512 register.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Bytes<T>(pub [T; 64]);

/// Pairs of 16-bit numbers in [`Lanes`]; as many units of the value's first layer are computed together.
pub(super) const UNITS: usize = 16;

impl Lanes {
    pub const ZERO: Lanes = Lanes([0; 32]);
}

/// Steps per 1.0 of the policy's hidden units, products of two clipped sums over 512.
const HIDDEN_STEPS: f64 = 255.0 * 255.0 / 512.0;
/// Steps per 1.0 of logits.
pub(super) const LOGIT_STEPS: f64 = HIDDEN_STEPS * 64.0;
/// Steps per 1.0 of the value's squared sums, over 16.
const SQUARE_STEPS: f64 = 255.0 * 255.0 / 16.0;
const MAX_SQUARE: i64 = (255 * 255 + 8) >> 4;
const LAYER_STEPS: f64 = 512.0;
pub(super) const LAYER_SUM_STEPS: f64 = SQUARE_STEPS * LAYER_STEPS;

#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// [`Lanes`] per row of the policy's embedding, and per whole row.
    pub policy_lanes: usize,
    pub lanes: usize,
    /// By feature: the policy's embedding, then the value's.
    pub embedding: LargeArray<Lanes>,
    pub bias: Vec<Lanes>,
    /// [`Bytes`] per move row.
    pub row_bytes: usize,
    pub rows_a: LargeArray<Bytes<i8>>,
    pub rows_b: LargeArray<Bytes<i8>>,
    pub row_bias_a: Vec<i32>,
    pub row_bias_b: Vec<i32>,
    /// [`Lanes`] of the value's first layer per input pair; each holds both weights of [`UNITS`] units.
    pub layer_lanes: usize,
    /// By pair of inputs, then by unit.
    pub layer: Vec<Lanes>,
    pub layer_bias: Vec<[i32; UNITS]>,
    /// By unit of the first layer.
    pub output: Vec<[f32; 3]>,
    pub output_bias: [f32; 3],
}

impl Weights {
    /// Rounds the weights. Fails if a weight does not fit its integer, or a first-layer sum of the value could
    /// overflow.
    pub fn new(tensors: &SparseTensors) -> Result<Weights, SparseError> {
        let (policy, value) = (tensors.policy_width, tensors.value_width);
        let steps = SparseTensors::EMBEDDING_STEPS;
        let policy_embedding = sixteen("policy_embedding", &tensors.policy_embedding, steps, 505.0)?;
        let value_embedding = sixteen("value_embedding", &tensors.value_embedding, steps, 505.0)?;
        let policy_bias = sixteen("policy_bias", &tensors.policy_bias, steps, 10_000.0)?;
        let value_bias = sixteen("value_bias", &tensors.value_bias, steps, 10_000.0)?;
        let rows = policy_embedding.chunks_exact(policy).zip(value_embedding.chunks_exact(value));
        let embedding: Vec<i16> =
            rows.flat_map(|(policy, value)| policy.iter().chain(value)).copied().collect();
        let layer = layer(tensors)?;
        Ok(Weights {
            policy_lanes: policy / 32,
            lanes: (policy + value) / 32,
            embedding: large_copy(embedding.as_chunks().0.iter().copied().map(Lanes)),
            bias: lanes(&[policy_bias, value_bias].concat()),
            row_bytes: policy / 2 / 64,
            rows_a: bytes("rows_a", &tensors.rows_a)?,
            rows_b: bytes("rows_b", &tensors.rows_b)?,
            row_bias_a: wide("row_bias_a", &tensors.row_bias_a, LOGIT_STEPS)?,
            row_bias_b: wide("row_bias_b", &tensors.row_bias_b, LOGIT_STEPS)?,
            layer_lanes: tensors.layer_width.div_ceil(UNITS),
            layer: lanes(&layer),
            layer_bias: blocks(&wide("value_l1_bias", &tensors.value_l1_bias, LAYER_SUM_STEPS)?),
            output: finite("value_out_weight", &tensors.value_out_weight)?.as_chunks::<3>().0.to_vec(),
            output_bias: finite("value_out_bias", &tensors.value_out_bias)?.try_into().expect("three biases"),
        })
    }
}

/// The value's first layer by input pair, unit, input, padded with zeros to a multiple of [`UNITS`]. Sums must fit into
/// 32 bits.
fn layer(tensors: &SparseTensors) -> Result<Vec<i16>, SparseError> {
    let name = "value_l1_weight";
    let (value, width) = (tensors.value_width, tensors.layer_width);
    let weights = sixteen(name, &tensors.value_l1_weight, LAYER_STEPS as f32, 32_767.0)?;
    for unit in 0..width {
        let weights = weights.iter().skip(unit).step_by(width);
        let largest: i64 = weights.map(|weight| i64::from(*weight).abs() * MAX_SQUARE).sum();
        let bias = (f64::from(tensors.value_l1_bias[unit]) * LAYER_SUM_STEPS).abs();
        if largest as f64 + bias > f64::from(i32::MAX) {
            let found =
                format!("weights of unit {unit} whose sum may be {:.0}", largest as f64 / LAYER_SUM_STEPS);
            return Err(SparseError::TooLarge { name, found });
        }
    }
    let mut paired = vec![0; value * width.next_multiple_of(UNITS)];
    let places = paired.chunks_exact_mut(2 * width.next_multiple_of(UNITS));
    for (place, weights) in places.zip(weights.chunks_exact(2 * width)) {
        let (even, odd) = weights.split_at(width);
        for (place, pair) in place.as_chunks_mut().0.iter_mut().zip(even.iter().zip(odd)) {
            *place = [*pair.0, *pair.1];
        }
    }
    Ok(paired)
}

fn blocks(values: &[i32]) -> Vec<[i32; UNITS]> {
    let filled = |block: &[i32]| std::array::from_fn(|index| block.get(index).copied().unwrap_or(0));
    values.chunks(UNITS).map(filled).collect()
}

/// Rounds to steps, half away from zero; fails beyond ±`limit`.
fn rounded(name: &'static str, values: &[f32], steps: f64, limit: f64) -> Result<Vec<i32>, SparseError> {
    let round = |value: &f32| {
        let rounded = (f64::from(*value) * steps).round();
        // Refuses NaN too.
        if rounded.abs() <= limit {
            Ok(rounded as i32)
        } else {
            Err(SparseError::TooLarge { name, found: format!("{value}, at most {:.3}", limit / steps) })
        }
    };
    values.iter().map(round).collect()
}

/// For the last layer, whose weights stay floats: NaN would give wrong but finite probabilities.
fn finite<'a>(name: &'static str, values: &'a [f32]) -> Result<&'a [f32], SparseError> {
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(values),
        Some(value) => {
            Err(SparseError::Shape { name, found: value.to_string(), expected: "finite numbers".into() })
        }
    }
}

fn sixteen(name: &'static str, values: &[f32], steps: f32, limit: f64) -> Result<Vec<i16>, SparseError> {
    Ok(rounded(name, values, steps.into(), limit)?.into_iter().map(|value| value as i16).collect())
}

fn wide(name: &'static str, values: &[f32], steps: f64) -> Result<Vec<i32>, SparseError> {
    rounded(name, values, steps, f64::from(i32::MAX / 4))
}

fn bytes(name: &'static str, values: &[f32]) -> Result<LargeArray<Bytes<i8>>, SparseError> {
    let rounded = rounded(name, values, SparseTensors::ROW_STEPS.into(), 127.0)?;
    let rounded: Vec<i8> = rounded.into_iter().map(|value| value as i8).collect();
    Ok(large_copy(rounded.as_chunks().0.iter().copied().map(Bytes)))
}

fn lanes(values: &[i16]) -> Vec<Lanes> {
    values.as_chunks().0.iter().copied().map(Lanes).collect()
}
