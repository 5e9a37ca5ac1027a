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

/// The part of a run that a learner sees.
pub struct LoopContext<'a> {
    pub config: &'a RlConfig,
    pub folder: &'a Path,
    pub nets: &'a RunNetworks,
    pub log: &'a RunLog,
    pub iteration: u64,
    pub stop: &'a Arc<AtomicBool>,
}

impl LoopContext<'_> {
    pub fn log_event(&self, line: &str) -> Result<()> {
        self.log.event(self.iteration, line)
    }
}

pub struct LoopGames<'a> {
    pub buffer: &'a ReplayBuffer,
    pub folder: &'a Path,
    /// Share of samples from pretraining games; 0 if there are none.
    pub mix: f64,
}

pub struct TrainTask<'a> {
    /// Folder of the training run, which resumes from its checkpoint if any.
    pub folder: PathBuf,
    /// The network whose weights a new training run starts from.
    pub init: &'a str,
    pub name: &'a str,
    /// Training ends once the run has learnt this many samples in total, earlier iterations included.
    pub samples: u64,
    pub lr_factor: f64,
    pub seed: u64,
    pub games: LoopGames<'a>,
    /// Step at which this iteration's training began; `None` if not begun.
    pub from: Option<u64>,
}

pub enum TrainOutcome {
    Stopped,
    /// Training diverged for this reason; no network was written.
    NotFinite(String),
    Learnt(Box<LearntNetwork>),
}

pub struct LearntNetwork {
    pub step: u64,
    pub summary: TrainSummary,
    /// Policy divergence from the first network, in nats.
    pub drift: PolicyDivergence,
    pub lr: f64,
}

impl LearntNetwork {
    pub fn metrics(&self) -> Value {
        let summary = &self.summary;
        json!({
            "step": self.step, "policy_loss": summary.policy_loss(), "wdl_loss": summary.wdl_loss(),
            "top1": summary.top1(), "top5": summary.top5(), "samples_per_s": summary.samples_per_s(),
            "skipped": summary.skipped, "validation": summary.validation, "phases": summary.phases,
        })
    }
}

pub struct LearntPlayer {
    pub network: Arc<dyn Backend>,
    pub file: PathBuf,
    /// A line for the log.
    pub news: Option<String>,
}

pub trait LoopLearner {
    /// Device and runtime, for the log.
    fn describe(&self, config: &RlConfig) -> String;

    /// Like the key `train.model`. Fails for another family.
    fn model(&self, path: &Path, config: &RlConfig) -> Result<Value>;

    fn begin(&self, config: &RlConfig, nets: &RunNetworks) -> Result<()>;

    /// Copies the structure of the run's networks into `config` and reads the pretraining games. Must be called before
    /// the methods below.
    fn open(&mut self, config: &mut RlConfig, nets: &RunNetworks, folder: &Path) -> Result<()>;

    /// `games` are the newest game files, for calibration.
    fn player(&self, context: &LoopContext<'_>, name: &str, games: &[PathBuf]) -> Result<LearntPlayer>;

    fn judged(&self, nets: &RunNetworks, name: &str) -> Result<JudgedNetwork>;

    /// Number of playing threads for the setting `workers`.
    fn workers(&self, config: &RlConfig, workers: usize) -> usize;

    fn has_checkpoint(&self, folder: &Path) -> bool;

    /// Trains and writes the network. Passes the first step to `begun`.
    fn train(
        &self,
        context: &LoopContext<'_>,
        task: &TrainTask<'_>,
        begun: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<TrainOutcome>;

    /// Compares on the same held-out games: pretraining games, or else the run's own.
    fn validated(
        &self,
        context: &LoopContext<'_>,
        games: &LoopGames<'_>,
        names: [&str; 2],
    ) -> Result<[Validations; 2]>;
}
