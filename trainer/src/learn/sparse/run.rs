//! A training run and its folder: steps, reports, validations, checkpoints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::checkpoint::SparseCheckpoint;
use super::learner::SparseLearner;
use super::network::SparseModel;
use super::pass::SparseTally;
use super::sources::HeldOutSamples;
use super::stream::{SampleSource, SampleStream, StreamCursor, StreamSizes};
use super::validation::validate;
use crate::base::files::{make_folder, write_file};
use crate::config::SparseTrainConfig;
use crate::data::samples::Phase;
use crate::learn::run::metrics::{ReportedProgress, Reporter, TrainReport, TrainSummary};

/// Steps between updates of the averaged weights.
const AVERAGE_EVERY: u64 = 16;

/// Training has diverged.
#[derive(Debug, thiserror::Error)]
#[error("the loss is not finite (the last checkpoint is intact): use a lower lr")]
pub struct LossNotFinite;

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparseProgress {
    /// Steps.
    pub step: u64,
    /// Samples.
    pub samples: u64,
    /// Seconds, without loading the games.
    pub time_s: f64,
    /// Whether it began with [`InitialWeights::Trained`].
    #[serde(default)]
    pub trained: bool,
    /// How far the games were read.
    pub cursor: StreamCursor,
    /// Means over the steps since the summary was last cleared.
    #[serde(default)]
    pub summary: TrainSummary,
}

impl SparseProgress {
    /// What reports say of it.
    fn reported(&self) -> ReportedProgress {
        let SparseProgress { step, samples, time_s, .. } = *self;
        ReportedProgress { step, samples, time_s, skipped: 0 }
    }
}

/// The weights that a run begins with.
#[derive(Clone, Debug)]
pub enum InitialWeights {
    /// Random ones.
    Random,
    /// These, which have learnt nothing: the averaged weights soon forget them.
    Untrained(SparseModel),
    /// Those of a trained network, which the averaged weights go on from.
    Trained(SparseModel),
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
    /// If the folder already contains a checkpoint or cannot be written, or `init` has other sizes; they may be
    /// smaller ([`SparseModel::widened`]).
    pub fn start(folder: &Path, config: &SparseTrainConfig, init: InitialWeights) -> Result<SparseRun> {
        if SparseRun::is_begun(folder) {
            let folder = folder.display();
            bail!("{folder} already contains a run: add --resume, or name another folder with --run");
        }
        let expected = config.shape();
        let trained = matches!(init, InitialWeights::Trained(_));
        let progress = SparseProgress { trained, ..SparseProgress::default() };
        let network = match init {
            InitialWeights::Random => SparseModel::new(expected, config.seed),
            InitialWeights::Untrained(init) | InitialWeights::Trained(init) => {
                let found = init.shape;
                ensure!(
                    found.fits_into(&expected),
                    "the initial network has other sizes: {found:?}, expected {expected:?}; they may only grow"
                );
                init.dithered(config.seed).widened(expected, config.seed)
            }
        };
        let average = network.clone();
        SparseRun::open(folder, config, network, average, progress)
    }

    /// Whether the folder contains a checkpoint.
    pub fn is_begun(folder: &Path) -> bool {
        last(folder).exists()
    }

    /// Continues the run in `folder` from its checkpoint, with other games and settings; the network's sizes must be the
    /// run's.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or the network has other sizes, or batch or block another value though the seed, and so
    /// the samples, are the same.
    pub fn go_on(folder: &Path, config: &SparseTrainConfig) -> Result<SparseRun> {
        let (checkpoint, state) = SparseRun::read(folder, config)?;
        // With the same seed its samples go on where they were, which depends on these two.
        if state.config.seed == config.seed {
            for (key, was, is) in
                [("batch", state.config.batch, config.batch), ("block", state.config.block, config.block)]
            {
                ensure!(
                    was == is,
                    "{key} was {was} and cannot be {is} before the samples of this iteration are learnt: resume with \
                     --set train.{key}={was}, and change it later"
                );
            }
        }
        SparseRun::resumed(folder, config, checkpoint, state)
    }

    fn read(folder: &Path, config: &SparseTrainConfig) -> Result<(SparseCheckpoint, RunState)> {
        let checkpoint = SparseCheckpoint::read(&last(folder))?;
        let state: RunState = serde_json::from_str(&checkpoint.state).context("the checkpoint's state")?;
        ensure!(state.config.model == config.model, "model cannot be changed in a run that is resumed");
        Ok((checkpoint, state))
    }

    fn resumed(
        folder: &Path,
        config: &SparseTrainConfig,
        SparseCheckpoint { network, average, .. }: SparseCheckpoint,
        RunState { progress, tally, .. }: RunState,
    ) -> Result<SparseRun> {
        let run = SparseRun::open(folder, config, network, average, progress)?;
        Ok(SparseRun { tally, ..run })
    }

