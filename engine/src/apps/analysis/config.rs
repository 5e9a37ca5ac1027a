use std::io;

use thiserror::Error;

use crate::apps::uci_client::name_and_value;
use crate::setup::{Engine, EngineBuilder, SetupError, TrafficLog};

#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(
    after_help = "Example: echo '{\"id\": 1, \"nodes\": 400}' | philidor analyse\ndocs/analysis.md of the source \
        describes queries and answers; packages hold it in docs or share/doc/philidor."
)]
pub struct AnalyseConfig {
    /// A UCI option to set, NAME=VALUE; repeatable
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub options: Vec<(String, String)>,
    /// Visits per position for queries with neither "nodes" nor "movetime"
    #[arg(long, default_value_t = 800, value_parser = clap::value_parser!(u64).range(1..=super::request::MOST_NODES))]
    pub nodes: u64,
    /// Stop when the input ends, even if queries are unanswered
    #[arg(long)]
    pub quit_at_once: bool,
}

#[derive(Debug, Error)]
pub enum AnalyseError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("stdout: {0}")]
    Output(io::Error),
}

impl AnalyseConfig {
    pub fn engine(&self, traffic: &TrafficLog) -> Result<Engine, SetupError> {
        let mut builder = EngineBuilder::default().traffic(traffic.clone());
        for (name, value) in &self.options {
            builder = builder.option(name, value)?;
        }
        let engine = builder.analysing().build_shared()?;
        match engine.settings().player {
            None => Ok(engine),
            Some(_) => Err(SetupError::Unusable("Player", "only the network's search analyses".to_owned())),
        }
    }
}
