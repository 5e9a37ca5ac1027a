//! A training run and its folder: steps, reports, validations, checkpoints.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::checkpoint::SparseCheckpoint;
use super::config::SparseTrainConfig;
use super::learner::SparseLearner;
use super::network::SparseModel;
use super::pass::{SparsePass, SparseTally};
use super::samples::SparseSamples;
use super::sources::{HeldOutSamples, SparseGames};
use super::stream::{SampleStream, StreamCursor, StreamSizes};
use crate::files::{make_folder, write_file};
use crate::progress::progress;

/// Steps between updates of the averaged weights.
const AVERAGE_EVERY: u64 = 16;
/// Positions of a validation that are evaluated at once.
const VALIDATION_BATCH: usize = 4096;
/// Interval of the progress lines if stderr is not a terminal.
const LOG_EVERY: Duration = Duration::from_secs(15);

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseProgress {
    /// Steps.
    pub step: u64,
    /// Samples.
    pub samples: u64,
    /// Seconds, without loading the games.
    pub time_s: f64,
    /// How far the games were read.
    pub cursor: StreamCursor,
}

/// What a checkpoint holds besides the weights.
#[derive(Serialize, Deserialize)]
struct RunState {
    progress: SparseProgress,
    /// Of the steps since the last report.
    tally: SparseTally,
    config: SparseTrainConfig,
}

/// A training run and its folder.
pub struct SparseRun {
    /// The run's progress.
    pub progress: SparseProgress,
    config: SparseTrainConfig,
    folder: PathBuf,
    learner: SparseLearner,
    average: SparseModel,
    /// Of the steps since the last report.
    tally: SparseTally,
}

/// The checkpoint of a run's folder.
fn last(folder: &Path) -> PathBuf {
    folder.join("checkpoints").join("last.safetensors")
}

impl SparseRun {
    /// Starts a run in `folder`, which is created, with the resolved configuration in `config.json`.
    ///
    /// # Errors
    ///
    /// If the folder already contains a checkpoint, or cannot be written.
    pub fn start(folder: &Path, config: &SparseTrainConfig) -> Result<SparseRun> {
        if last(folder).exists() {
            let folder = folder.display();
            bail!("{folder} already contains a run: add --resume, or name another folder with --run");
        }
        let network = SparseModel::new(config.shape(), config.seed);
        let average = network.clone();
        SparseRun::open(folder, config, network, average, SparseProgress::default())
    }

    /// Resumes the run in `folder` from its checkpoint, with the same samples and the same losses.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or does not match the configuration: sizes, batch, block, seed and names of the sources
    /// must be the run's.
    pub fn resume(folder: &Path, config: &SparseTrainConfig) -> Result<SparseRun> {
        let SparseCheckpoint { network, average, state } = SparseCheckpoint::read(&last(folder))?;
        let state: RunState = serde_json::from_str(&state).context("the checkpoint's state")?;
        let names = |config: &SparseTrainConfig| -> Vec<String> {
            config.sources.iter().map(|source| source.name.clone()).collect()
        };
        let old = &state.config;
        for (key, same) in [
            ("model", old.model == config.model),
            ("batch", old.batch == config.batch),
            ("block", old.block == config.block),
            ("seed", old.seed == config.seed),
            ("sources", names(old) == names(config)),
        ] {
            ensure!(same, "{key} cannot be changed in a run that is resumed");
        }
        let mut run = SparseRun::open(folder, config, network, average, state.progress)?;
        run.tally = state.tally;
        Ok(run)
    }

    fn open(
        folder: &Path,
        config: &SparseTrainConfig,
        network: SparseModel,
        average: SparseModel,
        progress: SparseProgress,
    ) -> Result<SparseRun> {
        make_folder(&folder.join("checkpoints"))?;
        let text = serde_json::to_string_pretty(config)?;
        write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
        let mut learner = SparseLearner::new(network, config.adam, config.thread_count());
        learner.steps = progress.step;
        let (config, folder) = (config.clone(), folder.to_owned());
        Ok(SparseRun { progress, config, folder, learner, average, tally: SparseTally::default() })
    }

    /// Number of the network's parameters.
    pub fn parameters(&self) -> usize {
        self.learner.network.parameters()
    }

