//! The parameters of a sparse network.

use engine::nets::sparse::SparseTensors;

use super::shape::SparseShape;
use super::tensor::{SparseTensor, block_of};

/// Most columns per block of an embedding. The rows that a batch uses then stay in a core's cache
/// ([measured](../../../docs/results/speed.md)).
const BLOCK: usize = 128;

/// Largest weight of the policy's embedding. The sum over any position's features, times 255, then fits into 16 bits.
const POLICY_CLIP: f32 = 505.0 / SparseTensors::EMBEDDING_STEPS;
/// Largest weight of the value's embedding. Times 255, it fits into 8 bits, which halves the embedding in a file.
/// Networks up to `sparse-17` have larger ones; training cuts a weight at its first update.
const VALUE_CLIP: f32 = 127.0 / SparseTensors::EMBEDDING_STEPS;
const BIAS_CLIP: f32 = 4.0;
/// Largest weight of a move's row. Times 64, it fits into 8 bits.
const ROW_CLIP: f32 = 127.0 / SparseTensors::ROW_STEPS;
const LAYER_CLIP: f32 = 8.0;

/// A policy and a value network over the same sparse binary inputs `f`, without shared weights. `clip` limits to 0 … 1;
/// `a_m` and `b_m` are the rows of move `m`.
///
/// - policy: `c = clip(bias + Σ embedding[f])` `[P]`, `h = c[..P/2] · c[P/2..]` elementwise; the logit of a move is `h
///   · (rows_a[a_m] + rows_b[b_m])` plus the rows' biases;
/// - value: `s = clip(bias + Σ embedding[f])²` `[V]`, `y = clip(s · l1 + bias)²` `[L]`; the WDL logits for the side to
///   move are `y · out + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseModel {
    pub shape: SparseShape,
    /// `[features, P]`
    pub policy_embedding: SparseTensor,
    /// `[1, P]`
    pub policy_bias: SparseTensor,
    /// `[features, V]`
    pub value_embedding: SparseTensor,
    /// `[1, V]`
    pub value_bias: SparseTensor,
    /// `[rows A, P / 2]`
    pub rows_a: SparseTensor,
    /// `[rows B, P / 2]`
    pub rows_b: SparseTensor,
    /// `[rows A, 1]`
    pub row_bias_a: SparseTensor,
    /// `[rows B, 1]`
    pub row_bias_b: SparseTensor,
    /// `[V, L]`
    pub value_l1_weight: SparseTensor,
    /// `[1, L]`
    pub value_l1_bias: SparseTensor,
    /// `[L, 3]`
    pub value_out_weight: SparseTensor,
    /// `[1, 3]`
    pub value_out_bias: SparseTensor,
}

impl SparseModel {
    pub fn zeros(shape: SparseShape) -> SparseModel {
        let SparseShape { features, rows_a, rows_b, policy, value, hidden } = shape;
        let half = shape.half();
        // The halves of the policy embedding, the hidden units and the moves' rows need equal blocks.
        let hidden_block = block_of(half, BLOCK);
        let free = f32::INFINITY;
        let mut network = SparseModel {
            shape,
            policy_embedding: SparseTensor::zeros(
                "policy_embedding",
                [features, policy],
                hidden_block,
                POLICY_CLIP,
            ),
            policy_bias: SparseTensor::zeros("policy_bias", [1, policy], policy, BIAS_CLIP),
            value_embedding: SparseTensor::zeros("value_embedding", [features, value], BLOCK, VALUE_CLIP),
            value_bias: SparseTensor::zeros("value_bias", [1, value], value, BIAS_CLIP),
            rows_a: SparseTensor::zeros("rows_a", [rows_a, half], hidden_block, ROW_CLIP),
            rows_b: SparseTensor::zeros("rows_b", [rows_b, half], hidden_block, ROW_CLIP),
            row_bias_a: SparseTensor::zeros("row_bias_a", [rows_a, 1], 1, free),
            row_bias_b: SparseTensor::zeros("row_bias_b", [rows_b, 1], 1, free),
            value_l1_weight: SparseTensor::zeros("value_l1_weight", [value, hidden], hidden, LAYER_CLIP),
            value_l1_bias: SparseTensor::zeros("value_l1_bias", [1, hidden], hidden, free),
            value_out_weight: SparseTensor::zeros("value_out_weight", [hidden, 3], 3, free),
            value_out_bias: SparseTensor::zeros("value_out_bias", [1, 3], 3, free),
        };
        network.row_bias_a.decays = false;
        network.row_bias_b.decays = false;
        network
    }

