//! Steps of training.

use super::index::Index;
use super::lanes;
use super::network::Network;
use super::parallel;
use super::pass::{Pass, Shared, Tally};
use super::samples::Batch;
use super::tensor::{Adam, AdamStep, Tensor};

/// Rows of a table that one task updates.
const ROWS: usize = 256;

/// A network in training. Its steps are the same to the bit on any number of threads.
#[derive(Clone, Debug)]
pub struct Learner {
    /// The network.
    pub network: Network,
    /// The optimiser.
    pub adam: Adam,
    /// Steps made.
    pub steps: u64,
    /// Threads to work on.
    pub threads: usize,
    pass: Pass,
}

impl Learner {
    /// A learner before its first step.
    pub fn new(network: Network, adam: Adam, threads: usize) -> Learner {
        Learner { network, adam, steps: 0, threads, pass: Pass::default() }
    }

    /// One step along the gradient of the mean policy loss plus the mean value loss of a batch, at learning rate
    /// `rate`; returns the batch's losses before the step.
    pub fn step(&mut self, batch: &Batch, rate: f32) -> Tally {
        let (tally, shared) = self.pass.run(&self.network, batch, true, self.threads);
        self.steps += 1;
        let step = self.adam.step(self.steps, rate);
        self.update_embeddings(batch, &step);
        self.update_rows(batch, &step);
        if let Some(shared) = shared {
            self.update_shared(&shared, &step);
        }
        tally
    }

    fn update_embeddings(&mut self, batch: &Batch, step: &AdamStep) {
        let samples = (0..batch.len()).flat_map(|i| batch.features(i).iter().map(move |_| i as u32));
        let index = Index::new(self.network.shape.features, &batch.features, samples);
        let n = batch.len();
        let network = &mut self.network;
        let policy = network.policy_embedding.parts(ROWS).into_iter().map(|part| (part, &self.pass.policy));
        let value = network.value_embedding.parts(ROWS).into_iter().map(|part| (part, &self.pass.value));
        parallel::map(self.threads, policy.chain(value).collect(), |(mut part, gradients)| {
            let width = part.width;
            let gradients = &gradients[part.block * n * width..][..n * width];
            let mut gradient = vec![0.0; width];
            for row in 0..part.rows() {
                let samples = index.of(part.first + row);
                if samples.is_empty() && step.adam.lazy {
                    continue;
                }
                gradient.fill(0.0);
                lanes::add_rows_u32(&mut gradient, gradients, samples);
                part.update_row(row, &gradient, step);
            }
        });
    }

    fn update_rows(&mut self, batch: &Batch, step: &AdamStep) {
        let n = batch.len();
        let pass = &self.pass;
        let entries = || {
            let moves = (0..n).flat_map(|i| batch.moves(i).map(move |_| i as u32));
            moves.zip(pass.logits.iter().copied())
        };
        let network = &mut self.network;
        let shape = network.shape;
        let indices = parallel::map(self.threads, vec![true, false], |first| {
            let (rows, used) =
                if first { (shape.rows_a, &batch.rows_a) } else { (shape.rows_b, &batch.rows_b) };
            Index::new(rows, used, entries())
        });
        let [a, b] = &indices[..] else { unreachable!("two tables") };
        let lazy = step.adam.lazy;
        let rows = network.rows_a.parts(ROWS).into_iter().map(|part| (part, a));
        let rows = rows.chain(network.rows_b.parts(ROWS).into_iter().map(|part| (part, b)));
        parallel::map(self.threads, rows.collect(), |(mut part, index)| {
            let block = part.width;
            let hidden = &pass.hidden[part.block * n * block..][..n * block];
            let mut gradient = vec![0.0; block];
            for row in 0..part.rows() {
                let entries = index.of(part.first + row);
                if entries.is_empty() && lazy {
                    continue;
                }
                gradient.fill(0.0);
                lanes::add_scaled_rows(&mut gradient, hidden, entries);
                part.update_row(row, &gradient, step);
            }
        });
        for (bias, index) in [(&mut network.row_bias_a, a), (&mut network.row_bias_b, b)] {
            for mut part in bias.parts(ROWS) {
                for row in 0..part.rows() {
                    let entries = index.of(part.first + row);
                    if !(entries.is_empty() && lazy) {
                        part.update_row(row, &[entries.iter().map(|(_, gradient)| gradient).sum()], step);
                    }
                }
            }
        }
    }

    fn update_shared(&mut self, shared: &Shared, step: &AdamStep) {
        let network = &mut self.network;
        let pairs: [(&mut Tensor, &[f32]); 6] = [
            (&mut network.policy_bias, &shared.policy_bias),
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
