//! Tests of training on a tiny network: learning, resuming, steps that are not finite.

mod recursive;

use super::checkpoint;
use super::checkpoint::Checkpoint;
use super::learner::Learner;
use super::overfit::overfit;
use super::run::TorchRun;
use super::validation::HeldOut;
use crate::config::ModelConfig;
use crate::config::ReferenceConfig;
use crate::config::TrainConfig;
use crate::config::model::ResnetConfig;
use crate::config::{Precision, Schedule};
use crate::data::loader::{Batch, Origin};
use crate::data::samples::Phase;
use crate::learn::run::folder;
use crate::learn::run::metrics::Validation;
use crate::learn::run::{
    AverageUpdate, Feed, LrSuggestion, RunFolder, TrainEnd, TrainError, TrainProgress, lr_range_test,
};
use crate::learn::torch::families::Net;
use crate::learn::torch::regularise::ewc::ElasticPenalty;
use crate::learn::torch::regularise::reference::Reference;
use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::eval::Schemes;
use shakmaty::Position;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tch::{Device, Kind, Tensor};

/// Morphy against the Duke of Brunswick and Count Isouard, Paris 1858.
const OPERA: &str = "e2e4 e7e5 g1f3 d7d6 d2d4 c8g4 d4e5 g4f3 d1f3 d6e5 f1c4 g8f6 f3b3 d8e7 b1c3 c7c6 \
    c1g5 b7b5 c3b5 c6b5 c4b5 b8d7 e1c1 a8d8 d1d7 d8d7 h1d1 e7e6 b5d7 f6d7 b3b8 d7b8 d1d8";

/// Returns all positions of the game in order, with the move played and the result. White's moves are one source,
/// Black's another.
pub(super) fn opera_game_batch(schemes: &Schemes) -> Batch {
    let mut game = Game::new();
    let mut batch = Batch::default();
    for (ply, uci) in OPERA.split_whitespace().enumerate() {
        let m = game.parse_uci(uci).unwrap();
        let index = |m| schemes.policy.index(game.turn(), m);
        let mut legal = vec![0u64; schemes.policy.size().div_ceil(64)];
        for m in game.legal_moves() {
            legal[index(m).offset() / 64] |= 1 << (index(m).offset() % 64);
        }
        batch.size += 1;
        schemes.input.read(&game, |masks, scalars| {
            batch.masks.extend(masks);
            batch.scalars.extend(scalars);
        });
        batch.legal.extend(legal);
        batch.policy.push(index(m).0);
        let result = if ply % 2 == 0 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] };
        batch.wdl.extend(result);
        batch.results.extend(result);
        batch.source.push((ply % 2) as u8);
        batch.draw.push(ply as u64);
        batch.tactical.push(m.is_capture());
        batch.phase.push(Phase::of(game.position().board()) as u8);
        game.play(m);
    }
    batch
}

fn opera() -> Batch {
    opera_game_batch(&ModelConfig::default().schemes())
}

pub(super) fn held_out_game(batch: Batch) -> HeldOut {
    HeldOut { batches: vec![batch], names: vec!["white".into(), "black".into()] }
}

fn held_out() -> HeldOut {
    held_out_game(opera())
}

/// Cycles through the rows of one batch.
struct CyclingFeed {
    all: Batch,
    size: usize,
    next: usize,
}

impl CyclingFeed {
    fn new(size: usize, next: usize) -> CyclingFeed {
        CyclingFeed { all: opera(), size, next }
    }
}

impl Feed for CyclingFeed {
    type Batch = Batch;

    fn next_batch(&mut self) -> Result<Batch> {
        let mut batch = Batch::default();
        for _ in 0..self.size {
            batch.push(&self.all, self.next % self.all.size);
            self.next += 1;
        }
        Ok(batch)
    }

    fn again(&mut self, origins: &[Origin]) -> Result<Batch> {
        let mut batch = Batch::default();
        origins.iter().for_each(|Origin(_, draw)| batch.push(&self.all, *draw as usize));
        Ok(batch)
    }

    fn position(&self) -> serde_json::Value {
        self.next.into()
    }
}

/// Returns `[n, 72, 8, 8]` of pseudo-random values in 0..=1. libtorch's generator is global, and dropout in other tests
/// draws from it.
fn some_planes(n: i64) -> Tensor {
    let numbers = Tensor::arange(n * 72 * 64, (Kind::Float, Device::Cpu)).square().sin();
    ((numbers + 1.0) / 2.0).view([n, 72, 8, 8])
}

