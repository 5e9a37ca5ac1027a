//! The training loop: steps, reports, validations, checkpoints and the end of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Error, Result, anyhow, bail};
use serde_json::json;
use tch::{Device, Tensor};

use super::checkpoint;
use super::checkpoint::{Checkpoint, TrainProgress};
use super::feed::Feed;
use super::learner::Learner;
use super::regularise::HardPositions;
use super::sources::{Sources, rescaled};
use super::validation::HeldOut;
use crate::base::files::make_folder;
use crate::config::{Schedule, TrainConfig};
use crate::data::loader::Batch;
use crate::data::samples::Phase;
use crate::learn::run::metrics::{Reporter, TrainSummary};

/// Maximal number of steps that are not finite, over consecutive reports in which at least half are not.
const SKIPS: u64 = 10;
/// Number of checkpoints that are kept in addition to the best.
const KEPT: usize = 2;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainEnd {
    /// After all its samples or minutes, or by early stopping.
    Finished,
    /// On request; it can be resumed.
    Stopped,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Too many steps, this number, were not finite: training has diverged, or the precision is insufficient.
    #[error(
        "{0} steps were not finite (the last checkpoint is intact): use a lower lr, or set precision to fp32"
    )]
    NotFinite(u64),
    /// The feed failed, or a file cannot be written.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// A training run and its folder.
pub struct Run {
    /// The network.
    pub learner: Learner,
    /// The run's progress.
    pub progress: TrainProgress,
    config: TrainConfig,
    folder: PathBuf,
    streak: u64,
}

impl Run {
    /// Starts a run in `folder`, which is created, with the resolved configuration in `config.json`. The initial weights
    /// are those of `init` if given.
    ///
    /// # Errors
    /// The folder already contains checkpoints or cannot be written, or the architecture of `init` differs.
    pub fn start(folder: &Path, config: &TrainConfig, device: Device, init: Option<&Path>) -> Result<Run> {
        let checkpoints = folder.join("checkpoints");
        if !checkpoint::list(&checkpoints).is_empty() {
            bail!(
                "{} already contains a run: add --resume, or name another folder with --run",
                folder.display()
            );
        }
        let mut learner = Learner::new(config, device)?;
        if let Some(path) = init {
            Checkpoint::load(path)?.restore_weights(&mut learner.weights, true)?;
            learner.averaged.assign(&learner.weights.flat, &learner.weights.stats);
        }
        Run::open(folder, config, learner, TrainProgress::default())
    }

    /// Resumes the run in `folder` from its last readable checkpoint.
    ///
    /// # Errors
    /// There is none, or it does not match the configuration.
    pub fn resume(folder: &Path, config: &TrainConfig, device: Device) -> Result<Run> {
        let checkpoints = folder.join("checkpoints");
        let sound =
            |path: &PathBuf| Checkpoint::load(path).map_err(|error| log::warn!("{error:#}; skipped")).ok();
        let checkpoint = checkpoint::list(&checkpoints).iter().rev().find_map(sound);
        let checkpoint = checkpoint
            .ok_or_else(|| anyhow!("{} contains no checkpoint to resume from", folder.display()))?;
        let mut learner = Learner::new(config, device)?;
        checkpoint.restore(&mut learner)?;
        let [before, now] = [&checkpoint.config, config].map(|config| config.new_samples() as u64);
        let mut progress = checkpoint.progress;
        if before != now {
            progress.loader = rescaled(&progress.loader, before, now);
        }
        Run::open(folder, config, learner, progress)
    }

    fn open(folder: &Path, config: &TrainConfig, learner: Learner, progress: TrainProgress) -> Result<Run> {
        let checkpoints = folder.join("checkpoints");
        make_folder(&checkpoints)?;
        checkpoint::remove_unfinished(&checkpoints);
        let text = serde_json::to_string_pretty(config)?;
        checkpoint::write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
        Ok(Run { learner, progress, config: config.clone(), folder: folder.to_owned(), streak: 0 })
    }

