//! What the commands that harvest are told alike.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::datagen::{EngineCommand, Limit, UciEngine};

/// Which engines, and how long they think.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// UCI engine; a name is also looked for in /usr/games
    #[arg(long, default_value = "stockfish")]
    engine: PathBuf,
    /// An option of the engine's, NAME=VALUE; can be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Engines at work at once [default: one a processor]
    #[arg(long)]
    engines: Option<usize>,
    /// Plies that they search [default: 15, unless --nodes or --movetime]
    #[arg(long, conflicts_with_all = ["nodes", "movetime"], value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Nodes that they search
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Milliseconds that they search
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    movetime: Option<u64>,
    /// Seconds after which an engine that says nothing is started again
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("an option is NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl EngineArgs {
    /// The limit that was chosen.
    pub fn limit(&self) -> Limit {
        match (self.depth, self.nodes, self.movetime) {
            (_, Some(nodes), _) => Limit::Nodes(nodes),
            (_, _, Some(milliseconds)) => Limit::Movetime(milliseconds),
            (depth, ..) => Limit::Depth(depth.unwrap_or(15)),
        }
    }

    /// How many work at once.
    pub fn count(&self) -> usize {
        self.engines.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// The options to set, as text.
    pub fn options(&self) -> Vec<String> {
        self.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// What the engine calls itself; it is started for that.
    ///
    /// # Errors
    ///
    /// One line: it can't be started, or lacks an option that is to be set.
    pub fn name(&self, stop: &AtomicBool) -> Result<String, String> {
        let engine = UciEngine::start(&self.command(), stop).map_err(|error| error.to_string())?;
        Ok(engine.name().to_owned())
    }

    /// How an engine is started.
    pub fn command(&self) -> EngineCommand {
        let options = self.options.clone();
        EngineCommand { program: find(&self.engine), options, patience: Duration::from_secs(self.patience) }
    }
}

/// Debian keeps Stockfish in a folder that root's PATH lacks.
fn find(program: &Path) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let games = Path::new("/usr/games").join(program);
    let known = program.components().count() > 1
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !known && games.is_file() { games } else { program.to_owned() }
}
