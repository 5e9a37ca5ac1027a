//! Training steps.

use pulp::NullaryFnOnce;

use super::index::RowIndex;
use super::lanes;
use super::network::SparseModel;
use super::pass::{SharedGradients, SparsePass, SparseTally};
use super::samples::SparseBatch;
use super::tensor::{SparseAdamStep, SparseTensor, TensorPart};
use crate::base::parallel;
use crate::config::SparseAdam;

/// Rows of a table per task.
const ROWS: usize = 256;

/// How a table row's gradient follows from the (sample, factor) entries that use the row. The slices are blocked
/// per-sample rows.
#[derive(Clone, Copy)]
enum Gradient<'a> {
    /// Sum of factor · sample row.
    Weighted(&'a [f32]),
    /// Sum of sample rows.
    Sum(&'a [f32]),
    /// Sum of factors.
    Bias,
}

struct UpdateRows<'a> {
    part: TensorPart<'a>,
    index: &'a RowIndex<(u32, f32)>,
    kind: Gradient<'a>,
    /// Samples in the batch.
    samples: usize,
    step: &'a SparseAdamStep,
}

impl NullaryFnOnce for UpdateRows<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let UpdateRows { mut part, index, kind, samples, step } = self;
        let width = part.width;
        let columns = part.block * samples * width..(part.block + 1) * samples * width;
        let mut gradient = vec![0.0; width];
        for row in 0..part.rows() {
            let entries = index.of(part.first + row);
            if entries.is_empty() && step.adam.lazy {
                continue;
            }
            gradient.fill(0.0);
            match kind {
                Gradient::Weighted(x) => lanes::add_scaled_rows(&mut gradient, &x[columns.clone()], entries),
                Gradient::Sum(x) => lanes::add_rows_of(&mut gradient, &x[columns.clone()], entries),
                Gradient::Bias => gradient[0] = entries.iter().map(|(_, factor)| factor).sum(),
            }
            part.update_row(row, &gradient, step);
        }
    }
}

/// A network in training. Its steps are bit-identical for any number of threads.
#[derive(Clone, Debug)]
pub struct SparseLearner {
    pub network: SparseModel,
    pub adam: SparseAdam,
    pub steps: u64,
    pub threads: usize,
    pass: SparsePass,
}

impl SparseLearner {
    pub fn new(network: SparseModel, adam: SparseAdam, threads: usize) -> SparseLearner {
        SparseLearner { network, adam, steps: 0, threads, pass: SparsePass::default() }
    }

    /// Steps on mean policy loss + mean value loss and returns the losses before it. If no sample has a policy weight,
    /// the policy stays unchanged (weight decay too leaves it alone); if none has a value weight, the value does.
    pub fn step(&mut self, batch: &SparseBatch, rate: f32) -> SparseTally {
        let (tally, shared) = self.pass.run(&self.network, batch, true, self.threads);
        self.steps += 1;
        let step = self.adam.step(self.steps, rate);
        self.update_tables(batch, &step);
        if let Some(shared) = shared {
            self.update_shared(&shared, batch, &step);
        }
        tally
    }

    fn update_tables(&mut self, batch: &SparseBatch, step: &SparseAdamStep) {
        let (pass, shape) = (&self.pass, self.network.shape);
        let n = batch.len();
        let features = || {
            let samples = (0..n).flat_map(|i| batch.features(i).iter().map(move |_| (i as u32, 1.0)));
            RowIndex::new(shape.features, &batch.features, samples)
        };
        let moves = |rows: usize, used: &[u16]| {
            let samples = (0..n).flat_map(|i| batch.moves(i).map(move |_| i as u32));
            RowIndex::new(rows, used, samples.zip(pass.logits.iter().copied()))
        };
        let indices = parallel::map(self.threads, vec![0, 1, 2], |table| match table {
            0 => moves(shape.rows_a, &batch.rows_a),
            1 => moves(shape.rows_b, &batch.rows_b),
            _ => features(),
        });
        let [moves_a, moves_b, features] = &indices[..] else { unreachable!("three tables") };
        let network = &mut self.network;
        let mut tasks = Vec::new();
        let mut tables = Vec::new();
        if batch.has_values() {
            tables.push((&mut network.value_embedding, features, Gradient::Sum(&pass.value)));
        }
        if batch.has_policies() {
            tables.extend([
                (&mut network.rows_a, moves_a, Gradient::Weighted(&pass.hidden)),
                (&mut network.rows_b, moves_b, Gradient::Weighted(&pass.hidden)),
                (&mut network.policy_embedding, features, Gradient::Sum(&pass.policy)),
                (&mut network.row_bias_a, moves_a, Gradient::Bias),
                (&mut network.row_bias_b, moves_b, Gradient::Bias),
            ]);
        }
        for (tensor, index, kind) in tables {
            tasks.extend(tensor.parts(ROWS).into_iter().map(|part| (part, index, kind)));
        }
        parallel::map(self.threads, tasks, |(part, index, kind)| {
            lanes::vectorized(UpdateRows { part, index, kind, samples: n, step });
        });
    }

    fn update_shared(&mut self, shared: &SharedGradients, batch: &SparseBatch, step: &SparseAdamStep) {
        let network = &mut self.network;
        if batch.has_policies() {
            network.policy_bias.update(&shared.policy_bias, step);
        }
        if !batch.has_values() {
            return;
        }
        let pairs: [(&mut SparseTensor, &[f32]); 5] = [
            (&mut network.value_bias, &shared.value_bias),
            (&mut network.value_l1_weight, &shared.l1_weight),
            (&mut network.value_l1_bias, &shared.l1_bias),
            (&mut network.value_out_weight, &shared.out_weight),
            (&mut network.value_out_bias, &shared.out_bias),
        ];
        for (tensor, gradient) in pairs {
            tensor.update(gradient, step);
        }
    }
}
