//! The family `sparse` needs no libtorch.

use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use engine::base::words::counted;
use engine::nets::eval::Evaluator;
use engine::nets::onnx::OnnxSparseEvaluator;
use engine::nets::sparse::SparseNetwork;
use serde_json::Value;

use super::train::{TrainOutcome, Trained};
use super::{ExportArgs, LrFinderArgs, OverfitArgs, TrainArgs, VerifyArgs};
use crate::base::files::{make_folder_of, write_file};
use crate::base::progress::grouped;
use crate::config::SparseTrainConfig;
use crate::judge::export::{
    INTEGER_TOLERANCE, OnnxStorage, SparseDifference, TOLERANCE, compare_sparse, sparse_onnx,
};
use crate::learn::run::{self, RangeTestStep, lr_range_test};
use crate::learn::sparse::{
    self, InitialWeights, SparseCheckpoint, SparseGames, SparseModel, SparseRun, SparseSamples,
    SparseTrainer, choose, run_of,
};

const VERIFIED: usize = 32;

pub(super) fn train(args: &TrainArgs, mut config: SparseTrainConfig) -> Result<Trained> {
    ensure!(args.cache.is_none(), "--cache: the family sparse keeps its games in memory");
    let stop = super::interrupt::flag()?;
    let folder = args.folder(&stop)?;
    let games = SparseGames::load(&config)?;
    games.resolve_epochs(&mut config);
    let SparseGames { train, held_out } = games;
    let mut run = if args.resume {
        SparseRun::resume(folder, &config)?
    } else {
        let init = match &args.init {
            None => InitialWeights::Random,
            Some(file) => {
                let before = validation_percent(file);
                let seen = before.and_then(|before| run::seen_before(before, config.validation_percent));
                if let Some(why) = seen {
                    log::warn!("{why}");
                }
                InitialWeights::Trained(SparseModel::load(file)?)
            }
        };
        if let Some(why) = args.init.as_ref().and_then(|_| run::little_averaged(&config.run())) {
            log::warn!("{why}");
        }
        SparseRun::start(folder, &config, init)?
    };
    if let Some(why) = run.complete().filter(|_| args.resume) {
        return Ok(Trained { outcome: args.complete(why, config.epochs), checkpoint: run.result() });
    }
    let (count, threads) = (run.learner.parameters(), config.thread_count());
    let threads = counted(threads, "thread");
    log::info!("{count} parameters, {threads}, run {}", args.run.display());
    let mut feed = run.learner.feed(train)?;
    let end = run.train(&mut feed, &held_out, &|_| stop.load(Ordering::Relaxed))?;
    Ok(Trained { outcome: TrainOutcome::Ended(end), checkpoint: run.result() })
}