    /// Random parameters that clip few units.
    pub fn new(shape: SparseShape, seed: u64) -> SparseModel {
        let mut network = SparseModel::zeros(shape);
        let mut rng = fastrand::Rng::with_seed(seed);
        let radius = |inputs: usize| (3.0 / inputs as f32).sqrt();
        // About thirty features are active; their sum has a standard deviation of 0.3.
        network.policy_embedding.fill(0.0, 0.1, &mut rng);
        network.policy_bias.fill(0.4, 0.0, &mut rng);
        network.value_embedding.fill(0.0, 0.1, &mut rng);
        network.value_bias.fill(0.4, 0.0, &mut rng);
        network.rows_a.fill(0.0, 0.5 * radius(shape.half()), &mut rng);
        network.rows_b.fill(0.0, 0.5 * radius(shape.half()), &mut rng);
        network.value_l1_weight.fill(0.0, radius(shape.value), &mut rng);
        network.value_l1_bias.fill(0.4, 0.0, &mut rng);
        network.value_out_weight.fill(0.0, radius(shape.hidden), &mut rng);
        network
    }

    pub fn of_tensors(tensors: &SparseTensors) -> SparseModel {
        let (policy, value, hidden) = (tensors.policy_width, tensors.value_width, tensors.layer_width);
        let mut network = SparseModel::zeros(SparseShape { policy, value, hidden, ..SparseShape::STANDARD });
        for tensor in network.tensors_mut() {
            let weights = match tensor.name {
                "policy_embedding" => &tensors.policy_embedding,
                "policy_bias" => &tensors.policy_bias,
                "value_embedding" => &tensors.value_embedding,
                "value_bias" => &tensors.value_bias,
                "rows_a" => &tensors.rows_a,
                "rows_b" => &tensors.rows_b,
                "row_bias_a" => &tensors.row_bias_a,
                "row_bias_b" => &tensors.row_bias_b,
                "value_l1_weight" => &tensors.value_l1_weight,
                "value_l1_bias" => &tensors.value_l1_bias,
                "value_out_weight" => &tensors.value_out_weight,
                "value_out_bias" => &tensors.value_out_bias,
                other => unreachable!("{other} is no tensor of a network"),
            };
            // A file has one more row, for padding.
            tensor.w = tensor.blocked(&weights[..tensor.w.len()]);
        }
        network
    }

    /// Spreads the weights of a quantised network at random within their rounding steps; they still round to the same
    /// integers. A later change by less than half a step then moves a proportional share of the integers by one, so a
    /// short training is not lost. Tensors that are not all integers stay as they are.
    pub fn dithered(mut self, seed: u64) -> SparseModel {
        let mut rng = fastrand::Rng::with_seed(seed);
        for tensor in self.tensors_mut() {
            let steps = match tensor.name {
                "policy_embedding" | "value_embedding" => SparseTensors::EMBEDDING_STEPS,
                "rows_a" | "rows_b" => SparseTensors::ROW_STEPS,
                _ => continue,
            };
            tensor.dither(steps, &mut rng);
        }
        self
    }

