//! Samples a second of the training step alone, on the same batch of positions over and over.
//!
//! `cargo bench -p trainer --bench step -- cpu 20 batch=1024 model.filters=64 precision='"bf16"'`:
//! device, timed steps, then keys of the training configuration.

use engine::encoding::{az4672, planes72};
use engine::position::Game;
use std::time::Instant;
use tch::Device;
use trainer::learn::{Learner, TrainConfig};
use trainer::loader::Batch;

/// Positions of games of pseudo-random moves.
fn positions(size: usize) -> Batch {
    let mut batch = Batch { size, ..Batch::default() };
    let mut state = 1u64;
    let mut game = Game::new();
    for _ in 0..size {
        let mut legal = game.legal_moves();
        if legal.is_empty() || game.ply() > 100 {
            game = Game::new();
            legal = game.legal_moves();
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let played = legal[(state >> 33) as usize % legal.len()];
        let planes = planes72::encode(&game);
        let mut words = [0u64; az4672::SIZE / 64];
        for &m in &legal {
            let index = az4672::index(game.turn(), m).offset();
            words[index / 64] |= 1 << (index % 64);
        }
        batch.masks.extend(planes.masks);
        batch.scalars.extend(planes.scalars);
        batch.legal.extend(words);
        batch.policy.push(az4672::index(game.turn(), played).0);
        batch.wdl.extend([0.4, 0.3, 0.3]);
        batch.source.push(0);
        game.play(played);
    }
    batch
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let device = match words.first().map(String::as_str) {
        Some("cuda") => Device::Cuda(0),
        _ => Device::Cpu,
    };
    let steps: usize = words.get(1).map_or(5, |word| word.parse().expect("a number of steps"));
    let overrides = words.get(2..).unwrap_or_default();
    let config = TrainConfig::parse("{}", overrides).expect("keys of the training configuration");
    if config.torch_threads > 0 {
        tch::set_num_threads(config.torch_threads as i32);
    }
    tch::Cuda::cudnn_set_benchmark(true);
    let batch = positions(config.batch);
    let mut learner = Learner::new(&config, device).expect("a sound configuration");
    for _ in 0..3 {
        learner.step(std::slice::from_ref(&batch), 1e-4);
    }
    learner.report();
    let start = Instant::now();
    for _ in 0..steps {
        learner.step(std::slice::from_ref(&batch), 1e-4);
    }
    let report = learner.report();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} parameters, batch {}, {:?} on {device:?}: {:.0} samples/s, {:.2} ms a step, policy loss {:.3}",
        learner.net.layout().len(),
        config.batch,
        config.precision.kind(device),
        (steps * config.batch) as f64 / seconds,
        1000.0 * seconds / steps as f64,
        report.measures.policy_loss
    );
}
