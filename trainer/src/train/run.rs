//! The training run: steps, reports, validations, checkpoints, and how it ends.

use super::checkpoint;
use super::checkpoint::{Checkpoint, Progress};
use super::feed::Feed;
use super::learner::Learner;
use super::report::Reporter;
use super::summary::TrainSummary;
use super::validation::HeldOut;
use crate::config::{Schedule, TrainConfig};
use crate::files::make_folder;
use crate::loader::Batch;
use crate::samples::Phase;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tch::{Device, Tensor};

/// How many steps may fail to be finite in reports of which most do.
const SKIPS: u64 = 10;
/// How many checkpoints are kept beside the best.
const KEPT: usize = 2;

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All samples or minutes are used up.
    Finished,
    /// It was asked to stop; it can be resumed.
    Stopped,
}

/// Why a run can't go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrainError {
    /// Too many steps weren't finite, this number in a row: the network is ruined, or its precision doesn't do.
    NotFinite(u64),
    /// The feed failed, or a file can't be written.
    Failed(String),
}

impl std::fmt::Display for TrainError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TrainError::NotFinite(steps) => write!(
                f,
                "{steps} steps weren't finite (the last checkpoint is sound): try a lower lr, or precision fp32"
            ),
            TrainError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for TrainError {}

impl From<String> for TrainError {
    fn from(why: String) -> TrainError {
        TrainError::Failed(why)
    }
}

impl From<TrainError> for String {
    fn from(error: TrainError) -> String {
        error.to_string()
    }
}

/// A training run and its folder.
pub struct Run {
    /// The network.
    pub learner: Learner,
    /// How far it is.
    pub progress: Progress,
    config: TrainConfig,
    folder: PathBuf,
    streak: u64,
}

impl Run {
    /// A new run in `folder`, which is created and gets the resolved `config.json`; from the
    /// weights of `init` if given.
    ///
    /// # Errors
    /// One line: the folder holds checkpoints already, can't be written, or `init` doesn't fit.
    pub fn start(
        folder: &Path,
        config: &TrainConfig,
        device: Device,
        init: Option<&Path>,
    ) -> Result<Run, String> {
        let checkpoints = folder.join("checkpoints");
        if !checkpoint::list(&checkpoints).is_empty() {
            return Err(format!(
                "{} holds a run already: add --resume, or name another folder with --run",
                folder.display()
            ));
        }
        let mut learner = Learner::new(config, device)?;
        if let Some(path) = init {
            Checkpoint::load(path)?.restore_weights(&mut learner.weights, true)?;
            learner.averaged.assign(&learner.weights.flat, &learner.weights.stats);
        }
        Run::open(folder, config, learner, Progress::default())
    }

    /// Goes on from the last checkpoint in `folder`.
    ///
    /// # Errors
    /// One line: there is none, or it doesn't fit the configuration.
    pub fn resume(folder: &Path, config: &TrainConfig, device: Device) -> Result<Run, String> {
        let checkpoints = folder.join("checkpoints");
        let sound = |path: &PathBuf| Checkpoint::load(path).map_err(|why| log::warn!("{why}")).ok();
        let checkpoint = checkpoint::list(&checkpoints).iter().rev().find_map(sound);
        let checkpoint =
            checkpoint.ok_or_else(|| format!("{} holds no checkpoint to resume from", folder.display()))?;
        let mut learner = Learner::new(config, device)?;
        checkpoint.restore(&mut learner)?;
        Run::open(folder, config, learner, checkpoint.progress)
    }

    fn open(
        folder: &Path,
        config: &TrainConfig,
        learner: Learner,
        progress: Progress,
    ) -> Result<Run, String> {
        let checkpoints = folder.join("checkpoints");
        make_folder(&checkpoints)?;
        checkpoint::remove_unfinished(&checkpoints);
        let text = serde_json::to_string_pretty(config).map_err(|error| error.to_string())?;
        checkpoint::write_file(&folder.join("config.json"), (text + "\n").as_bytes())?;
        Ok(Run { learner, progress, config: config.clone(), folder: folder.to_owned(), streak: 0 })
    }

