//! The arguments of the commands that run UCI engines.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::datagen::{EngineCommand, Limit, UciEngine};

/// Which engine, how many of it, and the limits of their searches.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// UCI engine; a name is also looked up in /usr/games
    #[arg(long, default_value = "stockfish")]
    engine: PathBuf,
    /// A UCI option to set, NAME=VALUE; can be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Engines that run at once [default: one per processor]
    #[arg(long)]
    engines: Option<usize>,
    /// Search depth in plies [default: 15, unless --nodes or --movetime]
    #[arg(long, conflicts_with_all = ["nodes", "movetime"], value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Nodes per search
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Milliseconds per search
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    movetime: Option<u64>,
    /// Seconds without an answer after which an engine is restarted
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

fn name_and_value(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text.split_once('=').context("an option is NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl EngineArgs {
    /// The limit of a search.
    pub fn limit(&self) -> Limit {
        match (self.depth, self.nodes, self.movetime) {
            (_, Some(nodes), _) => Limit::Nodes(nodes),
            (_, _, Some(milliseconds)) => Limit::Movetime(milliseconds),
            (depth, ..) => Limit::Depth(depth.unwrap_or(15)),
        }
    }

    /// How many engines run at once.
    pub fn count(&self) -> usize {
        self.engines.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// The options to set, as text.
    pub fn options(&self) -> Vec<String> {
        self.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// The engine's name, for which it is started.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or lacks an option that is to be set.
    pub fn name(&self, stop: &AtomicBool) -> anyhow::Result<String> {
        Ok(UciEngine::start(&self.command(), stop)?.name().to_owned())
    }

    /// How an engine is started.
    pub fn command(&self) -> EngineCommand {
        let options = self.options.clone();
        EngineCommand { program: find(&self.engine), options, timeout: Duration::from_secs(self.patience) }
    }
}

/// Debian installs Stockfish in a folder that is not in root's PATH.
fn find(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let games = Path::new("/usr/games").join(program);
    let known = program.components().count() > 1
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !known && games.is_file() { games } else { program.to_owned() }
}
