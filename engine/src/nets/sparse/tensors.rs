use crate::nets::encoding::{moves1, sparse1};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::network::SparseError;
use crate::nets::onnx_file::{OnnxFile, Values};

/// A network's weights as in its file, row-major. Tables end with a row of zeros for padding.
///
/// With active features `f`, and all clipping to 0 … 1:
///
/// ```text
/// c = clip(policy_bias + Σ policy_embedding[f])                      hidden = c[..P/2] · c[P/2..], element by element
/// logit of a move = hidden · (rows_a[A] + rows_b[B]) + row_bias_a[A] + row_bias_b[B]
/// s = clip(value_bias + Σ value_embedding[f])²
/// y = clip(s × value_l1_weight + value_l1_bias)²
/// win, draw, loss = y × value_out_weight + value_out_bias            logits, for the mover
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseTensors {
    /// P, a multiple of 128.
    pub policy_width: usize,
    /// V, a multiple of 64.
    pub value_width: usize,
    /// L, the width of the value's layer `l1`.
    pub layer_width: usize,
    /// `[FEATURES + 1, P]`
    pub policy_embedding: Vec<f32>,
    /// `[P]`
    pub policy_bias: Vec<f32>,
    /// `[FEATURES + 1, V]`
    pub value_embedding: Vec<f32>,
    /// `[V]`
    pub value_bias: Vec<f32>,
    /// `[ROWS_A + 1, P / 2]`
    pub rows_a: Vec<f32>,
    /// `[ROWS_B + 1, P / 2]`
    pub rows_b: Vec<f32>,
    /// `[ROWS_A + 1]`
    pub row_bias_a: Vec<f32>,
    /// `[ROWS_B + 1]`
    pub row_bias_b: Vec<f32>,
    /// `[V, L]`
    pub value_l1_weight: Vec<f32>,
    /// `[L]`
    pub value_l1_bias: Vec<f32>,
    /// `[L, 3]`
    pub value_out_weight: Vec<f32>,
    /// `[3]`
    pub value_out_bias: Vec<f32>,
}

impl SparseTensors {
    /// Integer steps per 1.0 of embeddings and move rows.
    pub const EMBEDDING_STEPS: f32 = 255.0;
    pub const ROW_STEPS: f32 = 64.0;
    /// Rows of the embeddings and the moves' tables A and B, padding included.
    pub const FEATURE_ROWS: usize = sparse1::FEATURES + 1;
    pub const A_ROWS: usize = moves1::ROWS_A + 1;
    pub const B_ROWS: usize = moves1::ROWS_B + 1;

    /// Random weights, about as large as trained weights.
    pub fn random(policy_width: usize, value_width: usize, seed: u64) -> SparseTensors {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut tensor = |rows: usize, width: usize, size: f32, padded: bool| -> Vec<f32> {
            let mut values: Vec<f32> =
                (0..rows * width).map(|_| size * (2.0 * random.random::<f32>() - 1.0)).collect();
            if padded {
                values[(rows - 1) * width..].fill(0.0);
            }
            values
        };
        let layer_width = 32;
        SparseTensors {
            policy_width,
            value_width,
            layer_width,
            policy_embedding: tensor(Self::FEATURE_ROWS, policy_width, 0.3, true),
            policy_bias: tensor(1, policy_width, 0.5, false),
            value_embedding: tensor(Self::FEATURE_ROWS, value_width, 0.3, true),
            value_bias: tensor(1, value_width, 0.5, false),
            rows_a: tensor(Self::A_ROWS, policy_width / 2, 0.4, true),
            rows_b: tensor(Self::B_ROWS, policy_width / 2, 0.4, true),
            row_bias_a: tensor(Self::A_ROWS, 1, 1.0, true),
            row_bias_b: tensor(Self::B_ROWS, 1, 1.0, true),
            value_l1_weight: tensor(value_width, layer_width, 0.2, false),
            value_l1_bias: tensor(layer_width, 1, 0.5, false),
            value_out_weight: tensor(layer_width, 3, 2.0, false),
            value_out_bias: tensor(3, 1, 0.5, false),
        }
    }