fn tiny() -> TrainConfig {
    // More threads only slow down a network this small.
    tch::set_num_threads(1);
    let overrides = r#"{
        "model": {"filters": 16, "blocks": 2, "se_ratio": 4, "value_channels": 2, "value_hidden": 16},
        "precision": "fp32", "batch": 11, "samples": 220, "warmup_steps": 2, "ema": 0.9,
        "report_every": 5, "validate_every": 10
    }"#;
    TrainConfig::parse(overrides, &[]).unwrap()
}

fn resnet(config: &mut TrainConfig) -> &mut ResnetConfig {
    match &mut config.model {
        ModelConfig::Resnet(model) => model,
        other => panic!("{}", other.family()),
    }
}

fn fresh_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("philidor-learn-{name}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(folder: &std::path::Path) -> RunFolder {
    RunFolder::open(folder).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.try_into().unwrap()
}

fn policy_losses(folder: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let values = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    values.filter(|v| v.get("lr").is_some()).map(|v| v["policy_loss"].to_string()).collect()
}

#[test]
fn one_game_is_overfitted() {
    let config = TrainConfig { lr: 5e-3, ..tiny() };
    let game = opera();
    for kind in ["batch", "group"] {
        let mut config = config.clone();
        resnet(&mut config).norm = serde_json::from_value(kind.into()).unwrap();
        let mut learner = Learner::new(&config, Device::Cpu).unwrap();
        let mut last = learner.report();
        for step in 0..300 {
            learner.step(std::slice::from_ref(&game), config.learning_rate(step, 0.0));
            learner.average(AverageUpdate::Towards(0.1));
            if step % 20 == 19 {
                last = learner.report();
            }
            if last.measures.top1 > 0.99 && last.measures.policy_loss < 0.05 {
                break;
            }
        }
        assert!(last.measures.top1 > 0.95, "{kind}: {last:?}");
        assert!(last.measures.loss(1.0) < 0.2, "{kind}: {last:?}");
        let validations = learner.validate(&held_out());
        let samples = |part: &[Validation]| part.iter().map(|v| v.samples).collect::<Vec<_>>();
        assert_eq!(samples(&validations.sources), [17, 16]);
        assert_eq!(samples(&validations.phases), [25, 7, 1], "24. Rxd7 leaves ten pieces, 31... Nxb8 six");
        assert_eq!(validations.all.samples, 33);
        assert!(validations.all.measures.top1 > 0.9, "{kind}: the average has learnt too: {validations:?}");
        let parts =
            |part: &[Validation]| part.iter().map(|v| v.measures.top1 * v.samples as f64).sum::<f64>();
        for part in [&validations.sources, &validations.phases] {
            assert!((parts(part) - validations.all.measures.top1 * 33.0).abs() < 1e-3);
        }
        let win = &validations.calibration.as_ref().expect("a value").win;
        assert!(win.error < 0.1, "{kind}: it knows who won: {validations:?}");
    }
}

#[test]
fn a_configuration_that_can_learn_overfits_and_another_gets_advice() {
    let config = TrainConfig { lr: 5e-3, schedule: Schedule::Constant, ..tiny() };
    let game = opera();
    let learn =
        |config: &TrainConfig, steps| overfit(config, Device::Cpu, &game, steps, 0.1, &|_| ()).unwrap();
    assert_eq!(learn(&config, 400).advice(&config, 0.1), None);
    let still = TrainConfig { lr: 0.0, min_lr: 0.0, ..config };
    let advice = learn(&still, 20).advice(&still, 0.1).unwrap();
    assert!(advice.contains("lr (0"), "{advice}");
}

#[test]
fn a_range_test_ends_where_the_loss_diverges() {
    let config = TrainConfig { clip: 0.0, ..tiny() };
    let run = |to| {
        let mut learner = Learner::new(&config, Device::Cpu).unwrap();
        lr_range_test(&mut learner, &mut CyclingFeed::new(11, 0), 1.0, [1e-6, to], 60, &|_| ()).unwrap()
    };
    let calm = run(1e-2);
    assert_eq!(calm.len(), 60);
    assert!((calm[59].lr / 1e-2 - 1.0).abs() < 1e-9 && (calm[0].lr / 1e-6 - 1.0).abs() < 1e-9);
    let found = LrSuggestion::of(&calm).expect("the loss falls");
    assert!((1e-5..=1e-2).contains(&found.steepest), "{found:?}");
    let wild = run(1e6);
    assert!(wild.len() < 60, "{:?}", wild.last());
}

