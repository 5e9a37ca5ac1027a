//! `train` and `export` for networks of the family `sparse`, which need no libtorch.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, ensure};
use clap::{ArgAction, Args};
use engine::sparse::SparseNetwork;

use super::VerifyArgs;
#[cfg(not(feature = "libtorch"))]
use super::torch::needs_libtorch;
use crate::config::layers;
use crate::export::{INTEGER_TOLERANCE, OnnxStorage, SparseDifference, compare_sparse, sparse_onnx};
use crate::files::{make_folder_of, write_file};
use crate::sparse::{SparseCheckpoint, SparseGames, SparseRun, SparseTrainConfig, run_of};

/// Train a network of the family `sparse` on files of games (the other families need libtorch, which is not in this
/// build)
#[derive(Args, Debug)]
pub struct SparseTrainArgs {
    /// Configuration (JSON); with --resume it is merged over RUN/config.json
    #[arg(long)]
    pub(super) config: Option<PathBuf>,
    /// Override a key of the configuration, e.g. model.policy=1536
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Folder of the run
    #[arg(long, default_value = "runs/default")]
    pub(super) run: PathBuf,
    /// Resume from the run's last checkpoint
    #[arg(long)]
    pub(super) resume: bool,
}

impl SparseTrainArgs {
    /// Runs the command, if the configuration is of another family with an error. Ctrl-C writes a checkpoint and ends
    /// the run; a second Ctrl-C ends it immediately.
    ///
    /// # Errors
    ///
    /// The configuration or the games are invalid, or [`SparseRun::train`] fails.
    #[cfg(not(feature = "libtorch"))]
    pub fn run(&self) -> Result<()> {
        if self.is_meant()? { self.train() } else { needs_libtorch() }
    }

    /// The configuration's files.
    fn files(&self) -> Result<Vec<PathBuf>> {
        layers::files(self.resume.then_some(&*self.run), false, self.config.as_deref())
    }

    /// Whether the configuration is of the family `sparse`.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn is_meant(&self) -> Result<bool> {
        SparseTrainConfig::is_meant_by(&self.files()?, &self.set)
    }

    /// Trains.
    ///
    /// # Errors
    ///
    /// The configuration or the games are invalid, or [`SparseRun::train`] fails.
    pub(super) fn train(&self) -> Result<()> {
        let config = SparseTrainConfig::load(&self.files()?, &self.set)?;
        let stop = super::interrupt::flag()?;
        let start = if self.resume { SparseRun::resume } else { SparseRun::start };
        let mut run = start(&self.run, &config)?;
        let (count, threads) = (run.parameters(), config.thread_count());
        log::info!("{count} parameters, {threads} threads, run {}", self.run.display());
        let finished = run.train(SparseGames::load(&config)?, &|| stop.load(Ordering::Relaxed))?;
        let how = if finished { "finished:" } else { "stopped:" };
        println!("{how} {}", self.run.join("checkpoints/last.safetensors").display());
        Ok(())
    }
}

/// Export a checkpoint of the family `sparse` as a network that the engine plays (the other families need libtorch,
/// which is not in this build)
#[derive(Args, Debug)]
pub struct SparseExportArgs {
    /// The checkpoint
    #[arg(long)]
    pub(super) checkpoint: PathBuf,
    /// The network file to write; the same network in integers is written beside it as NAME.int8.onnx
    #[arg(long)]
    pub(super) out: PathBuf,
    /// Name of the network [default: the name of the file]
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Export the averaged weights
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(super) averaged: bool,
}

impl SparseExportArgs {
    /// Runs the command, if the checkpoint is of another family with an error.
    ///
    /// # Errors
    ///
    /// See [`SparseExportArgs::export`].
    #[cfg(not(feature = "libtorch"))]
    pub fn run(&self) -> Result<()> {
        if self.is_meant() || !self.checkpoint.exists() { self.export() } else { needs_libtorch() }
    }

    /// Whether the checkpoint is of the family `sparse`.
    pub(super) fn is_meant(&self) -> bool {
        SparseCheckpoint::recognises(&self.checkpoint)
    }

