//! What depends on the family of a run's networks: how they are made, stored, played and trained.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde_json::{Value, json};

use super::buffer::ReplayBuffer;
use super::networks::RunNetworks;
use super::run_log::RunLog;
use crate::base::network::Backend;
use crate::config::RlConfig;
use crate::judge::evaluate::JudgedNetwork;
use crate::learn::run::metrics::{PolicyDivergence, TrainSummary, Validations};

/// What a learner sees of its run.
pub struct LoopContext<'a> {
    /// The settings.
    pub config: &'a RlConfig,
    /// The run's folder.
    pub folder: &'a Path,
    /// Its networks.
    pub nets: &'a RunNetworks,
    /// Its log.
    pub log: &'a RunLog,
    /// The present iteration.
    pub iteration: u64,
    /// Raised to end the run.
    pub stop: &'a Arc<AtomicBool>,
}

impl LoopContext<'_> {
    /// Writes a line to the event log.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn log_event(&self, line: &str) -> Result<()> {
        self.log.event(self.iteration, line)
    }
}

/// The games that an iteration learns from.
pub struct LoopGames<'a> {
    /// The run's own games.
    pub buffer: &'a ReplayBuffer,
    /// The folder of their files.
    pub folder: &'a Path,
    /// Share of the samples that come from the pretraining games; 0 without such games.
    pub mix: f64,
}

/// The training of one iteration.
pub struct TrainTask<'a> {
    /// Folder of the training run, which is continued if it has a checkpoint.
    pub folder: PathBuf,
    /// Otherwise it begins with the weights of this network.
    pub init: &'a str,
    /// The name of the network to write.
    pub name: &'a str,
    /// Samples of the training run at which the training is complete.
    pub samples: u64,
    /// Factor of the learning rate.
    pub lr_factor: f64,
    /// Seed of the samples.
    pub seed: u64,
    /// The games.
    pub games: LoopGames<'a>,
    /// Step of the training run at which this iteration's training began; none if it begins now.
    pub from: Option<u64>,
}

/// How an iteration's training ended.
pub enum TrainOutcome {
    /// On request, before its end.
    Stopped,
    /// It has diverged; the text says why. There is no network.
    NotFinite(String),
    /// The network was written.
    Learnt(Box<LearntNetwork>),
}

/// What a training brought.
pub struct LearntNetwork {
    /// The last step of the training run.
    pub step: u64,
    /// Losses and accuracies.
    pub summary: TrainSummary,
    /// Divergence of the policy from the first network's.
    pub drift: PolicyDivergence,
    /// The learning rate.
    pub lr: f64,
}

impl LearntNetwork {
    /// What the iteration's metrics say of it.
    pub fn metrics(&self) -> Value {
        let summary = &self.summary;
        json!({
            "step": self.step, "policy_loss": summary.policy_loss(), "wdl_loss": summary.wdl_loss(),
            "top1": summary.top1(), "top5": summary.top5(), "samples_per_s": summary.samples_per_s(),
            "skipped": summary.skipped, "validation": summary.validation, "phases": summary.phases,
        })
    }
}

/// A network of the run, ready to play.
pub struct LearntPlayer {
    /// The network.
    pub network: Arc<dyn Backend>,
    /// The file that holds what plays.
    pub file: PathBuf,
    /// A line for the log, if there is something to say.
    pub news: Option<String>,
}

/// The learner of a run.
pub trait LoopLearner {
    /// One line on what trains and plays.
    fn describe(&self, config: &RlConfig) -> String;

    /// The structure of the network in a file, JSON, as the key `train.model` has it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds a network of another family.
    fn model(&self, path: &Path, config: &RlConfig) -> Result<Value>;

    /// Writes the network that a new run begins with.
    ///
    /// # Errors
    ///
    /// The network to begin with cannot be read, or a file cannot be written.
    fn begin(&self, config: &RlConfig, nets: &RunNetworks) -> Result<()>;

    /// Called once before the first iteration: takes the structure of the run's networks into `config`, and reads the
    /// pretraining games.
    ///
    /// # Errors
    ///
    /// The first network or the games cannot be read.
    fn open(&mut self, config: &mut RlConfig, nets: &RunNetworks, folder: &Path) -> Result<()>;

    /// A network of the run, ready to play; `games` are the newest games' files.
    ///
    /// # Errors
    ///
    /// The network cannot be loaded.
    fn player(&self, context: &LoopContext<'_>, name: &str, games: &[PathBuf]) -> Result<LearntPlayer>;

    /// A network of the run, ready to be judged.
    ///
    /// # Errors
    ///
    /// The network cannot be loaded.
    fn judged(&self, nets: &RunNetworks, name: &str) -> Result<JudgedNetwork>;

    /// Number of threads to play on, where the settings say `workers`.
    fn workers(&self, config: &RlConfig, workers: usize) -> usize;

    /// Whether the folder of a training run has a checkpoint.
    fn has_checkpoint(&self, folder: &Path) -> bool;

    /// Trains and writes the network; `begun` is told the step at which the training begins.
    ///
    /// # Errors
    ///
    /// The games cannot be read, or a file cannot be written.
    fn train(
        &self,
        context: &LoopContext<'_>,
        task: &TrainTask<'_>,
        begun: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<TrainOutcome>;

    /// Measures two networks on the same held-out games: those of the pretraining, or without such the run's own.
    ///
    /// # Errors
    ///
    /// A network or the games cannot be read.
    fn validated(
        &self,
        context: &LoopContext<'_>,
        games: &LoopGames<'_>,
        names: [&str; 2],
    ) -> Result<[Validations; 2]>;
}
