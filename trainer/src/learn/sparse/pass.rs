//! Forward and backward passes over a batch.

use std::ops::Range;

use engine::nets::eval::softmax;
use pulp::NullaryFnOnce;
use serde::{Deserialize, Serialize};

use super::lanes;
use super::network::SparseModel;
use super::samples::SparseBatch;
use super::tensor::SparseTensor;
use crate::base::parallel;

/// Samples per task. Sums run shard by shard, so that results do not depend on the number of threads.
pub const SHARD: usize = 512;

/// Sums of losses and hits over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseTally {
    /// Weighted cross-entropy.
    pub policy_loss: f64,
    pub policy_weight: f64,
    /// Weighted cross-entropy.
    pub value_loss: f64,
    pub value_weight: f64,
    pub samples: u64,
    /// Samples with moves.
    #[serde(default)]
    pub policies: u64,
    /// Samples whose best move has the greatest logit.
    pub top1: u64,
    /// Samples whose best move is among the five greatest logits.
    pub top5: u64,
}

impl SparseTally {
    pub fn add(&mut self, other: &SparseTally) {
        self.policy_loss += other.policy_loss;
        self.policy_weight += other.policy_weight;
        self.value_loss += other.value_loss;
        self.value_weight += other.value_weight;
        self.samples += other.samples;
        self.policies += other.policies;
        self.top1 += other.top1;
        self.top5 += other.top5;
    }

    /// Mean policy cross-entropy.
    pub fn policy(&self) -> f64 {
        self.policy_loss / self.policy_weight.max(f64::MIN_POSITIVE)
    }

    /// Mean value cross-entropy.
    pub fn value(&self) -> f64 {
        self.value_loss / self.value_weight.max(f64::MIN_POSITIVE)
    }
}

/// Gradients of a batch's mean losses by the parameters that every sample uses.
#[derive(Clone, Debug)]
pub struct SharedGradients {
    /// `[P]`
    pub policy_bias: Vec<f32>,
    /// `[V]`
    pub value_bias: Vec<f32>,
    /// `[V, L]`
    pub l1_weight: Vec<f32>,
    /// `[L]`
    pub l1_bias: Vec<f32>,
    /// `[L, 3]`
    pub out_weight: Vec<f32>,
    /// `[3]`
    pub out_bias: Vec<f32>,
}

impl SharedGradients {
    fn zeros(network: &SparseModel) -> SharedGradients {
        let like = |tensor: &SparseTensor| vec![0.0; tensor.w.len()];
        SharedGradients {
            policy_bias: like(&network.policy_bias),
            value_bias: like(&network.value_bias),
            l1_weight: like(&network.value_l1_weight),
            l1_bias: like(&network.value_l1_bias),
            out_weight: like(&network.value_out_weight),
            out_bias: like(&network.value_out_bias),
        }
    }

    fn add(&mut self, other: &SharedGradients) {
        lanes::add(&mut self.policy_bias, &other.policy_bias);
        lanes::add(&mut self.value_bias, &other.value_bias);
        lanes::add(&mut self.l1_weight, &other.l1_weight);
        lanes::add(&mut self.l1_bias, &other.l1_bias);
        lanes::add(&mut self.out_weight, &other.out_weight);
        lanes::add(&mut self.out_bias, &other.out_bias);
    }
}

/// Activations of a batch, in memory that the next batch reuses. Sums and hidden units lie in blocks of columns, each
/// `[samples, block]`.
#[derive(Clone, Debug, Default)]
pub struct SparsePass {
    /// Policy embedding sums; after a backward pass, their gradient.
    pub policy: Vec<f32>,
    /// Value embedding sums; after a backward pass, their gradient.
    pub value: Vec<f32>,
    /// Hidden units of the policy, in the same blocks as the moves' rows.
    pub hidden: Vec<f32>,
    /// One per move; after a backward pass, its gradient.
    pub logits: Vec<f32>,
    /// Probabilities; zero if the sample's value has no weight.
    pub wdl: Vec<[f32; 3]>,
}

