//! Samples per second of a training step: the bare loop, the learner's step, and a whole run with its loader.
//!
//! `cargo bench -p trainer --bench step -- cpu 20 batch=1024 model.filters=64 precision='"bf16"'`: device, timed steps
//! per round, then keys of the training configuration; `preset=mlp` names the preset below them.
//! `scripts/torch_speed.py` is the bare loop in Python's PyTorch.

use clap::ValueEnum;
use engine::chess::position::{Game, PackedMove};
use engine::nets::eval::Schemes;
use std::sync::Arc;
use std::time::Instant;
use tch::{Device, Tensor};
use trainer::config::TrainConfig;
use trainer::config::train::TrainPreset;
use trainer::data::loader::{Batch, CorpusBuilder, Prefetch, SampleOrder, Source};
use trainer::data::record::GameView;
use trainer::data::samples::SampleOptions;
use trainer::learn::run::RunFolder;
use trainer::learn::torch::families::{DeviceBatch, Expander};
use trainer::learn::torch::{HeldOut, Learner, TorchRun, loss};

/// Alternating rounds; the median is reported.
const ROUNDS: usize = 3;
/// Plies per game.
const PLIES: usize = 160;
/// Does not affect the speed.
const LR: f64 = 1e-4;

fn games(count: usize) -> Source {
    let mut random = fastrand::Rng::with_seed(1);
    let mut builder = CorpusBuilder::new(&std::env::temp_dir()).expect("temporary files");
    for _ in 0..count {
        let mut game = Game::new();
        let mut moves = Vec::with_capacity(PLIES);
        while let (Some(m), true) = (random.choice(game.legal_moves()), moves.len() < PLIES) {
            moves.push(PackedMove::new(m).0);
            game.play(m);
        }
        builder.push(&GameView { moves: &moves, result: 0, ..GameView::default() }).expect("room for games");
    }
    Source { corpus: Arc::new(builder.build().expect("room for games")), weight: 1.0 }
}

/// Steps on tensors already on the device.
fn bare_step(learner: &mut Learner, batch: &DeviceBatch, config: &TrainConfig) -> Tensor {
    let output = learner.net.forward(&learner.weights, &batch.input, true);
    let losses = loss::losses(&output, batch, config);
    let gradient = learner.weights.gradient_pieces(&losses.total);
    learner.optimiser.step(&mut learner.weights, &gradient, &losses.total, LR, config)
}

/// Seconds of `steps` steps.
fn bare_loop(learner: &mut Learner, batch: &DeviceBatch, config: &TrainConfig, steps: usize) -> f64 {
    let start = Instant::now();
    let done: Vec<Tensor> = (0..steps).map(|_| bare_step(learner, batch, config)).collect();
    // Synchronises with the device.
    assert!(done.iter().all(|done| done.double_value(&[]) == 1.0), "a step was not finite");
    start.elapsed().as_secs_f64()
}

/// Seconds of `steps` steps.
fn learner_loop(learner: &mut Learner, batch: &Batch, steps: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..steps {
        _ = learner.step(std::slice::from_ref(batch), LR);
    }
    assert_eq!(learner.report().skipped, 0, "a step was not finite");
    start.elapsed().as_secs_f64()
}

/// Samples per second of a run, from the report on its second half.
fn whole_run(plan: SampleOrder, config: &TrainConfig, device: Device, steps: usize) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let config = TrainConfig {
        samples: (2 * steps * config.batch) as u64,
        report_every: steps as u64,
        validate_every: u64::MAX,
        ..config.clone()
    };
    let mut feed = Prefetch::new(Arc::new(plan), 0, config.loader_threads);
    let run_folder = RunFolder::open(folder.path()).expect("a folder");
    let mut run = TorchRun::start(run_folder, &config, device, None).expect("a new run");
    run.train(&mut feed, &HeldOut::default(), &|_| false).expect("a run to its end");
    let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).expect("metrics");
    let last = text.lines().last().expect("a line of metrics");
    let line: serde_json::Value = serde_json::from_str(last).expect("JSON");
    line["samples_per_s"].as_f64().expect("a rate")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let device = match words.first().map(String::as_str) {
        Some("cuda") => Device::Cuda(0),
        _ => Device::Cpu,
    };
    let steps: usize = words.get(1).map_or(5, |word| word.parse().expect("a number of steps"));
    let overrides = words.get(2..).unwrap_or_default();
    let (presets, overrides): (Vec<_>, Vec<_>) =
        overrides.iter().cloned().partition(|word| word.starts_with("preset="));
    let preset = presets.last().map_or(Ok(TrainPreset::default()), |word| {
        TrainPreset::from_str(word.trim_start_matches("preset="), true)
    });
    let config =
        preset.expect("a preset").parse("{}", &overrides).expect("keys of the training configuration");
    if config.torch_threads > 0 {
        tch::set_num_threads(config.torch_threads as i32);
    }
    tch::Cuda::cudnn_set_benchmark(true);
    let sources = vec![games(2 * config.batch)];
    let Schemes { input, policy, .. } = config.model.schemes();
    let options = SampleOptions { input, policy, ..SampleOptions::default() };
    let plan = SampleOrder::new(sources, options, config.batch, config.seed).expect("there are games");
    let (batch, _) = plan.batch(0, None).expect("sound games");
    let kind = config.precision.kind(device);
    let on_device = Expander::new(device, kind, config.model.schemes()).upload(&batch);
    let mut learner = Learner::new(&config, device).expect("a sound configuration");
    println!("{} parameters, batch {}, {kind:?} on {device:?}", learner.net.layout().len(), config.batch);

    bare_loop(&mut learner, &on_device, &config, 3);
    learner_loop(&mut learner, &batch, 3);
    let [mut bare, mut full] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        bare.push(bare_loop(&mut learner, &on_device, &config, steps));
        full.push(learner_loop(&mut learner, &batch, steps));
    }
    let [bare, full] = [bare, full].map(|seconds| (steps * config.batch) as f64 / median(seconds));
    let whole = whole_run(plan, &config, device, steps);
    for (what, rate) in [("bare loop", bare), ("learner's step", full), ("whole run", whole)] {
        println!(
            "{what:>14}: {rate:7.0} samples/s, {:7.2} ms a step, {:5.1} % of the bare loop",
            1000.0 * config.batch as f64 / rate,
            100.0 * rate / bare
        );
    }
}
