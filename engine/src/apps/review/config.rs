//! The arguments of `philidor review`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shakmaty::Color;

use super::judge::{Judge, OwnJudge, UciJudge};
use super::run::{ReviewError, ReviewPaths};
use crate::apps::uci_client::{
    EngineCommand, EngineError, Limit, UciEngine, command_words, find_program, name_and_value,
};
use crate::setup::settings::Settings;
use crate::setup::{EngineArgs, EngineBuilder};

/// Of an external engine, beyond its search time.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, clap::Args)]
pub struct OwnSearchArgs {
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Folders of Syzygy tablebases
    #[arg(long)]
    pub syzygy: Option<String>,
    /// Nodes per position [default: 20000, unless --movetime]
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Milliseconds per position
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub movetime: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Side {
    /// White's
    White,
    /// Black's
    Black,
    /// all
    Both,
}

impl From<Side> for Option<Color> {
    fn from(side: Side) -> Option<Color> {
        match side {
            Side::White => Some(Color::White),
            Side::Black => Some(Color::Black),
            Side::Both => None,
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: philidor review games.pgn --nodes 50000
         philidor review games.pgn --judge stockfish --nodes 500000")]
pub struct ReviewConfig {
    /// PGN file with any number of games, or - for standard input
    pub game: PathBuf,
    /// Path of the results; .pgn and .html are added [default: the game file's, with .review; stdin.review for standard
    /// input]
    #[arg(long)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub search: OwnSearchArgs,
    /// Judge only this side's moves
    #[arg(long, value_enum, default_value_t = Side::Both)]
    pub side: Side,
    /// Skip the first PLY plies of each game
    #[arg(long, default_value_t = 0, value_name = "PLY")]
    pub from_ply: usize,
    /// Evaluate with this UCI engine instead: a program, with arguments as in "gnuchess --uci"; a name is also looked
    /// up in /usr/games
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["weights", "threads", "hash", "syzygy"])]
    pub judge: Option<String>,
    /// A UCI option of the judge engine, NAME=VALUE; repeatable
    #[arg(long = "judge-option", value_name = "NAME=VALUE", value_parser = name_and_value, requires = "judge")]
    pub judge_options: Vec<(String, String)>,
    /// Continue an interrupted review
    #[arg(long)]
    pub resume: bool,
}

impl OwnSearchArgs {
    pub fn limit(&self) -> Limit {
        match (self.nodes, self.movetime) {
            (_, Some(milliseconds)) => Limit::Movetime(milliseconds),
            (nodes, None) => Limit::Nodes(nodes.unwrap_or(20_000)),
        }
    }

    pub fn judge(&self) -> Result<OwnJudge, String> {
        let settings = Settings { tables: self.syzygy.clone(), analyse: true, ..self.engine.settings() };
        own_judge(&settings, self.limit())
    }
}

pub fn own_judge(settings: &Settings, limit: Limit) -> Result<OwnJudge, String> {
    let engine = EngineBuilder::new(settings.clone()).build().map_err(|error| error.to_string())?;
    let name = format!("Philidor {} ({})", env!("CARGO_PKG_VERSION"), engine.network_name());
    let pool = engine.into_pool().map_err(|error| error.to_string())?;
    Ok(OwnJudge::new(name, pool, limit))
}

impl ReviewConfig {
    pub fn judge(&self, stop: &Arc<AtomicBool>) -> Result<Box<dyn Judge>, ReviewError> {
        let failed = |error: &dyn std::fmt::Display| ReviewError::Judge(error.to_string());
        let Some(engine) = &self.judge else {
            return Ok(Box::new(self.search.judge().map_err(|error| failed(&error))?));
        };
        // A path may contain spaces.
        let words =
            if Path::new(engine).is_file() { Some(vec![engine.clone()]) } else { command_words(engine) };
        let Some([program, arguments @ ..]) = words.as_deref() else {
            return Err(failed(&format!("--judge {engine}: no program, or a quotation mark is not closed")));
        };
        let (program, options) = (find_program(Path::new(program)), self.judge_options.clone());
        let command = EngineCommand { program, arguments: arguments.to_vec(), options, timeout: PATIENCE };
        let engine = UciEngine::start(&command, stop).map_err(|error| match error {
            EngineError::Start(..) => failed(&format!("{error}; name one with --judge")),
            error => failed(&error),
        })?;
        let judge = UciJudge::new(engine, &self.judge_options, self.search.limit());
        Ok(Box::new(judge.map_err(|error| failed(&error))?))
    }

    /// Follows the external engine's name in titles.
    pub fn options_text(&self) -> String {
        self.judge_options.iter().map(|(name, value)| format!(", {name}={value}")).collect()
    }

    pub fn limit_text(&self) -> String {
        match self.search.limit() {
            Limit::Nodes(nodes) => format!("{nodes} nodes"),
            Limit::Movetime(milliseconds) => format!("{milliseconds} ms"),
            Limit::Depth(plies) => format!("depth {plies}"),
        }
    }

    pub fn is_standard_input(&self) -> bool {
        self.game == Path::new("-")
    }

    /// The file, or the name that standard input and devices such as `/dev/stdin` have in the results.
    pub fn input_name(&self) -> &Path {
        let is_in = |folder: &&str| self.game.starts_with(folder);
        let is_device =
            self.game.parent() == Some(Path::new("/dev")) || ["/dev/fd", "/proc"].iter().any(is_in);
        if self.is_standard_input() || is_device { Path::new("stdin") } else { &self.game }
    }

    pub fn paths(&self) -> ReviewPaths {
        let base = self.out.clone().unwrap_or_else(|| self.input_name().with_extension("review"));
        let with = |end: &str| {
            let mut path = base.as_os_str().to_owned();
            path.push(end);
            PathBuf::from(path)
        };
        ReviewPaths { pgn: with(".pgn"), page: with(".html"), journal: with(".part") }
    }
}
