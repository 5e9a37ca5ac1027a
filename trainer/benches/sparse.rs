//! Samples per second of a training step of the family `sparse`, in plain Rust and in libtorch, whose embedding bag
//! sums the features.
//!
//! `cargo bench -p trainer --bench sparse -- 2 10 768 256`: threads, timed steps per round, widths of policy and value.

use std::time::Instant;

use engine::chess::position::Game;
use engine::nets::encoding::moves1::{self, Rows};
use engine::nets::encoding::sparse1::View;
use tch::nn::{Init, Optimizer, OptimizerConfig, VarStore};
use tch::{Device, Kind, Tensor, nn};
use trainer::config::SparseAdam;
use trainer::data::samples::Phase;
use trainer::learn::sparse::{
    SparseBatch, SparseLearner, SparseModel, SparseSamples, SparseShape, SparseTargets,
};

/// Alternating rounds; the median is reported.
const ROUNDS: usize = 5;
const BATCH: usize = 4096;
const RATE: f64 = 1e-3;

fn batch() -> SparseBatch {
    let mut random = fastrand::Rng::with_seed(1);
    let mut samples = SparseSamples::default();
    let mut game = Game::new();
    while samples.len() < BATCH {
        let moves = game.legal_moves();
        if moves.is_empty() || game.ply() > 120 {
            game = Game::new();
            continue;
        }
        let view = View::of(&game);
        let mut rows = vec![Rows::default(); moves.len()];
        moves1::rows(&view, &moves, &mut rows);
        let best = random.usize(..moves.len());
        let targets = SparseTargets {
            best: best as u16,
            wdl: [0.4, 0.3, 0.3],
            policy_weight: 1.0,
            value_weight: 1.0,
            smoothing: 0.0,
            result: [1.0, 0.0, 0.0],
            phase: Phase::Opening,
        };
        samples.push(&view.features(), rows.iter().map(|row| [row.a, row.b]), &[], targets);
        game.play(moves[best]);
    }
    samples.shuffle(&mut random);
    samples.batch(0..BATCH)
}

struct Torch {
    optimiser: Optimizer,
    weights: Vec<Tensor>,
    half: i64,
    features: Tensor,
    feature_at: Tensor,
    rows: [Tensor; 2],
    sample_of: Tensor,
    shares: Tensor,
    wdl: Tensor,
}

impl Torch {
    fn new(shape: &SparseShape, batch: &SparseBatch) -> Torch {
        let store = VarStore::new(Device::Cpu);
        let size = |n: usize| n as i64;
        let var = |name: &str, dims: &[usize]| {
            let dims: Vec<i64> = dims.iter().map(|n| size(*n)).collect();
            store.root().var(name, &dims, Init::Uniform { lo: -0.1, up: 0.1 })
        };
        let SparseShape { features, rows_a, rows_b, policy, value, hidden } = *shape;
        let weights = vec![
            var("policy_embedding", &[features, policy]),
            var("policy_bias", &[policy]),
            var("value_embedding", &[features, value]),
            var("value_bias", &[value]),
            var("rows_a", &[rows_a, policy / 2]),
            var("rows_b", &[rows_b, policy / 2]),
            var("row_bias_a", &[rows_a, 1]),
            var("row_bias_b", &[rows_b, 1]),
            var("l1", &[value, hidden]),
            var("l1_bias", &[hidden]),
            var("out", &[hidden, 3]),
            var("out_bias", &[3]),
        ];
        let indices =
            |rows: &[u16]| Tensor::from_slice(&rows.iter().map(|i| i64::from(*i)).collect::<Vec<_>>());
        let starts: Vec<i64> = batch.feature_at[..batch.len()].iter().map(|i| i64::from(*i)).collect();
        let sample_of: Vec<i64> =
            (0..batch.len()).flat_map(|i| batch.moves(i).map(move |_| i as i64)).collect();
        Torch {
            optimiser: nn::Adam::default().build(&store, RATE).expect("an optimiser"),
            weights,
            half: size(policy / 2),
            features: indices(&batch.features),
            feature_at: Tensor::from_slice(&starts),
            rows: [indices(&batch.rows_a), indices(&batch.rows_b)],
            sample_of: Tensor::from_slice(&sample_of),
            shares: Tensor::from_slice(&batch.shares),
            wdl: Tensor::from_slice(batch.wdl.as_flattened()).view([-1, 3]),
        }
    }

