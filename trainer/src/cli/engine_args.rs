//! Arguments of the commands that run UCI engines.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use engine::apps::uci_client::{find_program, name_and_value};

use super::out_args::count;
use crate::config::bounds::{MAX_DEPTH, MAX_SECONDS, MAX_THREADS};
use crate::data::datagen::{EngineCommand, EngineError, Limit, UciEngine};

#[derive(Args, Debug)]
pub struct EngineArgs {
    /// UCI engine; a name is also looked up in /usr/games
    #[arg(long, default_value = "stockfish")]
    engine: PathBuf,
    /// A UCI option to set, NAME=VALUE; can be repeated
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Engines running concurrently [default: one per processor]
    #[arg(long, value_parser = count(1..=MAX_THREADS))]
    engines: Option<usize>,
    /// Search depth in plies [default: 15, unless --nodes or --movetime]
    #[arg(long, conflicts_with_all = ["nodes", "movetime"], value_parser = clap::value_parser!(u32).range(1..=MAX_DEPTH as i64))]
    depth: Option<u32>,
    /// Nodes per search
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Milliseconds per search
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000 * MAX_SECONDS))]
    movetime: Option<u64>,
    /// Restart an engine after this many seconds without an answer
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(..=MAX_SECONDS))]
    patience: u64,
}

impl EngineArgs {
    pub fn limit(&self) -> Limit {
        match (self.depth, self.nodes, self.movetime) {
            (_, Some(nodes), _) => Limit::Nodes(nodes),
            (_, _, Some(milliseconds)) => Limit::Movetime(milliseconds),
            (depth, ..) => Limit::Depth(depth.unwrap_or(15)),
        }
    }

    pub fn count(&self) -> usize {
        self.engines.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    pub fn options(&self) -> Vec<String> {
        self.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// Starts the engine and returns its name. Fails if the engine lacks a requested option.
    pub fn name(&self, stop: &AtomicBool) -> anyhow::Result<String> {
        match UciEngine::start(&self.command(), stop) {
            Ok(engine) => Ok(engine.name().to_owned()),
            Err(error @ EngineError::Start(..)) => bail!("{error}; name one with --engine"),
            Err(error) => Err(error.into()),
        }
    }

    pub fn program(&self) -> String {
        self.engine.display().to_string()
    }

    pub fn command(&self) -> EngineCommand {
        let options = self.options.clone();
        EngineCommand {
            program: find_program(&self.engine),
            arguments: Vec::new(),
            options,
            timeout: Duration::from_secs(self.patience),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AnnotateArgs, ArenaArgs, EvaluateArgs, MineArgs, SelfPlayArgs};
    use clap::{Args, Command};

    fn refused<T: Args>(line: &[&str]) -> String {
        let words = std::iter::once("command").chain(line.iter().copied());
        T::augment_args(Command::new("command")).try_get_matches_from(words).unwrap_err().to_string()
    }

    #[test]
    fn numbers_that_take_all_memory_or_time_are_refused_with_their_bound() {
        for (error, expected) in [
            (
                refused::<AnnotateArgs>(&["a.pgn", "--engines", "100000"]),
                "'--engines <ENGINES>': 100000 is not in 1..=256",
            ),
            (
                refused::<MineArgs>(&["--depth", "4000000000"]),
                "'--depth <DEPTH>': 4000000000 is not in 1..=245",
            ),
            (refused::<MineArgs>(&["--patience", "9999999999999"]), "is not in 0..=31536000"),
            (refused::<MineArgs>(&["--games", "18446744073709551615"]), "is not in 1..=1000000000"),
            (refused::<SelfPlayArgs>(&["--games", "18446744073709551615"]), "is not in 1..=1000000000"),
            (refused::<SelfPlayArgs>(&["--save-every", "18446744073709551615"]), "is not in 0..=31536000"),
            (
                refused::<ArenaArgs>(&["a", "b", "--visits", "2000000"]),
                "'--visits <VISITS>': 2000000 is not in 1..=1000000",
            ),
            (
                refused::<ArenaArgs>(&["a", "b", "--games", "18446744073709551615"]),
                "is not in 1..=1000000000",
            ),
            (
                refused::<ArenaArgs>(&["a", "b", "--workers", "1000"]),
                "'--workers <WORKERS>': 1000 is not in 0..=256",
            ),
            (
                refused::<ArenaArgs>(&["a", "b", "--at-once", "0"]),
                "'--at-once <AT_ONCE>': 0 is not in 1..=16384",
            ),
            (refused::<EvaluateArgs>(&["canaries", "a", "--nodes", "99999999999"]), "is not in 0..=1000000"),
        ] {
            assert!(error.contains(expected), "{error}");
        }
    }
}