#[test]
fn a_change_of_the_flat_tensor_changes_the_answers() {
    let config = tiny();
    let net = Net::new(&config.model).unwrap();
    let planes = some_planes(2);
    for kind in [Kind::Float, Kind::BFloat16] {
        let mut weights = crate::learn::torch::families::Weights::new(net.layout(), Device::Cpu, kind, 1);
        let before = net.forward(&weights, &planes, false);
        _ = tch::no_grad(|| weights.flat.g_mul_scalar_(1.5));
        weights.refresh();
        let after = net.forward(&weights, &planes, false);
        for (a, b) in [(&before.policy, &after.policy), (&before.wdl, &after.wdl)] {
            assert!((&a[0] - &b[0]).abs().max().double_value(&[]) > 1e-3, "{kind:?}");
        }
    }
}

#[test]
fn the_gradient_is_laid_out_like_the_parameters() {
    let config = tiny();
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    // Three steps first, because the initial zero scale of each block hides the gradient of its kernels.
    for _ in 0..3 {
        learner.step(&[opera()], 1e-3);
    }
    let planes = some_planes(4);
    let loss = |learner: &Learner| {
        let output = learner.net.forward(&learner.weights, &planes, false);
        output.policy[0].square().mean(Kind::Float) + output.wdl[0].square().mean(Kind::Float)
    };
    let gradient = learner.weights.gradient(&loss(&learner));
    // To first order the loss falls by the squared norm of the gradient times the step size.
    let before = loss(&learner).double_value(&[]);
    let rate = 1e-3;
    _ = tch::no_grad(|| learner.weights.flat.g_sub_(&(&gradient * rate)));
    learner.weights.refresh();
    let fell = before - loss(&learner).double_value(&[]);
    let expected = rate * gradient.square().sum(Kind::Float).double_value(&[]);
    assert!((fell / expected - 1.0).abs() < 0.1, "fell {fell}, expected {expected}");
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let mut config = tiny();
    resnet(&mut config).value_dropout = 0.3;
    config.swa_from = 0.4;
    config.accumulation = 2;
    config.samples = 440;
    let held_out = held_out();
    let reference = || {
        let other = Learner::new(&TrainConfig { seed: 99, ..config.clone() }, Device::Cpu).unwrap();
        Some(Reference::new(other.weights, ReferenceConfig::default()))
    };
    let whole = fresh_folder("whole");
    let mut run = TorchRun::start(open(&whole), &config, Device::Cpu, None).unwrap();
    run.learner.reference = reference();
    assert_eq!(run.train(&mut CyclingFeed::new(11, 0), &held_out, &|_| false).unwrap(), TrainEnd::Finished);
    let (expected, drift) = (numbers(&run.learner.weights.flat), run.learner.drift.mean());
    assert!(drift.kl > Some(0.0) && drift.weight > Some(0.0) && drift.lost == 0, "{drift:?}");
    drop(run);

    let halves = fresh_folder("halves");
    let mut run = TorchRun::start(open(&halves), &config, Device::Cpu, None).unwrap();
    run.learner.reference = reference();
    // Step 13 is between two reports.
    let stop = |progress: &TrainProgress| progress.step == 13;
    assert_eq!(run.train(&mut CyclingFeed::new(11, 0), &held_out, &stop).unwrap(), TrainEnd::Stopped);
    drop(run);
    let mut run = TorchRun::resume(open(&halves), &config, Device::Cpu).unwrap();
    run.learner.reference = reference();
    assert_eq!(run.progress.step, 13);
    let next = run.learner.position.as_u64().unwrap() as usize;
    assert_eq!(
        run.train(&mut CyclingFeed::new(11, next), &held_out, &|_| false).unwrap(),
        TrainEnd::Finished
    );

    assert_eq!(numbers(&run.learner.weights.flat), expected);
    assert_eq!(run.learner.drift.mean(), drift, "of the whole run");
    assert_eq!(policy_losses(&halves), policy_losses(&whole));
    assert_eq!(policy_losses(&whole).len(), 4);
    assert_eq!(std::fs::read_dir(whole.join("tensorboard")).unwrap().count(), 1);
    assert!(folder::best_or_last(&whole).unwrap().ends_with("checkpoints/best.safetensors"));
    drop(run);
    assert!(
        TorchRun::start(open(&whole), &config, Device::Cpu, None)
            .err()
            .unwrap()
            .to_string()
            .contains("--resume")
    );
    for folder in [whole, halves] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_report_counts_the_time_of_its_last_step() {
    /// Takes a while for each batch.
    struct SlowFeed(CyclingFeed);
    const WHILE: Duration = Duration::from_millis(20);
    impl Feed for SlowFeed {
        type Batch = Batch;

        fn next_batch(&mut self) -> Result<Batch> {
            let start = Instant::now();
            while start.elapsed() < WHILE {
                std::hint::spin_loop();
            }
            self.0.next_batch()
        }
        fn again(&mut self, origins: &[Origin]) -> Result<Batch> {
            self.0.again(origins)
        }
        fn position(&self) -> serde_json::Value {
            self.0.position()
        }
    }
    let folder = fresh_folder("times");
    let config = TrainConfig { report_every: 1, ..tiny() };
    let mut run = TorchRun::start(open(&folder), &config, Device::Cpu, None).unwrap();
    let mut feed = SlowFeed(CyclingFeed::new(11, 0));
    run.train(&mut feed, &HeldOut::default(), &|progress| progress.step == 1).unwrap();
    drop(run);
    let mut run = TorchRun::resume(open(&folder), &config, Device::Cpu).unwrap();
    run.train(&mut feed, &HeldOut::default(), &|progress| progress.step == 2).unwrap();
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let rates = text.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["samples_per_s"].as_f64().unwrap()
    });
    let most = 11.0 / WHILE.as_secs_f64() + 0.1;
    assert_eq!(rates.filter(|rate| *rate <= most).count(), 2, "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn fp16_learns_with_scaled_losses() {
    let mut learner =
        Learner::new(&TrainConfig { precision: Precision::Fp16, ..tiny() }, Device::Cpu).unwrap();
    let mut losses = Vec::new();
    for _ in 0..3 {
        for _ in 0..20 {
            learner.step(&[opera()], 3e-3);
        }
        losses.push(learner.report());
    }
    assert!(losses[2].skipped < 20, "{losses:?}");
    assert!(losses[2].measures.policy_loss < losses[0].measures.policy_loss - 0.2, "{losses:?}");
}