    /// Writes the network in fp32 and in integers, loads both as the engine does, which checks their weights and golden
    /// outputs, and prints them.
    ///
    /// # Errors
    ///
    /// If the checkpoint cannot be read, a file cannot be written, or the engine cannot load the result.
    pub(super) fn export(&self) -> Result<()> {
        let checkpoint = SparseCheckpoint::read(&self.checkpoint)?;
        let (mut config, progress) = run_of(&checkpoint)?;
        // Where the games were is of no use to others.
        config.sources.iter_mut().for_each(|source| source.paths.clear());
        let config = serde_json::to_string(&config)?;
        let network = if self.averaged { &checkpoint.average } else { &checkpoint.network };
        let stem = self.out.file_stem();
        let stem = stem.with_context(|| format!("{} does not name a file", self.out.display()))?;
        let name = self.name.clone().unwrap_or_else(|| stem.to_string_lossy().into_owned());
        make_folder_of(&self.out)?;
        let integers = self.out.with_extension("int8.onnx");
        for (storage, path) in [(OnnxStorage::Float, &self.out), (OnnxStorage::Integer, &integers)] {
            write_file(path, &sparse_onnx(&name, network, &config, storage))?;
            println!("{}, {} samples", written(path)?, progress.samples);
        }
        Ok(())
    }
}

/// Loads a network file as the engine does, and describes it.
fn written(path: &Path) -> Result<String> {
    let network = SparseNetwork::load(path).with_context(|| path.display().to_string())?;
    let size = path.metadata()?.len() as f64 / 1e6;
    Ok(format!("{}: {}, family sparse, {size:.1} MB", path.display(), network.name()))
}

/// `verify`: compares a network in the engine's integers with its checkpoint in fp32.
///
/// # Errors
///
/// If a file cannot be read, an option does not apply, or a probability differs by more than [`INTEGER_TOLERANCE`].
pub(super) fn verify(args: &VerifyArgs) -> Result<()> {
    ensure!(args.steps.is_none(), "--steps does not apply to the family sparse");
    let checkpoint = SparseCheckpoint::read(&args.checkpoint)?;
    let model = if args.averaged { &checkpoint.average } else { &checkpoint.network };
    let network = SparseNetwork::load(&args.net).with_context(|| args.net.display().to_string())?;
    let positions = args.positions()?;
    let difference = compare_sparse(model, &mut network.evaluator(), &positions)?;
    let SparseDifference { policy, wdl } = difference;
    println!(
        "{} positions in integers, largest differences of probabilities: policy {policy:.1e}, WDL {wdl:.1e}",
        positions.len()
    );
    // `<=`, so that NaN fails too.
    ensure!(
        difference.worst() <= INTEGER_TOLERANCE,
        "the network file differs from the checkpoint by more than {INTEGER_TOLERANCE}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::ChunkWriter;
    use crate::record::{GameRecord, GameResult};
    use engine::position::{Game, PackedMove};

    /// Writes a file of short random games into `folder`.
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
    fn a_network_is_trained_resumed_exported_and_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_games(&at(""));
        let config = serde_json::json!({
            "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
            "sources": [{ "name": "games", "paths": [at("games-*.h5")], "stride": 2 }],
            "batch": 32, "block": 4, "samples": 640, "lr": 0.01, "warmup_samples": 0, "threads": 2,
            "validation_percent": 20, "validate_every": 5, "report_every": 4, "validation_samples": 50
        });
        std::fs::write(at("config.json"), config.to_string()).unwrap();
        let config = SparseTrainConfig::load(&[at("config.json")], &[]).unwrap();
        let games = || SparseGames::load(&config).unwrap();

        let whole = at("whole");
        assert!(SparseRun::start(&whole, &config).unwrap().train(games(), &|| false).unwrap());
        let occupied = SparseRun::start(&whole, &config).err().unwrap().to_string();
        assert!(occupied.contains("already contains a run"), "{occupied}");

        // Stopped after seven steps, in the middle of a block, and resumed on another number of threads.
        let parts = at("parts");
        let steps = std::cell::Cell::new(0);
        let stop = || steps.replace(steps.get() + 1) == 6;
        assert!(!SparseRun::start(&parts, &config).unwrap().train(games(), &stop).unwrap());
        let more = SparseTrainConfig { threads: 1, ..config.clone() };
        let mut run = SparseRun::resume(&parts, &more).unwrap();
        assert_eq!((run.progress.step, run.progress.samples), (7, 7 * 32));
        assert!(run.train(games(), &|| false).unwrap());
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
        }
        let losses: Vec<f64> = lines(&whole).iter().filter_map(|line| line["policy_loss"].as_f64()).collect();
        assert!(losses[4] < losses[0], "{losses:?}");

        let other = SparseTrainConfig { batch: 16, ..config.clone() };
        let error = SparseRun::resume(&parts, &other).err().unwrap().to_string();
        assert!(error.contains("batch cannot be changed"), "{error}");

        let args = SparseExportArgs {
            checkpoint: parts.join("checkpoints/last.safetensors"),
            out: at("nets/mine.onnx"),
            name: None,
            averaged: true,
        };
        assert!(args.is_meant());
        args.export().unwrap();
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
            let error = verify(false).unwrap_err().to_string();
            assert!(error.contains("differs from the checkpoint"), "{error}");
        }
    }
}