    pub(super) fn read(file: &OnnxFile) -> Result<SparseTensors, SparseError> {
        let width = |name: &'static str, axis: usize| -> Result<usize, SparseError> {
            let initial = file.initialisers.get(name).ok_or(SparseError::Missing(name))?;
            Ok(initial.shape.get(axis).copied().unwrap_or(0))
        };
        let (policy, value) = (width("policy_bias", 0)?, width("value_bias", 0)?);
        let layer = width("value_l1_bias", 0)?;
        for (name, found, step) in
            [("policy_bias", policy, 128), ("value_bias", value, 64), ("value_l1_bias", layer, 1)]
        {
            if found == 0 || found % step != 0 {
                let expected = format!("a multiple of {step}");
                return Err(SparseError::Shape { name, found: found.to_string(), expected });
            }
        }
        let get = |name: &'static str, shape: &[usize]| tensor(file, name, shape);
        let tensors = SparseTensors {
            policy_width: policy,
            value_width: value,
            layer_width: layer,
            policy_embedding: get("policy_embedding", &[Self::FEATURE_ROWS, policy])?,
            policy_bias: get("policy_bias", &[policy])?,
            value_embedding: get("value_embedding", &[Self::FEATURE_ROWS, value])?,
            value_bias: get("value_bias", &[value])?,
            rows_a: get("rows_a", &[Self::A_ROWS, policy / 2])?,
            rows_b: get("rows_b", &[Self::B_ROWS, policy / 2])?,
            row_bias_a: get("row_bias_a", &[Self::A_ROWS])?,
            row_bias_b: get("row_bias_b", &[Self::B_ROWS])?,
            value_l1_weight: get("value_l1_weight", &[value, layer])?,
            value_l1_bias: get("value_l1_bias", &[layer])?,
            value_out_weight: get("value_out_weight", &[layer, 3])?,
            value_out_bias: get("value_out_bias", &[3])?,
        };
        Ok(tensors)
    }

    #[cfg(test)]
    pub(super) fn named(&self) -> Vec<(&'static str, Vec<usize>, &[f32])> {
        let (policy, value, layer) = (self.policy_width, self.value_width, self.layer_width);
        vec![
            ("policy_embedding", vec![Self::FEATURE_ROWS, policy], &self.policy_embedding),
            ("policy_bias", vec![policy], &self.policy_bias),
            ("value_embedding", vec![Self::FEATURE_ROWS, value], &self.value_embedding),
            ("value_bias", vec![value], &self.value_bias),
            ("rows_a", vec![Self::A_ROWS, policy / 2], &self.rows_a),
            ("rows_b", vec![Self::B_ROWS, policy / 2], &self.rows_b),
            ("row_bias_a", vec![Self::A_ROWS], &self.row_bias_a),
            ("row_bias_b", vec![Self::B_ROWS], &self.row_bias_b),
            ("value_l1_weight", vec![value, layer], &self.value_l1_weight),
            ("value_l1_bias", vec![layer], &self.value_l1_bias),
            ("value_out_weight", vec![layer, 3], &self.value_out_weight),
            ("value_out_bias", vec![3], &self.value_out_bias),
        ]
    }
}

/// Reads the tensor `name`, which must have this shape. Integers are in steps of the move rows, if it is one of their
/// tables, else of the embeddings.
fn tensor(file: &OnnxFile, name: &'static str, shape: &[usize]) -> Result<Vec<f32>, SparseError> {
    let initial = file.initialisers.get(name).ok_or(SparseError::Missing(name))?;
    let shaped = |found: String| SparseError::Shape { name, found, expected: format!("{shape:?}") };
    if initial.shape != shape {
        return Err(shaped(format!("{:?}", initial.shape)));
    }
    let steps = match name {
        "rows_a" | "rows_b" => SparseTensors::ROW_STEPS,
        _ => SparseTensors::EMBEDDING_STEPS,
    };
    let values: Vec<f32> = match &initial.values {
        Values::F32(values) => values.clone(),
        Values::I16(values) => values.iter().map(|value| f32::from(*value) / steps).collect(),
        Values::I8(values) => values.iter().map(|value| f32::from(*value) / steps).collect(),
        Values::Other(data_type) => return Err(shaped(format!("ONNX data type {data_type}"))),
        Values::Torn(bytes) => return Err(shaped(format!("{bytes} bytes, which end within a number"))),
    };
    // The file's shapes may overflow a product.
    if Some(values.len()) != shape.iter().try_fold(1, |product: usize, dim| product.checked_mul(*dim)) {
        return Err(shaped(format!("{} numbers", values.len())));
    }
    Ok(values)
}