struct Shard<'a> {
    samples: Range<usize>,
    /// Index in the batch of the shard's first move.
    move_offset: usize,
    policy: Vec<&'a mut [f32]>,
    value: Vec<&'a mut [f32]>,
    hidden: Vec<&'a mut [f32]>,
    logits: &'a mut [f32],
    wdl: &'a mut [[f32; 3]],
}

impl SparsePass {
    /// Gradients are returned if `backward`. The policy is skipped if no sample in the batch gives it weight.
    pub fn run(
        &mut self,
        network: &SparseModel,
        batch: &SparseBatch,
        backward: bool,
        threads: usize,
    ) -> (SparseTally, Option<SharedGradients>) {
        if batch.has_policies() {
            embed(&network.policy_embedding, &network.policy_bias, batch, &mut self.policy, threads);
            self.hidden.resize(batch.len() * network.shape.half(), 0.0);
        } else {
            // Without blocks the policy's loops end at once.
            self.policy.clear();
            self.hidden.clear();
        }
        embed(&network.value_embedding, &network.value_bias, batch, &mut self.value, threads);
        self.logits.resize(batch.rows_a.len(), 0.0);
        self.wdl.clear();
        self.wdl.resize(batch.len(), [0.0; 3]);
        // The backward pass reads the weights by output.
        let transposed = transposed(&network.value_l1_weight);
        let worker = Worker { network, batch, backward, transposed };
        let work = |shard| lanes::vectorized(ShardPass { worker: &worker, shard });
        let parts = parallel::map(threads, self.shards(network, batch), work);
        let mut tally = SparseTally::default();
        let mut sum: Option<SharedGradients> = None;
        for (part, shared) in parts {
            tally.add(&part);
            match (&mut sum, shared) {
                (Some(sum), Some(shared)) => sum.add(&shared),
                (sum, shared) => *sum = shared,
            }
        }
        (tally, sum)
    }

    fn shards(&mut self, network: &SparseModel, batch: &SparseBatch) -> Vec<Shard<'_>> {
        let n = batch.len();
        let mut policy = split(&mut self.policy, n, network.policy_embedding.block).into_iter();
        let mut value = split(&mut self.value, n, network.value_embedding.block).into_iter();
        let mut hidden = split(&mut self.hidden, n, network.rows_a.block).into_iter();
        let mut wdl = self.wdl.chunks_mut(SHARD);
        let mut rest = &mut self.logits[..];
        let mut shards = Vec::new();
        for first in (0..n).step_by(SHARD) {
            let samples = first..(first + SHARD).min(n);
            let move_offset = batch.move_at[samples.start] as usize;
            let (logits, more) = rest.split_at_mut(batch.move_at[samples.end] as usize - move_offset);
            rest = more;
            shards.push(Shard {
                samples,
                move_offset,
                policy: policy.next().expect("as many shards"),
                value: value.next().expect("as many shards"),
                hidden: hidden.next().expect("as many shards"),
                logits,
                wdl: wdl.next().expect("as many shards"),
            });
        }
        shards
    }
}

/// Each shard's part of every block.
fn split(blocked: &mut [f32], n: usize, block: usize) -> Vec<Vec<&mut [f32]>> {
    let mut shards: Vec<Vec<&mut [f32]>> = (0..n.div_ceil(SHARD)).map(|_| Vec::new()).collect();
    for columns in blocked.chunks_mut(n * block) {
        for (shard, part) in shards.iter_mut().zip(columns.chunks_mut(SHARD * block)) {
            shard.push(part);
        }
    }
    shards
}

/// `out = bias + Σ embedding[f]` over each sample's features, in the embedding's blocks.
fn embed(
    embedding: &SparseTensor,
    bias: &SparseTensor,
    batch: &SparseBatch,
    out: &mut Vec<f32>,
    threads: usize,
) {
    let (n, block) = (batch.len(), embedding.block);
    out.resize(n * embedding.width, 0.0);
    let columns = out.chunks_mut(n * block).enumerate();
    let tasks = columns.flat_map(|(k, columns)| {
        let shards = columns.chunks_mut(SHARD * block).enumerate();
        shards.map(move |(shard, sums)| (k, shard * SHARD, sums))
    });
    parallel::map(threads, tasks.collect(), |(k, first, sums): (usize, usize, &mut [f32])| {
        let (table, bias) = (embedding.weights(k), &bias.w[k * block..][..block]);
        lanes::vectorized(Embed { table, bias, batch, first, sums });
    });
}