    /// Trains to the end, or until `stop`; both write a checkpoint. Returns whether the run has finished.
    ///
    /// # Errors
    ///
    /// If there are no games, the loss is not finite, or a file cannot be written.
    pub fn train(&mut self, games: SparseGames, stop: &dyn Fn() -> bool) -> Result<bool> {
        let config = self.config.clone();
        let finished = |progress: &SparseProgress| progress.samples >= config.samples;
        if finished(&self.progress) {
            return Ok(true);
        }
        let SparseGames { train, held_out } = games;
        let sizes = StreamSizes { batch: config.batch, block: config.block };
        let cursor = self.progress.cursor.clone();
        let mut stream = SampleStream::new(train, sizes, config.seed, config.thread_count(), cursor)
            .map_err(anyhow::Error::msg)?;
        let schedule = config.schedule();
        let mut report = SparseReport::open(&self.folder, &config, &self.progress)?;
        let (begun, before) = (Instant::now(), self.progress.time_s);
        let mut saved = Instant::now();
        loop {
            let rate = schedule.rate(self.progress.samples);
            let batch = stream.next_batch().map_err(anyhow::Error::msg)?;
            let tally = self.learner.step(&batch, rate);
            if !(tally.policy().is_finite() && tally.value().is_finite()) {
                bail!("the loss is not finite (the last checkpoint is intact): use a lower lr");
            }
            self.progress.step = self.learner.steps;
            self.progress.samples += tally.samples;
            self.progress.time_s = before + begun.elapsed().as_secs_f64();
            self.progress.cursor = stream.cursor().clone();
            self.average();
            self.tally.add(&tally);
            let (done, stopped) = (finished(&self.progress), stop());
            let step = self.progress.step;
            if done || step.is_multiple_of(config.report_every) {
                report.train(&self.progress, rate, &std::mem::take(&mut self.tally))?;
            }
            if done || step.is_multiple_of(config.validate_every) {
                report.validation(&self.progress, &self.average, &held_out, self.learner.threads)?;
            }
            if done || stopped || saved.elapsed().as_secs_f64() >= config.checkpoint_every_s {
                self.save()?;
                saved = Instant::now();
            }
            if done || stopped {
                return Ok(done);
            }
        }
    }

    /// Moves the averaged weights towards the network's.
    fn average(&mut self) {
        let (step, seen) = (self.progress.step, self.progress.samples);
        // At first the average is the network itself.
        if step >= AVERAGE_EVERY && !step.is_multiple_of(AVERAGE_EVERY) {
            return;
        }
        let horizon = (self.config.average_samples as f64).min(0.1 * seen as f64);
        let share = AVERAGE_EVERY as f64 * self.config.batch as f64 / horizon;
        self.average.approach(&self.learner.network, share.min(1.0) as f32);
    }

    fn save(&self) -> Result<()> {
        let (progress, config) = (self.progress.clone(), self.config.clone());
        let state = RunState { progress, tally: self.tally, config };
        let checkpoint = SparseCheckpoint {
            network: self.learner.network.clone(),
            average: self.average.clone(),
            state: serde_json::to_string(&state)?,
        };
        checkpoint.write(&last(&self.folder))
    }
}

/// The configuration and progress of the run that wrote a checkpoint.
///
/// # Errors
///
/// If its state is not that of a run.
pub fn run_of(checkpoint: &SparseCheckpoint) -> Result<(SparseTrainConfig, SparseProgress)> {
    let state: RunState = serde_json::from_str(&checkpoint.state).context("the checkpoint's state")?;
    Ok((state.config, state.progress))
}

/// Losses and accuracies of a network.
fn evaluate(network: &SparseModel, samples: &SparseSamples, threads: usize) -> SparseTally {
    let mut tally = SparseTally::default();
    let mut pass = SparsePass::default();
    for first in (0..samples.len()).step_by(VALIDATION_BATCH) {
        let batch = samples.batch(first..(first + VALIDATION_BATCH).min(samples.len()));
        tally.add(&pass.run(network, &batch, false, threads).0);
    }
    tally
}

/// Writes `metrics.jsonl` and shows the progress.
struct SparseReport {
    file: File,
    bar: indicatif::ProgressBar,
    total: u64,
    last_line: Option<Instant>,
    /// Samples and seconds at the last report.
    last: (u64, f64),
}