    /// Must be called before [`Run::train`] where tactical replay is used: empties its buffer if it refers to other games
    /// than those of `sources`.
    pub fn set_sources(&mut self, sources: &Sources) {
        let fingerprint = Some(sources.fingerprint(self.config.seed));
        if self.progress.sources != fingerprint {
            if !self.progress.hard.is_empty() {
                log::info!("the training games have changed: tactical replay starts with an empty buffer");
            }
            self.progress.hard = HardPositions::default();
            self.progress.sources = fingerprint;
        }
    }

    /// Trains until the run is finished or `stop`, which is called before each step, returns true.
    ///
    /// # Errors
    /// The feed fails, a file cannot be written, or too many steps are not finite. The last checkpoint is kept.
    pub fn train(
        &mut self,
        feed: &mut dyn Feed,
        held_out: &HeldOut,
        stop: &dyn Fn(&TrainProgress) -> bool,
    ) -> Result<TrainEnd, TrainError> {
        let mut reporter = Reporter::open(&self.folder, self.config.samples, self.progress.reported())?;
        let (start, before) = (Instant::now(), self.progress.time_s);
        let mut saved = Instant::now();
        let mut lr = 0.0;
        if self.progress.step == 0 {
            self.save(feed)?;
        }
        let ended = loop {
            self.progress.time_s = before + start.elapsed().as_secs_f64();
            let done = self.config.progress(self.progress.samples, self.progress.time_s);
            if done >= 1.0 {
                break TrainEnd::Finished;
            }
            if stop(&self.progress) {
                break TrainEnd::Stopped;
            }
            if self.done_of_part() >= self.config.swa_from {
                self.learner.start_swa();
            }
            lr = self.config.learning_rate(self.progress.step, done) * self.progress.plateau.factor;
            let batches = self.batches(feed)?;
            let losses = self.learner.step(&batches, lr);
            self.update(&batches, &losses);
            self.progress.step += 1;
            self.progress.samples += batches.iter().map(|batch| batch.size as u64).sum::<u64>();
            if self.progress.step.is_multiple_of(self.config.report_every) {
                self.report(&mut reporter, lr)?;
            }
            if self.progress.step.is_multiple_of(self.config.validate_every) {
                self.validate(&mut reporter, feed, held_out)?;
                if self.config.early_stop > 0 && self.progress.since_best >= self.config.early_stop {
                    reporter.print(&format!(
                        "early stopping: {} validations without improvement",
                        self.config.early_stop
                    ));
                    break TrainEnd::Finished;
                }
            }
            if saved.elapsed().as_secs_f64() >= self.config.checkpoint_every_s {
                self.save(feed)?;
                saved = Instant::now();
            }
        };
        // A stopped run keeps its sums for the next report after it is resumed.
        if ended == TrainEnd::Finished {
            if self.learner.has_counted() {
                self.report(&mut reporter, lr)?;
            }
            if self.progress.validated < self.progress.step {
                self.validate(&mut reporter, feed, held_out)?;
            }
        }
        self.save(feed)?;
        Ok(ended)
    }

    /// Trains as [`Run::train`] does; also returns the summary of the steps since `from`, which is the run's present step or
    /// was when an earlier call with the same `from` began. `swa_from` is a share of this part of the run.
    ///
    /// # Errors
    ///
    /// As [`Run::train`].
    pub fn train_from(
        &mut self,
        from: u64,
        feed: &mut dyn Feed,
        held_out: &HeldOut,
        stop: &dyn Fn(&TrainProgress) -> bool,
    ) -> Result<(TrainEnd, TrainSummary), TrainError> {
        if self.progress.step == from {
            self.progress.summary = TrainSummary::default();
            self.progress.part = self.progress.samples;
            self.learner.swa_steps = 0;
        }
        let end = self.train(feed, held_out, stop)?;
        Ok((end, self.progress.summary.clone()))
    }