/// Embeds the samples from `first` on, for one block of columns.
struct Embed<'a> {
    table: &'a [f32],
    bias: &'a [f32],
    batch: &'a SparseBatch,
    first: usize,
    sums: &'a mut [f32],
}

impl NullaryFnOnce for Embed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (sample, sum) in (self.first..).zip(self.sums.chunks_exact_mut(self.bias.len())) {
            sum.copy_from_slice(self.bias);
            lanes::add_rows(sum, self.table, self.batch.features(sample));
        }
    }
}

fn transposed(matrix: &SparseTensor) -> Vec<f32> {
    let (rows, width) = (matrix.rows, matrix.width);
    (0..width).flat_map(|column| (0..rows).map(move |row| matrix.w[row * width + column])).collect()
}

/// Copies row `index` of a shard's blocks into `out`.
#[inline(always)]
fn gather(out: &mut [f32], blocks: &[&mut [f32]], index: usize) {
    let block = out.len() / blocks.len();
    for (out, columns) in out.chunks_exact_mut(block).zip(blocks) {
        out.copy_from_slice(&columns[index * block..][..block]);
    }
}

/// Inverse of [`gather`].
#[inline(always)]
fn scatter(row: &[f32], blocks: &mut [&mut [f32]], index: usize) {
    let block = row.len() / blocks.len();
    for (row, columns) in row.chunks_exact(block).zip(blocks) {
        columns[index * block..][..block].copy_from_slice(row);
    }
}

#[inline(always)]
fn clip(x: f32) -> f32 {
    x.clamp(0.0, 1.0)
}

#[inline(always)]
fn slope(x: f32) -> f32 {
    if x > 0.0 && x < 1.0 { 1.0 } else { 0.0 }
}

struct Worker<'a> {
    network: &'a SparseModel,
    batch: &'a SparseBatch,
    backward: bool,
    /// `[L, V]`
    transposed: Vec<f32>,
}

struct ShardPass<'a> {
    worker: &'a Worker<'a>,
    shard: Shard<'a>,
}

impl NullaryFnOnce for ShardPass<'_> {
    type Output = (SparseTally, Option<SharedGradients>);

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.worker.run(self.shard)
    }
}

