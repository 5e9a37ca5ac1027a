//! The command line of `philidor analyse`, and what it sets up.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::apps::io::TrafficLog;
use crate::apps::uci_client::name_and_value;
use crate::nets::onnx::Device;
use crate::setup::options::{self, OptionError};
use crate::setup::settings::{Backend, Settings};
use crate::setup::{Knowledge, LoadError, LoadedNetwork, WorkerEvaluators};

/// Positions that a worker evaluates at once when several searches run: `docs/results/speed.md`.
const BATCH: usize = 64;

/// Arguments of `philidor analyse`.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(
    after_help = "Example: echo '{\"id\": 1, \"nodes\": 400}' | philidor analyse\nSee docs/analysis.md."
)]
pub struct AnalyseConfig {
    /// A UCI option to set, NAME=VALUE; can be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub options: Vec<(String, String)>,
    /// Visits of a search whose query has neither "nodes" nor "movetime"
    #[arg(long, default_value_t = 800, value_parser = clap::value_parser!(u64).range(1..=super::request::MOST_NODES))]
    pub nodes: u64,
    /// End with the input, without finishing what was asked
    #[arg(long)]
    pub quit_at_once: bool,
}

/// Why nothing can be analysed.
#[derive(Debug, Error)]
pub enum AnalyseError {
    /// An option cannot be set.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// What an option names cannot be used.
    #[error("option {0}: {1}")]
    Unusable(&'static str, String),
    #[error(transparent)]
    Network(#[from] LoadError),
    #[error("stdout: {0}")]
    Output(io::Error),
}

/// What a session analyses with.
pub struct AnalysisSetup {
    /// The options.
    pub settings: Settings,
    /// The endgame tables.
    pub knowledge: Knowledge,
    /// The workers' evaluators.
    pub workers: WorkerEvaluators,
    /// The most positions that a worker evaluates at once.
    pub batch: usize,
    /// The network in one line.
    pub network: String,
    /// Visits where a query has no limit.
    pub nodes: u64,
}

impl AnalyseConfig {
    /// Sets the options, opens what they name, and loads the network. What the user should be told is logged.
    ///
    /// # Errors
    ///
    /// If an option cannot be set or what it names cannot be used.
    pub fn setup(&self, traffic: &TrafficLog) -> Result<AnalysisSetup, AnalyseError> {
        let mut settings = Settings::default();
        for (name, value) in &self.options {
            if let Some(note) = options::set(&mut settings, name, Some(value))?.note {
                log::warn!("{note}");
            }
        }
        settings.analyse = true;
        if settings.player.is_some() {
            return Err(AnalyseError::Unusable("Player", "only the network's search analyses".to_owned()));
        }
        let unusable = |name, error: String| AnalyseError::Unusable(name, error);
        let log_file = settings.log_file.as_deref().map(Path::new);
        traffic.log_to(log_file).map_err(|error| unusable("Debug Log File", error.to_string()))?;
        let mut knowledge = Knowledge::default();
        knowledge.open_tables(&settings).map_err(|error| unusable("SyzygyPath", error.to_string()))?;
        // One search adds no more than MinibatchSize to a batch, several together may add more.
        let mut together = settings.clone();
        together.params.batch = settings.params.batch.max(BATCH);
        let mut notes = Vec::new();
        let network = match settings.backend {
            Backend::Uniform => None,
            _ => Some(LoadedNetwork::load(&together, &mut notes)?),
        };
        notes.iter().for_each(|note| log::warn!("{note}"));
        if matches!(network, Some(LoadedNetwork::OnnxSparse(_, Device::Cpu))) {
            // ONNX Runtime gathers the rows of a large batch outside the processor's cache.
            together.params.batch = settings.params.batch;
        }
        let batch = together.params.batch;
        let workers = WorkerEvaluators::new(network.as_ref(), &together)?;
        let network = network.map_or_else(|| "none".to_owned(), |network| network.describe());
        Ok(AnalysisSetup { settings, knowledge, workers, batch, network, nodes: self.nodes })
    }
}
