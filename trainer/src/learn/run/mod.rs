//! The training loop, its folder and its reports, for any learner.

pub mod metrics;
pub mod folder;
mod feed;
mod average;
mod progress;
mod range_test;
mod overfit;
mod resume;
pub mod sources;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Error, Result};
use engine::base::words::counted;
use serde::Serialize;

pub use average::{AverageUpdate, little_averaged};
pub use feed::{Feed, Repeated};
pub use folder::RunFolder;
pub use overfit::{LeastLosses, OverfitKeys, OverfitPoint, OverfitTask, entropy, overfit};
pub use progress::{Plateau, TrainProgress};
pub use range_test::{LrSuggestion, RangeTestStep, lr_range_test};
pub use resume::{same_model, same_split, seen_before};

use crate::config::{RunConfig, Schedule};
use metrics::{Reporter, TrainReport, Validations};

/// Maximum non-finite steps over consecutive reports in which at least half of the steps are non-finite.
const SKIPS: u64 = 10;

/// A network with its optimiser, averaged weights and counters.
pub trait Learner: Sized {
    /// Source of the training samples.
    type Feed: Feed + ?Sized;
    /// Validation positions.
    type HeldOut: ?Sized;

    /// Steps between updates of the averaged weights.
    const AVERAGE_EVERY: u64;

    /// Makes an optimiser step at learning rate `lr`, and calls `during` with the share of it that is done. Returns the
    /// number of samples learnt from.
    fn step(
        &mut self,
        feed: &mut Self::Feed,
        lr: f64,
        progress: &TrainProgress,
        during: &dyn Fn(f64),
    ) -> Result<u64, TrainError>;

    /// Updates the averaged weights.
    fn average(&mut self, update: AverageUpdate);

    /// Returns means over the steps since the last call.
    fn report(&mut self) -> TrainReport;

    /// Whether there were steps since the last report.
    fn has_counted(&self) -> bool;

    /// Validates the averaged weights.
    fn validate(&self, held_out: &Self::HeldOut) -> Validations;

    /// Whether all averaged weights are finite.
    fn is_finite(&self) -> bool;

    /// Prepares for a new part of the run, with other samples.
    fn begin_part(&mut self) {}

    /// Writes a checkpoint from which a resumed run continues as if uninterrupted.
    fn write(&self, path: &Path, progress: &TrainProgress, feed: &Self::Feed) -> Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainEnd {
    /// The run used all its samples or minutes, or stopped early.
    Finished,
    /// Stopped on request; the run can be resumed.
    Stopped,
}

/// Why a run has ended, with the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Complete {
    Samples(u64),
    Minutes(f64),
    /// In validations without improvement.
    EarlyStop(u64),
}

#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// This number of steps was not finite: training has diverged, or the precision is insufficient.
    #[error(
        "{} not finite (the last checkpoint is intact): use a lower lr, or set precision to fp32 where it is not",
        counted(*.0, "step")
    )]
    NotFinite(u64),
    /// The feed failed, or a file cannot be written.
    #[error(transparent)]
    Failed(#[from] Error),
}

pub struct Run<L> {
    pub learner: L,
    pub progress: TrainProgress,
    config: RunConfig,
    folder: RunFolder,
    /// Non-finite steps in the reports since the last one in which most steps were finite.
    streak: u64,
}

impl<L: Learner> Run<L> {
    /// Continues from `progress` and writes `settings`, the whole configuration, to `config.json`, unless nothing is left
    /// to do.
    pub fn open(
        folder: RunFolder,
        settings: &impl Serialize,
        config: RunConfig,
        learner: L,
        progress: TrainProgress,
    ) -> Result<Run<L>> {
        let run = Run { learner, progress, config, folder, streak: 0 };
        if run.complete().is_none() {
            run.folder.write_config(settings)?;
        }
        Ok(run)
    }

    /// Returns the best checkpoint, or without validations the last.
    pub fn result(&self) -> Option<PathBuf> {
        folder::best_or_last(self.folder.path())
    }

    /// Whether nothing is left to do, not even the last validation, and why.
    pub fn complete(&self) -> Option<Complete> {
        let TrainProgress { step, samples, time_s, validated, since_best, .. } = self.progress;
        let minutes = self.config.minutes;
        match self.config.early_stop {
            _ if step == 0 || validated < step => None,
            _ if samples >= self.config.samples => Some(Complete::Samples(samples)),
            _ if minutes > 0.0 && time_s >= 60.0 * minutes => Some(Complete::Minutes(minutes)),
            validations if validations > 0 && since_best >= validations => {
                Some(Complete::EarlyStop(validations))
            }
            _ => None,
        }
    }