#[test]
fn resuming_a_finished_run_changes_nothing() {
    let config = TrainConfig { samples: 77, ..tiny() };
    let folder = fresh_folder("finished");
    let mut run = TorchRun::start(open(&folder), &config, Device::Cpu, None).unwrap();
    run.train(&mut CyclingFeed::new(11, 0), &held_out(), &|_| false).unwrap();
    let metrics = || std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let before = metrics();
    drop(run);
    let mut run = TorchRun::resume(open(&folder), &config, Device::Cpu).unwrap();
    assert_eq!(
        run.train(&mut CyclingFeed::new(11, 77), &held_out(), &|_| false).unwrap(),
        TrainEnd::Finished
    );
    assert_eq!(metrics(), before);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn accumulated_batches_equal_one_batch() {
    let mut config = TrainConfig { clip: 0.0, ..tiny() };
    // BatchNorm would use the statistics of two halves instead of the whole.
    resnet(&mut config).norm = serde_json::from_value("group".into()).unwrap();
    let flat = |batches: &[Batch]| {
        let mut learner = Learner::new(&config, Device::Cpu).unwrap();
        learner.step(batches, 1e-3);
        let report = learner.report();
        assert_eq!(report.skipped, 0);
        (numbers(&learner.optimiser.first), report.measures.policy_loss)
    };
    let mut feed = CyclingFeed::new(11, 0);
    let parts: Vec<Batch> = (0..3).map(|_| feed.next_batch().unwrap()).collect();
    let (whole, loss) = flat(&[opera()]);
    let (accumulated, same_loss) = flat(&parts);
    assert!((loss - same_loss).abs() < 1e-5);
    for (a, b) in whole.iter().zip(&accumulated) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn stochastic_weight_averaging_is_the_mean_of_the_following_weights() {
    let mut learner = Learner::new(&tiny(), Device::Cpu).unwrap();
    learner.step(&[opera()], 1e-2);
    let mut progress = TrainProgress::default();
    let mut sum = learner.weights.flat.zeros_like();
    for _ in 0..3 {
        learner.step(&[opera()], 1e-2);
        progress.start_swa();
        learner.average(progress.average_update(&tiny().run(), 1).unwrap());
        sum += learner.weights.flat.detach();
    }
    let difference = (sum / 3.0 - &learner.averaged.flat).abs().max().double_value(&[]);
    assert!(difference < 1e-6, "{difference}");
}

#[test]
fn each_part_of_a_run_is_averaged_over_its_own_end() {
    let held_out = held_out();
    let folder = fresh_folder("parts");
    let parts = [8, 16].map(|steps| TrainConfig { swa_from: 0.5, samples: 11 * steps, ..tiny() });
    let mut run = TorchRun::start(open(&folder), &parts[0], Device::Cpu, None).unwrap();
    run.begin_part(0);
    run.train(&mut CyclingFeed::new(11, 0), &held_out, &|_| false).unwrap();
    drop(run);
    let mut run = TorchRun::resume(open(&folder), &parts[1], Device::Cpu).unwrap();
    assert_eq!((run.progress.step, run.progress.swa_steps), (8, 5));
    // The mean of the weights after the last four of the second part's eight steps.
    let mut sum = run.learner.weights.flat.zeros_like();
    for step in 12..=16 {
        let stop = |progress: &TrainProgress| progress.step == step;
        run.begin_part(8);
        run.train(&mut CyclingFeed::new(11, 0), &held_out, &stop).unwrap();
        assert_eq!(
            (run.progress.step, run.progress.swa_steps),
            (step, if step == 12 { 0 } else { step - 11 })
        );
        if step > 12 {
            sum += run.learner.weights.flat.detach();
        }
        // A resumed run is still in the same part.
        drop(run);
        run = TorchRun::resume(open(&folder), &parts[1], Device::Cpu).unwrap();
    }
    let difference = (sum / 4.0 - &run.learner.averaged.flat).abs().max().double_value(&[]);
    assert!(difference < 1e-6, "{difference}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn hard_captures_are_replayed_and_survive_a_resumption() {
    let mut config = tiny();
    config.tactical_replay = crate::config::TacticalReplay { share: 0.4, capacity: 8, threshold: 1.0 };
    // Four of eleven samples are replayed once the buffer has that many.
    let fresh = config.new_samples();
    assert_eq!(fresh, 7);
    let held_out = held_out();
    let whole = fresh_folder("hard-whole");
    let mut run = TorchRun::start(open(&whole), &config, Device::Cpu, None).unwrap();
    run.train(&mut CyclingFeed::new(fresh, 0), &held_out, &|_| false).unwrap();
    let kept = run.learner.hard.len();
    assert!((1..=8).contains(&kept), "{kept}");
    assert!(run.progress.samples > run.progress.step * 10, "batches are filled up: {:?}", run.progress);

    let halves = fresh_folder("hard-halves");
    let mut run = TorchRun::start(open(&halves), &config, Device::Cpu, None).unwrap();
    run.train(&mut CyclingFeed::new(fresh, 0), &held_out, &|progress| progress.step == 6).unwrap();
    drop(run);
    let mut run = TorchRun::resume(open(&halves), &config, Device::Cpu).unwrap();
    let next = run.learner.position.as_u64().unwrap() as usize;
    run.train(&mut CyclingFeed::new(fresh, next), &held_out, &|_| false).unwrap();
    assert_eq!(policy_losses(&halves), policy_losses(&whole));
    for folder in [whole, halves] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn elastic_weight_consolidation_keeps_an_earlier_task() {
    let config = TrainConfig { clip: 0.0, weight_decay: 0.0, ..tiny() };
    let held =
        TrainConfig { ewc: crate::config::EwcConfig { weight: 1e4, ..Default::default() }, ..config.clone() };
    let [first, second] = [0, 1].map(|half| {
        let mut feed = CyclingFeed::new(16, 16 * half);
        feed.next_batch().unwrap()
    });
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    for step in 0..60 {
        learner.step(std::slice::from_ref(&first), config.learning_rate(step, 0.0) * 2.0);
    }
    let loss_after = |is_held: bool| {
        let mut next = Learner::new(&config, Device::Cpu).unwrap();
        next.weights.assign(&learner.weights.flat, &learner.weights.stats);
        next.averaged.assign(&learner.weights.flat, &learner.weights.stats);
        if is_held {
            let batches = std::slice::from_ref(&first);
            next.elastic = Some(ElasticPenalty::measure(&next.net, &next.weights, batches, &held));
        }
        for _ in 0..40 {
            next.step(std::slice::from_ref(&second), 2e-3);
        }
        next.averaged.assign(&next.weights.flat, &next.weights.stats);
        next.validate(&held_out_game(first.clone())).all.measures.policy_loss
    };
    let (free, held) = (loss_after(false), loss_after(true));
    assert!(held < free - 0.1, "the old task's loss: {held} held, {free} free");
}

#[test]
fn a_plateau_lowers_the_learning_rate_and_then_ends_the_run() {
    let overrides =
        ["schedule=plateau", "plateau_patience=2", "early_stop=4", "lr=1e-9", "min_lr=1e-11", "samples=2200"];
    let mut config = tiny();
    let text = serde_json::to_string(&config).unwrap();
    config = TrainConfig::parse(&text, &overrides.map(str::to_owned)).unwrap();
    // The weights hardly change, so no validation improves.
    let folder = fresh_folder("plateau");
    let held_out = held_out();
    let mut run = TorchRun::start(open(&folder), &config, Device::Cpu, None).unwrap();
    run.progress.best = Some(0.0);
    assert_eq!(run.train(&mut CyclingFeed::new(11, 0), &held_out, &|_| false).unwrap(), TrainEnd::Finished);
    assert_eq!((run.progress.step, run.progress.since_best), (40, 4));
    assert_eq!(run.progress.plateau.factor, 0.25);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn checkpoints_read_back_the_same_and_small_ones_start_another_run() {
    let config = tiny();
    let folder = fresh_folder("checkpoint");
    std::fs::create_dir_all(&folder).unwrap();
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    let learn = |learner: &mut Learner| {
        learner.step(&[opera()], 1e-3);
        learner.average(AverageUpdate::Towards(0.1));
    };
    (0..3).for_each(|_| learn(&mut learner));
    let progress = TrainProgress { step: 3, samples: 99, ..TrainProgress::default() };
    let full = folder.join("full.safetensors");
    checkpoint::save(&full, &learner, &config, &progress, 7.into()).unwrap();
    let read = Checkpoint::load(&full).unwrap();
    assert_eq!((&read.config, &read.progress), (&config, &progress));
    let mut other = Learner::new(&TrainConfig { seed: 2, ..config.clone() }, Device::Cpu).unwrap();
    read.restore(&mut other).unwrap();
    assert_eq!(other.position, 7);
    learn(&mut learner);
    learn(&mut other);
    assert_eq!(numbers(&other.weights.flat), numbers(&learner.weights.flat));
    assert_eq!(numbers(&other.averaged.stats), numbers(&learner.averaged.stats));

    let small = folder.join("small.safetensors");
    checkpoint::save_weights(&small, &learner.averaged, &config, &progress).unwrap();
    let run = TorchRun::start(open(&folder.join("next")), &config, Device::Cpu, Some(&small)).unwrap();
    assert_eq!(numbers(&run.learner.weights.flat), numbers(&learner.averaged.flat));
    assert!(
        Checkpoint::load(&small)
            .unwrap()
            .restore(&mut other)
            .unwrap_err()
            .to_string()
            .contains("ema/stem.conv.weight is missing")
    );

    let mut bytes = std::fs::read(&full).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&full, bytes).unwrap();
    assert!(Checkpoint::load(&full).err().unwrap().to_string().contains("full.safetensors"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_batch_that_is_not_finite_changes_nothing_and_many_end_the_run() {
    let config = tiny();
    let mut learner = Learner::new(&config, Device::Cpu).unwrap();
    learner.step(&[opera()], 1e-3);
    let (flat, stats) = (numbers(&learner.weights.flat), numbers(&learner.weights.stats));
    let mut bad = opera();
    bad.scalars[0] = f32::NAN;
    learner.step(std::slice::from_ref(&bad), 1e-3);
    assert_eq!(numbers(&learner.weights.flat), flat);
    assert_eq!(numbers(&learner.weights.stats), stats);
    let report = learner.report();
    assert_eq!(report.skipped, 1);
    assert!(report.measures.policy_loss.is_finite());

    struct NotFiniteFeed(Batch);
    impl Feed for NotFiniteFeed {
        type Batch = Batch;

        fn next_batch(&mut self) -> Result<Batch> {
            Ok(self.0.clone())
        }
        fn again(&mut self, _: &[Origin]) -> Result<Batch> {
            unreachable!("no replay")
        }
        fn position(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
    }
    let folder = fresh_folder("broken");
    let config = TrainConfig { samples: 10_000, ..config };
    let mut run = TorchRun::start(open(&folder), &config, Device::Cpu, None).unwrap();
    let error = run.train(&mut NotFiniteFeed(bad), &HeldOut::default(), &|_| false).unwrap_err();
    assert!(matches!(error, TrainError::NotFinite(steps) if steps > 10), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