    /// Resumes the run in `folder` from its checkpoint, with the same samples and the same losses.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or does not match the configuration: sizes, batch, block, seed and names of the sources
    /// must be the run's.
    pub fn resume(folder: &Path, config: &SparseTrainConfig) -> Result<SparseRun> {
        let (checkpoint, state) = SparseRun::read(folder, config)?;
        let names = |config: &SparseTrainConfig| -> Vec<String> {
            config.sources.iter().map(|source| source.name.clone()).collect()
        };
        let old = &state.config;
        for (key, same) in [
            ("batch", old.batch == config.batch),
            ("block", old.block == config.block),
            ("seed", old.seed == config.seed),
            ("sources", names(old) == names(config)),
        ] {
            ensure!(same, "{key} cannot be changed in a run that is resumed");
        }
        SparseRun::resumed(folder, config, checkpoint, state)
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

    /// The averaged weights, which are validated and exported.
    pub fn averaged(&self) -> &SparseModel {
        &self.average
    }

    /// Trains to the end, or until `stop`; both write a checkpoint. Returns whether the run has finished.
    ///
    /// # Errors
    ///
    /// If there are no games, the loss is not finite ([`LossNotFinite`]), or a file cannot be written.
    pub fn train(
        &mut self,
        games: Vec<SampleSource>,
        held_out: &[HeldOutSamples],
        stop: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let config = self.config.clone();
        let share = |progress: &SparseProgress| config.progress(progress.samples, progress.time_s);
        if share(&self.progress) >= 1.0 {
            return Ok(true);
        }
        let sizes = StreamSizes { batch: config.batch, block: config.block };
        let cursor = self.progress.cursor.clone();
        let mut stream = SampleStream::new(games, sizes, config.seed, config.thread_count(), cursor)
            .map_err(anyhow::Error::msg)?;
        let schedule = config.schedule();
        let mut reporter = Reporter::open(&self.folder, config.samples, self.progress.reported())?;
        let (begun, before) = (Instant::now(), self.progress.time_s);
        let mut saved = Instant::now();
        loop {
            let elapsed =
                if config.minutes > 0.0 { self.progress.time_s / (60.0 * config.minutes) } else { 0.0 };
            let rate = schedule.rate(self.progress.samples, elapsed);
            let batch = stream.next_batch().map_err(anyhow::Error::msg)?;
            let tally = self.learner.step(&batch, rate);
            if !(tally.policy().is_finite() && tally.value().is_finite()) {
                bail!(LossNotFinite);
            }
            self.progress.step = self.learner.steps;
            self.progress.samples += tally.samples;
            self.progress.time_s = before + begun.elapsed().as_secs_f64();
            self.progress.cursor = stream.cursor().clone();
            self.average();
            self.tally.add(&tally);
            let share = share(&self.progress);
            let (done, stopped) = (share >= 1.0, stop());
            let step = self.progress.step;
            if done || step.is_multiple_of(config.report_every) {
                self.report(&mut reporter, f64::from(rate), share)?;
            }
            if done || step.is_multiple_of(config.validate_every) {
                self.validate(&mut reporter, held_out)?;
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

    /// Trains as [`SparseRun::train`] does, with a summary in [`SparseProgress::summary`] of the steps since `from`, which
    /// is the run's present step or was when an earlier call with the same `from` began. Then games are read from their
    /// beginning.
    ///
    /// # Errors
    ///
    /// As [`SparseRun::train`]; also [`LossNotFinite`] if a weight is not finite at the end.
    pub fn train_from(
        &mut self,
        from: u64,
        games: Vec<SampleSource>,
        held_out: &[HeldOutSamples],
        stop: &dyn Fn() -> bool,
    ) -> Result<bool> {
        if self.progress.step == from {
            self.progress.summary = TrainSummary::default();
            self.progress.cursor = StreamCursor::default();
        }
        if !self.progress.cursor.places.is_empty() && self.progress.cursor.places.len() != games.len() {
            log::warn!("the sources have changed: games are read from their beginning");
            self.progress.cursor = StreamCursor::default();
        }
        let finished = self.train(games, held_out, stop)?;
        let finite = self.average.tensors().iter().all(|tensor| tensor.w.iter().all(|w| w.is_finite()));
        ensure!(!finished || finite, LossNotFinite);
        Ok(finished)
    }

    /// Reports the steps since the last report.
    fn report(&mut self, reporter: &mut Reporter, rate: f64, share: f64) -> Result<()> {
        let tally = std::mem::take(&mut self.tally);
        let report = TrainReport { measures: tally.measures(), ..TrainReport::default() };
        let speed = reporter.train(self.progress.reported(), &report, rate, share)?;
        self.progress.summary.add(&report, speed);
        Ok(())
    }

    /// Measures the averaged weights on held-out positions.
    fn validate(&mut self, reporter: &mut Reporter, held_out: &[HeldOutSamples]) -> Result<()> {
        let begun = Instant::now();
        let validations = validate(&self.average, held_out, self.learner.threads);
        if validations.all.samples == 0 {
            return Ok(());
        }
        let names: Vec<String> = held_out.iter().map(|source| source.name.clone()).collect();
        reporter.validation(self.progress.reported(), &names, &validations, begun.elapsed())?;
        let phases = Phase::ALL.map(Phase::name).into_iter().zip(&validations.phases);
        self.progress.summary.validation = json!(validations.all);
        self.progress.summary.phases = json!(phases.collect::<BTreeMap<_, _>>());
        Ok(())
    }

    /// Moves the averaged weights towards the network's.
    fn average(&mut self) {
        let SparseProgress { step, samples, trained, .. } = self.progress;
        // At first the average of random weights is the network itself.
        if !step.is_multiple_of(AVERAGE_EVERY) && (trained || step >= AVERAGE_EVERY) {
            return;
        }
        let most = if trained { f64::INFINITY } else { 0.1 * samples as f64 };
        let horizon = (self.config.average_samples as f64).min(most);
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

/// The configuration and progress of the run that wrote a checkpoint; of weights alone, as those of `rl`, their sizes.
///
/// # Errors
///
/// If its state is not that of a run.
pub fn run_of(checkpoint: &SparseCheckpoint) -> Result<(SparseTrainConfig, SparseProgress)> {
    if checkpoint.state.is_empty() {
        let model = checkpoint.network.shape.config();
        return Ok((SparseTrainConfig { model, ..SparseTrainConfig::default() }, SparseProgress::default()));
    }
    let state: RunState = serde_json::from_str(&checkpoint.state).context("the checkpoint's state")?;
    Ok((state.config, state.progress))
}