impl SparseReport {
    /// Opens `metrics.jsonl`; lines of steps after `start`, written after the last checkpoint, are discarded.
    fn open(folder: &Path, config: &SparseTrainConfig, start: &SparseProgress) -> Result<SparseReport> {
        let path = folder.join("metrics.jsonl");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let kept = |line: &&str| {
            let line: Option<Value> = serde_json::from_str(line).ok();
            line.and_then(|line| line["step"].as_u64()).is_some_and(|step| step <= start.step)
        };
        let lines: String = text.lines().filter(kept).flat_map(|line| [line, "\n"]).collect();
        write_file(&path, lines.as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(SparseReport {
            file,
            bar: progress(config.samples, start.samples, "samples"),
            total: config.samples,
            last_line: None,
            last: (start.samples, start.time_s),
        })
    }

    /// Reports the steps since the last report.
    fn train(&mut self, progress: &SparseProgress, rate: f32, tally: &SparseTally) -> Result<()> {
        let seconds = (progress.time_s - self.last.1).max(1e-9);
        let speed = (progress.samples - self.last.0) as f64 / seconds;
        self.last = (progress.samples, progress.time_s);
        let mut line = heading(progress);
        line["lr"] = rate.into();
        line["samples_per_s"] = rounded(speed, 1).into();
        for (key, value) in measures(tally) {
            line[key] = value.into();
        }
        writeln!(self.file, "{line}")?;
        let top1 = 100.0 * tally.top1 as f64 / tally.samples.max(1) as f64;
        let losses = format!("policy {:.4} · WDL {:.4} · top-1 {top1:.1}%", tally.policy(), tally.value());
        let message = format!("{speed:.0}/s · {losses}");
        if std::io::stderr().is_terminal() {
            self.bar.set_position(progress.samples.min(self.total));
            self.bar.set_message(message);
        } else if self.last_line.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            self.last_line = Some(Instant::now());
            let left = self.total.saturating_sub(progress.samples) as f64 / speed.max(1e-9);
            let left = indicatif::HumanDuration(Duration::from_secs_f64(left.min(1e9)));
            let share = 100.0 * progress.samples as f64 / self.total as f64;
            eprintln!("{share:3.0}% {} samples {message} · {left} left", progress.samples);
        }
        Ok(())
    }

    /// Reports the losses and accuracies of `network` on held-out positions.
    fn validation(
        &mut self,
        progress: &SparseProgress,
        network: &SparseModel,
        held_out: &[HeldOutSamples],
        threads: usize,
    ) -> Result<()> {
        if held_out.is_empty() {
            return Ok(());
        }
        let mut all = SparseTally::default();
        let mut sources = BTreeMap::new();
        for HeldOutSamples { name, samples } in held_out {
            let tally = evaluate(network, samples, threads);
            all.add(&tally);
            sources.insert(name, measures(&tally));
        }
        let mut line = heading(progress);
        line["validation"] = json!(measures(&all));
        line["sources"] = json!(sources);
        writeln!(self.file, "{line}")?;
        let top1 = 100.0 * all.top1 as f64 / all.samples.max(1) as f64;
        self.bar.suspend(|| {
            log::info!(
                "step {}: held out: policy {:.4} · WDL {:.4} · top-1 {top1:.1}%",
                progress.step,
                all.policy(),
                all.value()
            );
        });
        Ok(())
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    (value * unit).round() / unit
}

fn heading(progress: &SparseProgress) -> Value {
    json!({ "step": progress.step, "samples": progress.samples, "time_s": rounded(progress.time_s, 3) })
}

/// Losses and accuracies by their names in `metrics.jsonl`.
fn measures(tally: &SparseTally) -> BTreeMap<&'static str, f64> {
    let share = |count: u64| rounded(count as f64 / tally.samples.max(1) as f64, 5);
    let mut measures = BTreeMap::from([
        ("policy_loss", rounded(tally.policy(), 5)),
        ("top1", share(tally.top1)),
        ("top5", share(tally.top5)),
    ]);
    if tally.value_weight > 0.0 {
        measures.insert("wdl_loss", rounded(tally.value(), 5));
    }
    measures
}