    /// The share that is done, 0 to 1, of the part of the run in which the weights are averaged.
    fn done_of_part(&self) -> f64 {
        let TrainProgress { part, samples, time_s, .. } = self.progress;
        self.config.progress_since(part, samples, time_s)
    }

    /// The batches of the next step: new samples and, with tactical replay, repeated ones.
    fn batches(&self, feed: &mut dyn Feed) -> Result<Vec<Batch>> {
        let next = |part: usize| {
            let mut batch = feed.next_batch()?;
            if self.config.replayed_samples() > 0 {
                let draw = (self.progress.step << 20) + part as u64;
                let drawn = self.progress.hard.draw(self.config.replayed_samples(), self.config.seed ^ draw);
                batch.append(feed.again(&drawn)?);
            }
            Ok(batch)
        };
        (0..self.config.accumulation).map(next).collect()
    }

    fn update(&mut self, batches: &[Batch], losses: &[Tensor]) {
        if self.config.replayed_samples() == 0 {
            return;
        }
        let fresh = self.config.new_samples();
        for (batch, losses) in batches.iter().zip(losses) {
            let losses = Vec::<f32>::try_from(losses).expect("fp32 numbers");
            self.progress.hard.update(batch, batch.size - fresh, &losses, &self.config.tactical_replay);
        }
    }

    fn report(&mut self, reporter: &mut Reporter, lr: f64) -> Result<(), TrainError> {
        let report = self.learner.report();
        self.progress.skipped += report.skipped;
        self.streak = if 2 * report.skipped < report.steps { 0 } else { self.streak + report.skipped };
        if report.skipped > 0 {
            reporter.print(&format!("{} steps were not finite and were skipped", report.skipped));
        }
        let done = self.config.progress(self.progress.samples, self.progress.time_s);
        let rate = reporter.train(self.progress.reported(), &report, lr, done)?;
        self.progress.summary.add(&report, rate);
        if self.streak > SKIPS {
            return Err(TrainError::NotFinite(self.streak));
        }
        Ok(())
    }

    fn validate(&mut self, reporter: &mut Reporter, feed: &dyn Feed, held_out: &HeldOut) -> Result<()> {
        let start = Instant::now();
        self.progress.validated = self.progress.step;
        let validations = self.learner.validate(held_out);
        let all = &validations.all;
        if all.samples == 0 {
            return Ok(());
        }
        reporter.validation(self.progress.reported(), &held_out.names, &validations, start.elapsed())?;
        let phases = Phase::ALL.map(Phase::name).into_iter().zip(&validations.phases);
        self.progress.summary.validation = json!(all);
        self.progress.summary.phases = json!(phases.collect::<BTreeMap<_, _>>());
        let loss = all.measures.loss(self.config.value_weight);
        let is_best = self.progress.best.is_none_or(|best| loss < best);
        self.progress.since_best = if is_best { 0 } else { self.progress.since_best + 1 };
        if self.config.schedule == Schedule::Plateau {
            self.progress.plateau.update(is_best, &self.config);
        }
        if is_best {
            self.progress.best = Some(loss);
            self.write(&checkpoint::best_path(&self.checkpoints()), feed)?;
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, feed: &dyn Feed) -> Result<()> {
        self.progress.loader = feed.position();
        self.progress.swa_steps = self.learner.swa_steps;
        checkpoint::save(path, &self.learner, &self.config, &self.progress)
    }

    fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }

    /// Writes a checkpoint, then removes old ones.
    fn save(&mut self, feed: &dyn Feed) -> Result<()> {
        let folder = self.checkpoints();
        self.write(&checkpoint::step_path(&folder, self.progress.step), feed)?;
        let all = checkpoint::list(&folder);
        for old in all.iter().rev().skip(KEPT) {
            std::fs::remove_file(old).map_err(|error| anyhow!("cannot remove {}: {error}", old.display()))?;
        }
        Ok(())
    }
}