/// Writes fp32 and integer files, after both are read as by the engine, which checks weights and golden outputs.
pub(super) fn export(args: &ExportArgs) -> Result<()> {
    ensure!(args.unroll.is_none(), "--unroll does not apply to the family sparse");
    let checkpoint = SparseCheckpoint::read(&args.checkpoint)?;
    let (config, progress) = run_of(&checkpoint)?;
    let config = serde_json::to_string(&config.without_folders())?;
    let mut network = if args.averaged { checkpoint.average.clone() } else { checkpoint.network.clone() };
    if let Some((file, share)) = &args.mean_with {
        let other = SparseModel::load(file)?;
        let fits = other.shape == network.shape;
        ensure!(
            fits,
            "--mean-with {}: its layers have other sizes than those of --checkpoint",
            file.display()
        );
        network.approach(&other, *share);
    }
    if let Some(factor) = args.value_scale {
        network.scale_value(factor);
    }
    if let Some(file) = &args.policy {
        let with_policy = network.with_policy_of(SparseModel::load(file)?);
        network =
            with_policy.with_context(|| format!("--policy {}: a policy of other sizes", file.display()))?;
    }
    let stem = args.out.file_stem();
    let stem = stem.with_context(|| format!("{} does not name a file", args.out.display()))?;
    let name = args.name.clone().unwrap_or_else(|| stem.to_string_lossy().into_owned());
    let integers = args.out.with_extension("int8.onnx");
    let mut files = Vec::new();
    for (storage, path) in [(OnnxStorage::Float, &args.out), (OnnxStorage::Integer, &integers)] {
        let bytes = sparse_onnx(&name, &network, &config, storage);
        let scaled = || args.value_scale.map_or(String::new(), |factor| format!(", --value-scale {factor}"));
        SparseNetwork::read(&bytes).with_context(|| format!("{}{}", path.display(), scaled()))?;
        files.push((path, bytes));
    }
    make_folder_of(&args.out)?;
    let samples = progress.samples;
    let learnt = if samples > 0 { format!(", {}", grouped(samples, "sample")) } else { String::new() };
    for (path, bytes) in files {
        write_file(path, &bytes)?;
        let size = bytes.len() as f64 / 1e6;
        say!("{}: {name}, family sparse, {size:.1} MB{learnt}", path.display());
    }
    if let Some(path) = &args.weights {
        make_folder_of(path)?;
        SparseCheckpoint { average: network, ..checkpoint }.write_weights(path)?;
    }
    Ok(())
}

pub(super) fn overfit(args: &OverfitArgs, config: &SparseTrainConfig) -> Result<String> {
    let games = SparseGames::load(config)?;
    let mut samples = SparseSamples::default();
    // More than requested, since some may be equal.
    games
        .train
        .iter()
        .filter(|source| source.teacher.is_none())
        .for_each(|source| samples.append(choose(&source.games, 4 * args.samples, &source.recipe, 1)));
    samples.shuffle(&mut fastrand::Rng::with_seed(config.seed));
    samples.keep_distinct(args.samples);
    let count = samples.len();
    ensure!(count == args.samples, "the games have only {count} distinct positions: use fewer --samples");
    args.show(config, |curve| sparse::overfit(config, samples, args.steps, args.loss, curve))
}

pub(super) fn lr_range(
    args: &LrFinderArgs,
    config: &SparseTrainConfig,
    observer: &dyn Fn(&RangeTestStep),
) -> Result<Vec<RangeTestStep>> {
    let mut learner = SparseTrainer::new(config, SparseModel::new(config.shape(), config.seed));
    let mut feed = learner.feed(SparseGames::load(config)?.train)?;
    let value_weight = config.run().value_weight;
    lr_range_test(&mut learner, &mut feed, value_weight, [args.from, args.to], args.steps, observer)
}

/// `None` if the file does not tell.
fn validation_percent(path: &Path) -> Option<u64> {
    let checkpoint =
        SparseCheckpoint::recognises(path).then(|| SparseCheckpoint::read(path).ok()).flatten()?;
    let state: Value = serde_json::from_str(&checkpoint.state).ok()?;
    state["config"]["validation_percent"].as_u64()
}