    /// Begins a part of the run, with an empty summary and a new average, if the present step is `from`; later in the
    /// part does nothing.
    pub fn begin_part(&mut self, from: u64) {
        if self.progress.step == from {
            self.progress.summary = metrics::TrainSummary::default();
            self.progress.part = self.progress.samples;
            self.progress.swa_steps = 0;
            self.learner.begin_part();
        }
    }

    /// Trains until the run is finished or `stop`, called before each step, returns true. On an error the last
    /// checkpoint is kept.
    pub fn train(
        &mut self,
        feed: &mut L::Feed,
        held_out: &L::HeldOut,
        stop: &dyn Fn(&TrainProgress) -> bool,
    ) -> Result<TrainEnd, TrainError> {
        let mut reporter = Reporter::open(self.folder.path(), &self.config, &self.progress)?;
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
            lr = self.config.learning_rate(self.progress.samples, done) * self.progress.plateau.factor;
            let TrainProgress { part, samples, time_s, .. } = self.progress;
            if self.config.progress_since(part, samples, time_s) >= self.config.swa_from {
                self.progress.start_swa();
            }
            let during = |share: f64| {
                let time_s = before + start.elapsed().as_secs_f64();
                reporter.during(share, &TrainProgress { time_s, ..self.progress.clone() });
            };
            self.progress.samples += self.learner.step(feed, lr, &self.progress, &during)?;
            self.progress.step += 1;
            if let Some(update) = self.progress.average_update(&self.config, L::AVERAGE_EVERY) {
                self.learner.average(update);
            }
            // Reports and the time left include the step just made.
            self.progress.time_s = before + start.elapsed().as_secs_f64();
            reporter.tick(&self.progress);
            if self.progress.step.is_multiple_of(self.config.report_every) {
                self.report(&mut reporter, lr)?;
            }
            if self.progress.step.is_multiple_of(self.config.validate_every) {
                self.validate(&mut reporter, feed, held_out)?;
                if self.config.early_stop > 0 && self.progress.since_best >= self.config.early_stop {
                    reporter.print("early stop: the validation loss no longer improves");
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
            if !self.learner.is_finite() {
                return Err(TrainError::NotFinite(1));
            }
            if self.learner.has_counted() {
                self.report(&mut reporter, lr)?;
            }
            if self.progress.validated < self.progress.step {
                if let Some(update) = self.progress.last_average_update(&self.config, L::AVERAGE_EVERY) {
                    self.learner.average(update);
                }
                self.validate(&mut reporter, feed, held_out)?;
            }
        }
        self.save(feed)?;
        Ok(ended)
    }

    fn report(&mut self, reporter: &mut Reporter, lr: f64) -> Result<(), TrainError> {
        let report = self.learner.report();
        self.progress.skipped += report.skipped;
        self.streak = if 2 * report.skipped < report.steps { 0 } else { self.streak + report.skipped };
        if report.skipped > 0 {
            reporter.print(&format!("skipped, because not finite: {}", counted(report.skipped, "step")));
        }
        let rate = reporter.train(&self.progress, &report, lr)?;
        self.progress.summary.add(&report, rate);
        if self.streak > SKIPS {
            return Err(TrainError::NotFinite(self.streak));
        }
        Ok(())
    }

    /// Validates the averaged weights and writes them if they are the best so far.
    fn validate(&mut self, reporter: &mut Reporter, feed: &L::Feed, held_out: &L::HeldOut) -> Result<()> {
        let start = Instant::now();
        self.progress.validated = self.progress.step;
        let validations = self.learner.validate(held_out);
        if validations.all.samples == 0 {
            return Ok(());
        }
        reporter.validation(&self.progress, &validations, start.elapsed())?;
        self.progress.summary.note_validation(&validations);
        let loss = validations.all.measures.loss(self.config.value_weight);
        let is_best = self.progress.note_validation(loss);
        if self.config.schedule == Schedule::Plateau {
            self.progress.plateau.update(is_best, &self.config);
        }
        if is_best {
            self.learner.write(&self.folder.best(), &self.progress, feed)?;
        }
        Ok(())
    }

    fn save(&self, feed: &L::Feed) -> Result<()> {
        self.folder.write_last(|path| self.learner.write(path, &self.progress, feed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_that_were_learnt_and_are_now_held_out_are_named() {
        assert!(seen_before(1, 5).is_some_and(|text| text.contains("validation_percent 1, this run has 5")));
        // What is held out now was held out before.
        assert_eq!((seen_before(5, 5), seen_before(5, 1)), (None, None));
    }
}