impl Worker<'_> {
    #[inline(always)]
    fn run(&self, mut shard: Shard<'_>) -> (SparseTally, Option<SharedGradients>) {
        let mut tally = SparseTally::default();
        let mut shared = self.backward.then(|| SharedGradients::zeros(self.network));
        self.policy(&mut shard, &mut tally, shared.as_mut());
        self.value(&mut shard, &mut tally, shared.as_mut());
        (tally, shared)
    }

    #[inline(always)]
    fn policy(&self, shard: &mut Shard<'_>, tally: &mut SparseTally, shared: Option<&mut SharedGradients>) {
        let (left, right) = shard.policy.split_at_mut(shard.hidden.len());
        for ((hidden, left), right) in shard.hidden.iter_mut().zip(left).zip(right) {
            for ((h, l), r) in hidden.iter_mut().zip(&**left).zip(&**right) {
                *h = clip(*l) * clip(*r);
            }
        }
        self.logits(shard);
        tally.samples += shard.samples.len() as u64;
        for sample in shard.samples.clone() {
            let moves = self.batch.moves(sample);
            if moves.is_empty() || !self.batch.has_policies() {
                continue;
            }
            let logits = &mut shard.logits[moves.start - shard.move_offset..moves.end - shard.move_offset];
            self.policy_loss(sample, &self.batch.shares[moves], logits, tally);
        }
        if let Some(shared) = shared {
            self.policy_backward(shard, shared);
        }
    }

    /// Works block by block, so that the rows' columns stay in the cache.
    #[inline(always)]
    fn logits(&self, shard: &mut Shard<'_>) {
        let Worker { network: SparseModel { rows_a, rows_b, row_bias_a, row_bias_b, .. }, batch, .. } = self;
        let block = rows_a.block;
        let rows = |m: usize| (usize::from(batch.rows_a[m]), usize::from(batch.rows_b[m]));
        for (m, logit) in (shard.move_offset..).zip(&mut *shard.logits) {
            let (a, b) = rows(m);
            *logit = row_bias_a.w[a] + row_bias_b.w[b];
        }
        for (k, hidden) in shard.hidden.iter().enumerate() {
            let (table_a, table_b) = (rows_a.weights(k), rows_b.weights(k));
            for (sample, hidden) in shard.samples.clone().zip(hidden.chunks_exact(block)) {
                for m in batch.moves(sample) {
                    let (a, b) = rows(m);
                    let (a, b) = (&table_a[a * block..][..block], &table_b[b * block..][..block]);
                    shard.logits[m - shard.move_offset] += lanes::dot_of_sum(hidden, a, b);
                }
            }
        }
    }

    /// Adds a sample's policy loss and hits. In a backward pass, replaces the logits by their gradient.
    #[inline(always)]
    fn policy_loss(&self, sample: usize, shares: &[f32], logits: &mut [f32], tally: &mut SparseTally) {
        let best = logits[usize::from(self.batch.best[sample])];
        let better = logits.iter().filter(|logit| **logit > best).count();
        tally.policies += 1;
        tally.top1 += u64::from(better == 0);
        tally.top5 += u64::from(better < 5);
        let weight = self.batch.policy_weight[sample];
        let expected: f32 = shares.iter().zip(&*logits).map(|(share, logit)| share * logit).sum();
        let total = if self.backward { softmax(logits) } else { softmax(&mut logits.to_vec()) };
        tally.policy_loss += f64::from(weight * (total - expected));
        tally.policy_weight += f64::from(weight);
        if self.backward {
            let scale = (f64::from(weight) / self.batch.totals[0].max(f64::MIN_POSITIVE)) as f32;
            for (logit, share) in logits.iter_mut().zip(shares) {
                *logit = scale * (*logit - share);
            }
        }
    }

    /// Replaces the policy embedding sums by their gradient.
    #[inline(always)]
    fn policy_backward(&self, shard: &mut Shard<'_>, shared: &mut SharedGradients) {
        let Worker { network: SparseModel { rows_a, rows_b, .. }, batch, .. } = self;
        let block = rows_a.block;
        let mut gradient = vec![0.0; block];
        let (left, right) = shard.policy.split_at_mut(shard.hidden.len());
        let (left_bias, right_bias) = shared.policy_bias.split_at_mut(left.len() * block);
        let biases = left_bias.chunks_exact_mut(block).zip(right_bias.chunks_exact_mut(block));
        for (k, ((left, right), (left_bias, right_bias))) in
            left.iter_mut().zip(right).zip(biases).enumerate()
        {
            let (table_a, table_b) = (rows_a.weights(k), rows_b.weights(k));
            let sums = left.chunks_exact_mut(block).zip(right.chunks_exact_mut(block));
            for (sample, (left, right)) in shard.samples.clone().zip(sums) {
                let moves = batch.moves(sample);
                let logits = &shard.logits[moves.start - shard.move_offset..moves.end - shard.move_offset];
                let (rows_a, rows_b) = (&batch.rows_a[moves.clone()], &batch.rows_b[moves]);
                gradient.fill(0.0);
                lanes::add_scaled_sums(&mut gradient, table_a, table_b, rows_a, rows_b, logits);
                let (left, right) = (&mut left[..block], &mut right[..block]);
                for i in 0..block {
                    let (l, r, g) = (left[i], right[i], gradient[i]);
                    left[i] = g * clip(r) * slope(l);
                    right[i] = g * clip(l) * slope(r);
                }
                lanes::add(left_bias, left);
                lanes::add(right_bias, right);
            }
        }
    }

    #[inline(always)]
    fn value(&self, shard: &mut Shard<'_>, tally: &mut SparseTally, shared: Option<&mut SharedGradients>) {
        let (network, batch) = (self.network, self.batch);
        let (width, inner) = (network.shape.value, network.shape.hidden);
        // Kept of all samples for the gradient of the first layer's weights.
        let mut squares: Vec<f32> = Vec::new();
        let mut slopes: Vec<f32> = Vec::new();
        let mut shared = shared;
        let (mut sums, mut square, mut gradient) = (vec![0.0; width], vec![0.0; width], vec![0.0; width]);
        let (mut layer, mut units) = (vec![0.0; inner], vec![0.0; inner]);
        for (index, sample) in shard.samples.clone().enumerate() {
            let weight = batch.value_weight[sample];
            if weight == 0.0 {
                if shared.is_some() {
                    gradient.fill(0.0);
                    scatter(&gradient, &mut shard.value, index);
                }
                continue;
            }
            gather(&mut sums, &shard.value, index);
            for i in 0..width {
                square[i] = clip(sums[i]) * clip(sums[i]);
            }
            layer.copy_from_slice(&network.value_l1_bias.w);
            lanes::add_scaled_all(&mut layer, &network.value_l1_weight.w, &square);
            for i in 0..inner {
                units[i] = clip(layer[i]) * clip(layer[i]);
            }
            let mut out: [f32; 3] = std::array::from_fn(|k| network.value_out_bias.w[k]);
            let (weights, _) = network.value_out_weight.w.as_chunks::<3>();
            for (unit, weights) in units.iter().zip(weights) {
                for k in 0..3 {
                    out[k] += unit * weights[k];
                }
            }
            let target = batch.wdl[sample];
            let expected: f32 = (0..3).map(|k| target[k] * out[k]).sum();
            let loss = softmax(&mut out) - expected;
            shard.wdl[index] = out;
            tally.value_loss += f64::from(weight * loss);
            tally.value_weight += f64::from(weight);
            let Some(shared) = shared.as_deref_mut() else { continue };

            let scale = (f64::from(weight) / batch.totals[1].max(f64::MIN_POSITIVE)) as f32;
            let error: [f32; 3] = std::array::from_fn(|k| scale * (out[k] - target[k]));
            lanes::add(&mut shared.out_bias, &error);
            let (out_gradient, _) = shared.out_weight.as_chunks_mut::<3>();
            for i in 0..inner {
                let mut g = 0.0;
                for k in 0..3 {
                    out_gradient[i][k] += units[i] * error[k];
                    g += weights[i][k] * error[k];
                }
                layer[i] = 2.0 * g * clip(layer[i]) * slope(layer[i]);
            }
            lanes::add(&mut shared.l1_bias, &layer);
            squares.extend_from_slice(&square);
            slopes.extend_from_slice(&layer);
            gradient.fill(0.0);
            lanes::add_scaled_all(&mut gradient, &self.transposed, &layer);
            for i in 0..width {
                gradient[i] *= 2.0 * clip(sums[i]) * slope(sums[i]);
            }
            lanes::add(&mut shared.value_bias, &gradient);
            scatter(&gradient, &mut shard.value, index);
        }
        if let Some(shared) = shared {
            add_products(&mut shared.l1_weight, &squares, &slopes, width, inner);
        }
    }
}

/// `sum += aᵀ · b` with `a` `[n, rows]` and `b` `[n, width]`.
#[inline(always)]
fn add_products(sum: &mut [f32], a: &[f32], b: &[f32], rows: usize, width: usize) {
    const AT_ONCE: usize = 8;
    for (a, b) in a.chunks(AT_ONCE * rows).zip(b.chunks(AT_ONCE * width)) {
        let n = b.len() / width;
        let mut factors = [0.0; AT_ONCE];
        for (row, sum) in sum.chunks_exact_mut(width).enumerate() {
            for k in 0..n {
                factors[k] = a[k * rows + row];
            }
            lanes::add_scaled_all(sum, b, &factors[..n]);
        }
    }
}