    /// Widens the layers to `shape`, with unchanged outputs: the weights of new units are random, but nothing reads the
    /// units. Panics if a layer of `shape` is narrower.
    pub fn widened(self, shape: SparseShape, seed: u64) -> SparseModel {
        assert!(self.shape.fits_into(&shape), "{:?} does not fit into {shape:?}", self.shape);
        let (half, gap) = (self.shape.half(), shape.half() - self.shape.half());
        let mut wider = SparseModel::new(shape, seed);
        for (tensor, from) in wider.tensors_mut().into_iter().zip(self.tensors()) {
            let mut weights = tensor.plain(&tensor.w);
            // Nothing reads a new unit yet.
            match tensor.name {
                "rows_a" | "rows_b" => weights.fill(0.0),
                "value_l1_weight" | "value_out_weight" => weights[from.rows * tensor.width..].fill(0.0),
                _ => (),
            }
            // Unit i of the policy multiplies columns i and i + P/2.
            let is_gated = matches!(tensor.name, "policy_embedding" | "policy_bias");
            let old = from.plain(&from.w);
            for (row, old) in old.chunks(from.width).enumerate() {
                let row = &mut weights[row * tensor.width..][..tensor.width];
                for (column, weight) in old.iter().enumerate() {
                    row[column + if is_gated && column >= half { gap } else { 0 }] = *weight;
                }
            }
            tensor.w = tensor.blocked(&weights);
        }
        wider
    }

    /// With the policy of `other`, if it has the same size.
    pub fn with_policy_of(self, other: SparseModel) -> Option<SparseModel> {
        let SparseShape { value, hidden, .. } = self.shape;
        let fits = SparseShape { value, hidden, ..other.shape } == self.shape;
        let SparseModel { policy_embedding, policy_bias, rows_a, rows_b, row_bias_a, row_bias_b, .. } = other;
        fits.then_some(SparseModel {
            policy_embedding,
            policy_bias,
            rows_a,
            rows_b,
            row_bias_a,
            row_bias_b,
            ..self
        })
    }

    /// Raises win, draw and loss to the power `factor` and scales them to the sum 1.
    pub fn scale_value(&mut self, factor: f32) {
        for tensor in [&mut self.value_out_weight, &mut self.value_out_bias] {
            tensor.w.iter_mut().for_each(|weight| *weight *= factor);
        }
    }

    /// In the order of files.
    pub fn tensors(&self) -> [&SparseTensor; 12] {
        [
            &self.policy_embedding,
            &self.policy_bias,
            &self.value_embedding,
            &self.value_bias,
            &self.rows_a,
            &self.rows_b,
            &self.row_bias_a,
            &self.row_bias_b,
            &self.value_l1_weight,
            &self.value_l1_bias,
            &self.value_out_weight,
            &self.value_out_bias,
        ]
    }

    pub fn tensors_mut(&mut self) -> [&mut SparseTensor; 12] {
        [
            &mut self.policy_embedding,
            &mut self.policy_bias,
            &mut self.value_embedding,
            &mut self.value_bias,
            &mut self.rows_a,
            &mut self.rows_b,
            &mut self.row_bias_a,
            &mut self.row_bias_b,
            &mut self.value_l1_weight,
            &mut self.value_l1_bias,
            &mut self.value_out_weight,
            &mut self.value_out_bias,
        ]
    }

    pub fn parameters(&self) -> usize {
        self.tensors().iter().map(|tensor| tensor.w.len()).sum()
    }

    /// Takes over the weights of `other`, without its moments.
    pub fn copy_weights(&mut self, other: &SparseModel) {
        for (mine, theirs) in self.tensors_mut().into_iter().zip(other.tensors()) {
            mine.w.clone_from(&theirs.w);
        }
    }

    /// Moves the weights a fraction `share` of the way to `other`. Panics if the shapes differ.
    pub fn approach(&mut self, other: &SparseModel, share: f32) {
        assert_eq!(self.shape, other.shape, "the same shape");
        for (mine, theirs) in self.tensors_mut().into_iter().zip(other.tensors()) {
            for (mine, theirs) in mine.w.iter_mut().zip(&theirs.w) {
                *mine += share * (theirs - *mine);
            }
        }
    }
}
