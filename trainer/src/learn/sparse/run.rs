//! Training runs of the family `sparse`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::checkpoint::SparseCheckpoint;
use super::learner::SparseLearner;
use super::network::SparseModel;
use super::pass::SparseTally;
use super::samples::SparseBatch;
use super::sources::HeldOutSamples;
use super::stream::{SampleSource, SampleStream, StreamCursor, StreamSizes};
use super::validation::validate;
use crate::config::SparseTrainConfig;
use crate::learn::run::metrics::{TrainReport, Validations};
use crate::learn::run::{AverageUpdate, Feed, Learner, Run, RunFolder, TrainError, TrainProgress};

pub type SparseRun = Run<SparseTrainer>;

pub struct SparseTrainer {
    pub(super) config: SparseTrainConfig,
    pub(super) learner: SparseLearner,
    pub(super) average: SparseModel,
    /// The stream's position at the resumed checkpoint.
    pub(super) cursor: StreamCursor,
    /// Sums over the steps since the last report.
    pub(super) tally: SparseTally,
}

#[derive(Clone, Debug)]
pub enum InitialWeights {
    Random,
    /// The averaged weights soon forget these.
    Untrained(SparseModel),
    /// The averaged weights continue from these.
    Trained(SparseModel),
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunState {
    pub progress: Stored,
    pub tally: SparseTally,
    pub config: SparseTrainConfig,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    #[serde(flatten)]
    pub progress: TrainProgress,
    /// A [`StreamCursor`].
    pub cursor: Value,
}

impl SparseRun {
    /// The initial network may be smaller than configured ([`SparseModel::widened`]), but not larger.
    pub fn start(folder: RunFolder, config: &SparseTrainConfig, init: InitialWeights) -> Result<SparseRun> {
        folder.ensure_empty()?;
        let expected = config.shape();
        let trained = matches!(init, InitialWeights::Trained(_));
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
        let learner = SparseTrainer::new(config, network);
        let progress = TrainProgress { trained, ..TrainProgress::default() };
        Run::open(folder, config, config.run(), learner, progress)
    }
}

impl SparseTrainer {
    pub fn new(config: &SparseTrainConfig, network: SparseModel) -> SparseTrainer {
        SparseTrainer {
            average: network.clone(),
            learner: SparseLearner::new(network, config.adam, config.thread_count()),
            config: config.clone(),
            cursor: StreamCursor::default(),
            tally: SparseTally::default(),
        }
    }

    pub fn parameters(&self) -> usize {
        self.learner.network.parameters()
    }

    /// The averaged weights are validated and exported.
    pub fn averaged(&self) -> &SparseModel {
        &self.average
    }

    /// Continues from the run's position.
    pub fn feed(&self, games: Vec<SampleSource>) -> Result<SampleStream> {
        let config = &self.config;
        let sizes = StreamSizes { batch: config.batch, block: config.block };
        let places = &self.cursor.places;
        let cursor = if places.is_empty() || places.len() == games.len() {
            self.cursor.clone()
        } else {
            log::warn!("the sources have changed: games are read from their beginning");
            StreamCursor::default()
        };
        SampleStream::new(games, sizes, config.seed, config.thread_count(), cursor)
    }
}

impl Learner for SparseTrainer {
    type Feed = dyn Feed<Batch = SparseBatch>;
    type HeldOut = [HeldOutSamples];

    // An update reads and writes all weights, too much for every step on a CPU.
    const AVERAGE_EVERY: u64 = 16;

    fn step(
        &mut self,
        feed: &mut Self::Feed,
        lr: f64,
        _: &TrainProgress,
        _: &dyn Fn(f64),
    ) -> Result<u64, TrainError> {
        let batch = feed.next_batch()?;
        let tally = self.learner.step(&batch, lr as f32);
        if !(tally.policy().is_finite() && tally.value().is_finite()) {
            return Err(TrainError::NotFinite(1));
        }
        self.tally.add(&tally);
        Ok(tally.samples)
    }

    fn average(&mut self, update: AverageUpdate) {
        match update {
            AverageUpdate::Same => self.average.copy_weights(&self.learner.network),
            AverageUpdate::Towards(share) => self.average.approach(&self.learner.network, share as f32),
        }
    }

    fn report(&mut self) -> TrainReport {
        let tally = std::mem::take(&mut self.tally);
        TrainReport { measures: tally.measures(), ..TrainReport::default() }
    }

    fn has_counted(&self) -> bool {
        self.tally.samples > 0
    }

    fn validate(&self, held_out: &[HeldOutSamples]) -> Validations {
        validate(&self.average, held_out, self.learner.threads)
    }

    fn is_finite(&self) -> bool {
        self.average.tensors().iter().all(|tensor| tensor.w.iter().all(|w| w.is_finite()))
    }

    fn begin_part(&mut self) {
        self.cursor = StreamCursor::default();
    }

    fn write(&self, path: &Path, progress: &TrainProgress, feed: &Self::Feed) -> Result<()> {
        let progress = Stored { progress: progress.clone(), cursor: feed.position() };
        let state = RunState { progress, tally: self.tally, config: self.config.clone() };
        let checkpoint = SparseCheckpoint {
            network: self.learner.network.clone(),
            average: self.average.clone(),
            state: serde_json::to_string(&state)?,
        };
        checkpoint.write(path)
    }
}

/// A file of weights alone gives only its sizes.
pub fn run_of(checkpoint: &SparseCheckpoint) -> Result<(SparseTrainConfig, TrainProgress)> {
    if checkpoint.state.is_empty() {
        let model = checkpoint.network.shape.config();
        return Ok((SparseTrainConfig { model, ..SparseTrainConfig::default() }, TrainProgress::default()));
    }
    let state: RunState = serde_json::from_str(&checkpoint.state).context("the checkpoint's state")?;
    Ok((state.config, state.progress.progress))
}