    /// Returns the loss before the step.
    fn step(&mut self) -> f64 {
        let [policy, policy_bias, value, value_bias, a, b, bias_a, bias_b, l1, l1_bias, out, out_bias] =
            &self.weights[..]
        else {
            unreachable!("twelve tensors")
        };
        let bag = |table: &Tensor, bias: &Tensor| {
            let (sum, ..) = Tensor::embedding_bag(
                table,
                &self.features,
                &self.feature_at,
                false,
                0,
                false,
                None::<Tensor>,
                false,
            );
            (sum + bias).clamp(0.0, 1.0)
        };
        let rows = |table: &Tensor, index: &Tensor| Tensor::embedding(table, index, -1, false, false);
        let both = bag(policy, policy_bias);
        let hidden = both.narrow(1, 0, self.half) * both.narrow(1, self.half, self.half);
        let row = rows(a, &self.rows[0]) + rows(b, &self.rows[1]);
        let bias = rows(bias_a, &self.rows[0]) + rows(bias_b, &self.rows[1]);
        let logits = (hidden.index_select(0, &self.sample_of) * row).sum_dim_intlist(1, false, Kind::Float)
            + bias.squeeze_dim(1);
        let logits = &logits - logits.detach().max();
        let n = self.wdl.size()[0];
        let total =
            Tensor::zeros([n], (Kind::Float, Device::Cpu)).index_add(0, &self.sample_of, &logits.exp()).log();
        let log = &logits - total.index_select(0, &self.sample_of);
        let policy_loss = -(&self.shares * log).sum(Kind::Float) / n as f64;
        let square = bag(value, value_bias).square();
        let units = (square.matmul(l1) + l1_bias).clamp(0.0, 1.0).square();
        let answer = (units.matmul(out) + out_bias).log_softmax(1, Kind::Float);
        let value_loss = -(&self.wdl * answer).sum(Kind::Float) / n as f64;
        let loss = policy_loss + value_loss;
        self.optimiser.backward_step(&loss);
        loss.double_value(&[])
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let number = |index: usize, default: usize| numbers.get(index).copied().unwrap_or(default);
    let (threads, steps) = (number(0, 1), number(1, 10));
    let shape = SparseShape { policy: number(2, 768), value: number(3, 256), ..SparseShape::STANDARD };
    tch::set_num_threads(threads as i32);
    let batch = batch();
    let adam = SparseAdam { lazy: true, ..SparseAdam::default() };
    let mut learner = SparseLearner::new(SparseModel::new(shape, 1), adam, threads);
    let mut torch = Torch::new(&shape, &batch);
    let timed = |work: &mut dyn FnMut() -> f64| {
        let start = Instant::now();
        for _ in 0..steps {
            assert!(work().is_finite(), "a step was not finite");
        }
        start.elapsed().as_secs_f64()
    };
    let mut seconds = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        let ours = timed(&mut || learner.step(&batch, RATE as f32).policy());
        let theirs = timed(&mut || torch.step());
        // The first round warms up.
        if round > 0 {
            seconds[0].push(ours);
            seconds[1].push(theirs);
        }
    }
    println!(
        "{} features and {} moves a sample, policy {}, value {}, batch {BATCH}, {threads} threads",
        batch.features.len() / BATCH,
        batch.rows_a.len() / BATCH,
        shape.policy,
        shape.value
    );
    let [ours, theirs] = seconds.map(|seconds| (steps * BATCH) as f64 / median(seconds));
    println!(
        "plain Rust: {ours:7.0} samples/s\n  libtorch: {theirs:7.0} samples/s, {:.2} of it",
        theirs / ours
    );
}