/// Compares a network, in ONNX Runtime and in the engine's integers, with its checkpoint in fp32.
pub(super) fn verify(args: &VerifyArgs) -> Result<()> {
    ensure!(args.steps.is_none(), "--steps does not apply to the family sparse");
    let checkpoint = SparseCheckpoint::read(&args.checkpoint)?;
    let model = if args.averaged { &checkpoint.average } else { &checkpoint.network };
    let place = || args.net.display().to_string();
    let network = SparseNetwork::load(&args.net).with_context(place)?;
    let bytes = std::fs::read(&args.net).with_context(place)?;
    let mut reference = OnnxSparseEvaluator::open(&bytes, VERIFIED).with_context(place)?;
    let positions = args.positions()?;
    say!("{}, largest differences of probabilities:", counted(positions.len(), "position"));
    let tolerance = if reference.precision() == "fp32" { TOLERANCE } else { INTEGER_TOLERANCE };
    let runs: [(&str, &mut dyn Evaluator, f32); 2] = [
        ("in ONNX Runtime", &mut reference, tolerance),
        ("in the engine's integers", &mut network.evaluator(), INTEGER_TOLERANCE),
    ];
    for (how, evaluator, tolerance) in runs {
        let difference = compare_sparse(model, evaluator, &positions)?;
        let SparseDifference { policy, wdl } = difference;
        say!("  policy {policy:.1e}, WDL {wdl:.1e} {how}");
        // `<=`, so that NaN fails too.
        ensure!(
            difference.worst() <= tolerance,
            "the network file differs from the checkpoint by more than {tolerance} {how}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::ChunkWriter;
    use crate::data::record::{GameRecord, GameResult};
    use crate::learn::run::{RunFolder, TrainEnd, TrainProgress};
    use engine::chess::position::{Game, PackedMove};

    fn write_games(folder: &Path) {
        let mut writer = ChunkWriter::new(folder, "games", "a test", 1_000_000).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        for number in 0..60 {
            let mut game = Game::new();
            let mut moves = Vec::new();
            for _ in 0..rng.usize(8..20) {
                let m = rng.choice(game.legal_moves()).unwrap();
                game.play(m);
                moves.push(PackedMove::new(m));
            }
            let result = GameResult::from_code(number % 3 - 1).unwrap();
            let evals = (0..moves.len()).map(|_| rng.i16(-200..200)).collect();
            writer.push(&GameRecord { moves, result, evals, ..GameRecord::default() }).unwrap();
        }
        writer.finish().unwrap();
    }

    #[test]
    fn a_game_of_two_sources_belongs_to_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_games(&at(""));
        let source = |name: &str| serde_json::json!({ "name": name, "paths": [at("games-*.h5")] });
        let config = serde_json::json!({ "sources": [source("first"), source("second")] });
        std::fs::write(at("config.json"), config.to_string()).unwrap();
        let config = SparseTrainConfig::load(&[at("config.json")], &[]).unwrap();
        let error = SparseGames::load(&config).unwrap_err().to_string();
        assert!(error.starts_with("source second: no training games (0 were excluded"), "{error}");
        assert!(error.contains(" 60 are in the sources before it"), "{error}");
    }

    /// For a run of twenty steps.
    fn small_config(folder: &Path, overrides: &[String]) -> SparseTrainConfig {
        write_games(folder);
        let config = serde_json::json!({
            "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
            "sources": [{ "name": "games", "paths": [folder.join("games-*.h5")], "stride": 2 }],
            "batch": 32, "block": 4, "samples": 640, "lr": 0.01, "warmup_samples": 0, "threads": 2,
            "validation_percent": 20, "validate_every": 5, "report_every": 4, "validation_samples": 50
        });
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        SparseTrainConfig::load(&[folder.join("config.json")], overrides).unwrap()
    }

    #[test]
    fn averaged_weights_go_on_from_trained_ones_and_forget_others() {
        let folder = tempfile::tempdir().unwrap();
        let overrides = ["samples=1024", "average_samples=1000000000"].map(str::to_owned);
        let config = small_config(folder.path(), &overrides);
        let first = SparseModel::new(config.shape(), 7);
        let train = |name: &str, init: InitialWeights| {
            let run_folder = RunFolder::open(&folder.path().join(name)).unwrap();
            let mut run = SparseRun::start(run_folder, &config, init).unwrap();
            let SparseGames { train, held_out } = SparseGames::load(&config).unwrap();
            let mut feed = run.learner.feed(train).unwrap();
            assert_eq!(run.train(&mut feed, &held_out, &|_| false).unwrap(), TrainEnd::Finished);
            SparseCheckpoint::read(&folder.path().join(name).join("checkpoints/last.safetensors")).unwrap()
        };
        let apart = |a: &SparseModel, b: &SparseModel| -> f32 {
            let pairs = a.tensors().into_iter().zip(b.tensors());
            pairs.flat_map(|(a, b)| a.w.iter().zip(&b.w)).map(|(a, b)| (a - b).abs()).sum()
        };
        let random = train("random", InitialWeights::Untrained(first.clone()));
        let learnt = apart(&random.network, &first);
        assert!(learnt > 0.0 && apart(&random.average, &random.network) < 1e-5 * learnt);
        let trained = train("trained", InitialWeights::Trained(first.clone()));
        assert_eq!(trained.network, random.network);
        assert!(apart(&trained.average, &first) < 1e-3 * learnt);
    }

    #[test]
    fn a_network_is_trained_resumed_exported_and_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let config = small_config(&at(""), &[]);
        let games = || SparseGames::load(&config).unwrap();

        let whole = at("whole");
        let open = |folder: &Path| RunFolder::open(folder).unwrap();
        let start = |folder: &Path| SparseRun::start(open(folder), &config, InitialWeights::Random);
        let train = |run: &mut SparseRun, stop: &dyn Fn(&TrainProgress) -> bool| {
            let SparseGames { train, held_out } = games();
            let mut feed = run.learner.feed(train).unwrap();
            run.train(&mut feed, &held_out, stop).unwrap()
        };
        assert_eq!(train(&mut start(&whole).unwrap(), &|_| false), TrainEnd::Finished);
        let occupied = start(&whole).err().unwrap().to_string();
        assert!(occupied.contains("already contains a run"), "{occupied}");

        // Stopped after seven steps, in the middle of a block, and resumed with another number of threads.
        let parts = at("parts");
        assert_eq!(train(&mut start(&parts).unwrap(), &|progress| progress.step == 7), TrainEnd::Stopped);
        let more = SparseTrainConfig { threads: 1, ..config.clone() };
        let mut run = SparseRun::resume(open(&parts), &more).unwrap();
        assert_eq!((run.progress.step, run.progress.samples), (7, 7 * 32));
        assert_eq!(train(&mut run, &|_| false), TrainEnd::Finished);
        drop(run);
        let read = |run: &Path| SparseCheckpoint::read(&run.join("checkpoints/last.safetensors")).unwrap();
        assert_eq!(read(&parts).network, read(&whole).network);
        assert_eq!(
            read(&parts).average.tensors().map(|t| &t.w),
            read(&whole).average.tensors().map(|t| &t.w)
        );

        let lines = |run: &Path| -> Vec<serde_json::Value> {
            let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
            let timeless = |line: &str| {
                let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
                for key in ["time_s", "samples_per_s"] {
                    line.as_object_mut().unwrap().remove(key);
                }
                line
            };
            text.lines().map(timeless).collect()
        };
        assert_eq!(lines(&parts), lines(&whole));
        assert_eq!(lines(&whole).len(), 5 + 4);
        let held_out = &lines(&whole)[8];
        assert_eq!(held_out["validation"], held_out["sources"]["games"]);
        for key in ["policy_loss", "wdl_loss", "top1", "top5"] {
            assert!(held_out["validation"][key].is_f64(), "{held_out}");
            assert_eq!(held_out["validation"][key], held_out["phases"]["opening"][key], "short games");
        }
        assert!(held_out["reliability"]["win"]["bins"].as_array().is_some_and(|bins| !bins.is_empty()));
        assert!(whole.join("tensorboard").read_dir().unwrap().next().is_some());
        let losses: Vec<f64> = lines(&whole).iter().filter_map(|line| line["policy_loss"].as_f64()).collect();
        assert!(losses[4] < losses[0], "{losses:?}");

        let other = SparseTrainConfig { batch: 16, ..config.clone() };
        let leaking = SparseTrainConfig { validation_percent: 10, ..config.clone() };
        let error = SparseRun::resume(open(&parts), &leaking).err().unwrap().to_string();
        assert!(error.contains("was 20 and cannot become 10") && error.contains("held-out games"), "{error}");
        let error = SparseRun::resume(open(&parts), &other).err().unwrap().to_string();
        assert!(error.contains("batch cannot be changed"), "{error}");
        // `rl`, where each iteration has another seed, refuses a new batch size only until the samples are learnt.
        let error = SparseRun::go_on(open(&parts), &other).err().unwrap().to_string();
        assert!(
            error.starts_with("batch was ") && error.ends_with("--set train.batch=32, and change it later"),
            "{error}"
        );
        SparseRun::go_on(open(&parts), &SparseTrainConfig { seed: other.seed + 1, ..other }).unwrap();

        let args = ExportArgs {
            checkpoint: parts.join("checkpoints/last.safetensors"),
            out: at("nets/mine.onnx"),
            policy: None,
            mean_with: None,
            value_scale: None,
            name: None,
            averaged: true,
            unroll: None,
            weights: Some(at("nets/mine.safetensors")),
        };
        args.run().unwrap();
        // A refused export leaves what is there.
        let mut unfit = read(&parts);
        unfit.average.rows_a.w[0] = 5.0;
        unfit.write(&at("unfit.safetensors")).unwrap();
        let both = || ["nets/mine.onnx", "nets/mine.int8.onnx"].map(|name| std::fs::read(at(name)).unwrap());
        let before = both();
        let refused = ExportArgs {
            checkpoint: at("unfit.safetensors"),
            value_scale: Some(4.0),
            weights: None,
            ..args.clone()
        };
        let error = format!("{:#}", refused.run().unwrap_err());
        assert!(error.contains("mine.onnx, --value-scale 4: rows_a is too large"), "{error}");
        assert!(both() == before);
        // A file with only weights, as `rl` writes, can be exported too.
        let weights = SparseCheckpoint {
            state: String::new(),
            ..SparseCheckpoint::read(&at("nets/mine.safetensors")).unwrap()
        };
        weights.write_weights(&at("nets/alone.safetensors")).unwrap();
        let (checkpoint, out) = (at("nets/alone.safetensors"), at("nets/alone.onnx"));
        ExportArgs { checkpoint, out, weights: None, ..args.clone() }.run().unwrap();
        assert_eq!(
            SparseModel::load(&at("nets/alone.onnx")).unwrap(),
            SparseModel::load(&at("nets/mine.onnx")).unwrap()
        );
        let init = SparseModel::load(&at("nets/mine.safetensors")).unwrap();
        assert_eq!(&init, &read(&parts).average);
        let trained = InitialWeights::Trained(init.clone());
        let begun = SparseRun::start(open(&at("more")), &config, trained.clone()).unwrap();
        assert_eq!(begun.learner.averaged(), &init);
        let wider = SparseTrainConfig::load(&[at("config.json")], &["model.value=128".to_owned()]).unwrap();
        let begun = SparseRun::start(open(&at("wider")), &wider, trained).unwrap();
        assert_eq!(begun.learner.averaged().shape, wider.shape());
        let narrower = InitialWeights::Trained(begun.learner.averaged().clone());
        let error = SparseRun::start(open(&at("narrower")), &config, narrower).err().unwrap().to_string();
        assert!(error.contains("other sizes"), "{error}");
        for name in ["nets/mine.onnx", "nets/mine.int8.onnx"] {
            let network = SparseNetwork::load(&at(name)).unwrap();
            assert_eq!(network.name(), "mine");
            let verify = |averaged| {
                verify(&VerifyArgs {
                    net: at(name),
                    checkpoint: args.checkpoint.clone(),
                    averaged,
                    games: None,
                    steps: None,
                    positions: 50,
                })
            };
            verify(true).unwrap();
            if name == "nets/mine.onnx" {
                let error = verify(false).unwrap_err().to_string();
                assert!(error.contains("differs from the checkpoint by more than 0.0001 in ONNX"), "{error}");
            }
        }
    }
}
