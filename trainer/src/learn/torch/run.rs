use std::path::Path;

use anyhow::Result;
use tch::{Device, Tensor};

use super::checkpoint;
use super::checkpoint::Checkpoint;
use super::learner::Learner;
use super::regularise::HardPositions;
use super::sources::Sources;
use super::validation::HeldOut;
use crate::config::TrainConfig;
use crate::data::loader::Batch;
use crate::learn::run;
use crate::learn::run::metrics::{TrainReport, Validations};
use crate::learn::run::{AverageUpdate, Feed, Run, RunFolder, TrainError, TrainProgress};

pub type TorchRun = Run<Learner>;

impl TorchRun {
    pub fn start(
        folder: RunFolder,
        config: &TrainConfig,
        device: Device,
        init: Option<&Path>,
    ) -> Result<TorchRun> {
        folder.ensure_empty()?;
        let mut learner = Learner::new(config, device)?;
        if let Some(path) = init {
            let init = Checkpoint::load(path)?;
            if let Some(why) = run::seen_before(init.config.validation_percent, config.validation_percent) {
                log::warn!("{why}");
            }
            init.restore_weights(&mut learner.weights, true)?;
            learner.averaged.assign(&learner.weights.flat, &learner.weights.stats);
        }
        let progress = TrainProgress { trained: init.is_some(), ..TrainProgress::default() };
        Run::open(folder, config, config.run(), learner, progress)
    }
}

impl Learner {
    /// Must precede training with tactical replay: empties the replay buffer if it refers to other games.
    pub fn set_sources(&mut self, sources: &Sources) {
        let fingerprint = Some(sources.fingerprint(self.config().seed));
        if self.sources != fingerprint {
            if !self.hard.is_empty() {
                log::info!("the training games have changed: tactical replay starts with an empty buffer");
            }
            self.hard = HardPositions::default();
            self.sources = fingerprint;
        }
    }

    /// With tactical replay, repeated samples follow the new ones.
    fn batches(&self, feed: &mut dyn Feed<Batch = Batch>, step: u64) -> Result<Vec<Batch>> {
        let config = self.config();
        let next = |part: usize| {
            let mut batch = feed.next_batch()?;
            if config.replayed_samples() > 0 {
                let draw = (step << 20) + part as u64;
                let drawn = self.hard.draw(config.replayed_samples(), config.seed ^ draw);
                batch.append(feed.again(&drawn)?);
            }
            Ok(batch)
        };
        (0..config.accumulation).map(next).collect()
    }

    fn replay(&mut self, batches: &[Batch], losses: &[Tensor]) {
        let (fresh, rules) = (self.config().new_samples(), self.config().tactical_replay.clone());
        for (batch, losses) in batches.iter().zip(losses) {
            let losses = Vec::<f32>::try_from(losses).expect("fp32 numbers");
            self.hard.update(batch, batch.size - fresh, &losses, &rules);
        }
    }
}

impl run::Learner for Learner {
    type Feed = dyn Feed<Batch = Batch>;
    type HeldOut = HeldOut;

    const AVERAGE_EVERY: u64 = 1;

    fn step(
        &mut self,
        feed: &mut Self::Feed,
        lr: f64,
        progress: &TrainProgress,
        during: &dyn Fn(f64),
    ) -> Result<u64, TrainError> {
        let batches = self.batches(feed, progress.step)?;
        let losses = self.step_shown(&batches, lr, during);
        if self.config().replayed_samples() > 0 {
            self.replay(&batches, &losses);
        }
        Ok(batches.iter().map(|batch| batch.size as u64).sum())
    }

    fn average(&mut self, update: AverageUpdate) {
        Learner::average(self, update);
    }

    fn report(&mut self) -> TrainReport {
        Learner::report(self)
    }

    fn has_counted(&self) -> bool {
        Learner::has_counted(self)
    }

    fn validate(&self, held_out: &HeldOut) -> Validations {
        Learner::validate(self, held_out)
    }

    fn is_finite(&self) -> bool {
        self.averaged.flat.isfinite().all().int64_value(&[]) != 0
    }

    fn write(&self, path: &Path, progress: &TrainProgress, feed: &Self::Feed) -> Result<()> {
        checkpoint::save(path, self, self.config(), progress, feed.position())
    }
}