    /// Trains until all is done or `stop` says so, which is asked before each step.
    ///
    /// # Errors
    /// The feed failed, a file can't be written, or too many steps weren't finite. The last checkpoint remains.
    pub fn train(
        &mut self,
        feed: &mut dyn Feed,
        held_out: &HeldOut,
        stop: &dyn Fn(&Progress) -> bool,
    ) -> Result<Ended, TrainError> {
        let mut reporter = Reporter::open(&self.folder, &self.config, &self.progress)?;
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
                break Ended::Finished;
            }
            if stop(&self.progress) {
                break Ended::Stopped;
            }
            if done >= self.config.swa_from {
                self.learner.average_evenly();
            }
            lr = self.config.learning_rate(self.progress.step, done) * self.progress.plateau.factor;
            let batches = self.batches(feed)?;
            let losses = self.learner.step(&batches, lr);
            self.take_note(&batches, &losses);
            self.progress.step += 1;
            self.progress.samples += batches.iter().map(|batch| batch.size as u64).sum::<u64>();
            if self.progress.step.is_multiple_of(self.config.report_every) {
                self.report(&mut reporter, lr)?;
            }
            if self.progress.step.is_multiple_of(self.config.validate_every) {
                self.validate(&mut reporter, feed, held_out)?;
                if self.config.early_stop > 0 && self.progress.since_best >= self.config.early_stop {
                    reporter.say(&format!(
                        "ends early: {} validations without a new best",
                        self.config.early_stop
                    ));
                    break Ended::Finished;
                }
            }
            if saved.elapsed().as_secs_f64() >= self.config.checkpoint_every_s {
                self.save(feed)?;
                saved = Instant::now();
            }
        };
        // A run that is only stopped keeps its sums for the report that it will make when it goes on.
        if ended == Ended::Finished {
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

    /// Trains as [`Run::train`] does, and also returns what was learnt since step `from`, at which the run is now or was
    /// when an earlier call with the same `from` began.
    ///
    /// # Errors
    ///
    /// As those of [`Run::train`].
    pub fn train_from(
        &mut self,
        from: u64,
        feed: &mut dyn Feed,
        held_out: &HeldOut,
        stop: &dyn Fn(&Progress) -> bool,
    ) -> Result<(Ended, TrainSummary), TrainError> {
        if self.progress.step == from {
            self.progress.summary = TrainSummary::default();
        }
        let ended = self.train(feed, held_out, stop)?;
        Ok((ended, self.progress.summary.clone()))
    }

    /// What the next step learns from: fresh samples, and some that were hard.
    fn batches(&self, feed: &mut dyn Feed) -> Result<Vec<Batch>, String> {
        let next = |part: usize| {
            let mut batch = feed.next_batch()?;
            if self.config.shown_again() > 0 {
                let draw = (self.progress.step << 20) + part as u64;
                let drawn = self.progress.hard.draw(self.config.shown_again(), self.config.seed ^ draw);
                batch.append(feed.again(&drawn)?);
            }
            Ok(batch)
        };
        (0..self.config.accumulation).map(next).collect()
    }

    fn take_note(&mut self, batches: &[Batch], losses: &[Tensor]) {
        if self.config.shown_again() == 0 {
            return;
        }
        let fresh = self.config.batch - self.config.shown_again();
        for (batch, losses) in batches.iter().zip(losses) {
            let losses = Vec::<f32>::try_from(losses).expect("fp32 numbers");
            self.progress.hard.take_note(batch, batch.size - fresh, &losses, &self.config.tactical_replay);
        }
    }

    fn report(&mut self, reporter: &mut Reporter, lr: f64) -> Result<(), TrainError> {
        let report = self.learner.report();
        self.progress.skipped += report.skipped;
        self.streak = if 2 * report.skipped < report.steps { 0 } else { self.streak + report.skipped };
        if report.skipped > 0 {
            reporter.say(&format!("{} steps weren't finite and were left out", report.skipped));
        }
        let rate = reporter.train(&self.progress, &report, lr, &self.config)?;
        self.progress.summary.add(&report, rate);
        if self.streak > SKIPS {
            return Err(TrainError::NotFinite(self.streak));
        }
        Ok(())
    }

    fn validate(
        &mut self,
        reporter: &mut Reporter,
        feed: &dyn Feed,
        held_out: &HeldOut,
    ) -> Result<(), String> {
        let start = Instant::now();
        self.progress.validated = self.progress.step;
        let validations = self.learner.validate(held_out);
        let all = &validations.all;
        if all.samples == 0 {
            return Ok(());
        }
        reporter.validation(&self.progress, &held_out.names, &validations, start.elapsed())?;
        let phases = Phase::ALL.map(Phase::name).into_iter().zip(&validations.phases);
        self.progress.summary.validation = json!(all);
        self.progress.summary.phases = json!(phases.collect::<BTreeMap<_, _>>());
        let loss = all.measures.loss(self.config.value_weight);
        let is_best = self.progress.best.is_none_or(|best| loss < best);
        self.progress.since_best = if is_best { 0 } else { self.progress.since_best + 1 };
        if self.config.schedule == Schedule::Plateau {
            self.progress.plateau.take_note(is_best, &self.config);
        }
        if is_best {
            self.progress.best = Some(loss);
            self.write(&checkpoint::best_path(&self.checkpoints()), feed)?;
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, feed: &dyn Feed) -> Result<(), String> {
        self.progress.loader = feed.position();
        self.progress.swa_steps = self.learner.swa_steps;
        checkpoint::save(path, &self.learner, &self.config, &self.progress)
    }

    fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoints")
    }

    /// Writes a checkpoint, then removes the oldest.
    fn save(&mut self, feed: &dyn Feed) -> Result<(), String> {
        let folder = self.checkpoints();
        self.write(&checkpoint::step_path(&folder, self.progress.step), feed)?;
        let all = checkpoint::list(&folder);
        for old in all.iter().rev().skip(KEPT) {
            std::fs::remove_file(old).map_err(|error| format!("cannot remove {}: {error}", old.display()))?;
        }
        Ok(())
    }
}
