//! The arguments of `philidor review`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shakmaty::Color;

use super::judge::{Judge, OwnJudge, OwnJudges, UciJudge};
use super::run::{ReviewError, ReviewPaths};
use super::verify::Budget;
use crate::apps::uci_client::{
    EngineCommand, EngineError, Limit, UciEngine, command_words, find_program, name_and_value,
};
use crate::setup::settings::Settings;
use crate::setup::{Engine, EngineArgs, EngineBuilder};

/// Of an external engine, beyond its search time.
const PATIENCE: Duration = Duration::from_secs(120);
/// Until it has greeted and is ready.
const GREETING: Duration = Duration::from_secs(30);

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

/// Of a review, for each game.
#[derive(Clone, Debug, clap::Args)]
pub struct EffortArgs {
    /// Nodes for each game
    #[arg(long, conflicts_with_all = ["time", "quality"], value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Seconds for each game
    #[arg(long, conflicts_with = "quality", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub time: Option<u32>,
    /// Nodes in proportion to a game's positions
    #[arg(long, value_enum, default_value_t = Quality::Normal)]
    pub quality: Quality,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Quality {
    /// 4,000 a position
    Fast,
    /// 20,000
    Normal,
    /// 300,000
    Deep,
}

impl Quality {
    fn nodes(self) -> u64 {
        match self {
            Quality::Fast => 4_000,
            Quality::Normal => 20_000,
            Quality::Deep => 300_000,
        }
    }
}

impl EffortArgs {
    pub fn budget(&self) -> Budget {
        match (self.nodes, self.time) {
            (Some(nodes), _) => Budget::Nodes(nodes),
            (None, Some(seconds)) => Budget::Time(Duration::from_secs(seconds.into())),
            (None, None) => Budget::NodesPerPosition(self.quality.nodes()),
        }
    }

    pub fn text(&self) -> String {
        match self.budget() {
            Budget::Nodes(nodes) => format!("{nodes} nodes a game"),
            Budget::NodesPerPosition(nodes) => format!("{nodes} nodes a position in the mean"),
            Budget::Time(time) => format!("{} s a game", time.as_secs()),
        }
    }
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
#[command(after_help = "Example: philidor review games.pgn --quality deep
         philidor review games.pgn --judge stockfish --time 60
         philidor review 1960.pgn 1961.pgn --player \"Tal, Mikhail\" --quality fast --out tal")]
pub struct ReviewConfig {
    /// PGN files with any number of games, or - for standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Path of the results; .pgn, .html and, for several games, .pages are added [default: the file's, with .review;
    /// stdin.review for standard input; needed for several files]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Review this player's games only, and begin with a report on them; the name as in the games, in any case
    #[arg(long, value_name = "NAME", conflicts_with = "side")]
    pub player: Option<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Folders of Syzygy tablebases
    #[arg(long)]
    pub syzygy: Option<String>,
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
    /// Replace the results of an earlier review; without it, existing files are refused
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
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
    judge_by(built(settings)?, limit)
}

fn built(settings: &Settings) -> Result<Engine, String> {
    EngineBuilder::new(settings.clone()).build().map_err(|error| error.to_string())
}

fn judge_by(engine: Engine, limit: Limit) -> Result<OwnJudge, String> {
    let name = format!("Philidor {} ({})", env!("CARGO_PKG_VERSION"), engine.network_name());
    let pool = engine.into_pool().map_err(|error| error.to_string())?;
    Ok(OwnJudge::new(name, pool, limit))
}

impl ReviewConfig {
    pub fn judge(&self, stop: &Arc<AtomicBool>) -> Result<Box<dyn Judge>, ReviewError> {
        let failed = |error: &dyn std::fmt::Display| ReviewError::Judge(error.to_string());
        let Some(engine) = &self.judge else {
            return Ok(Box::new(self.own_judges().map_err(|error| failed(&error))?));
        };
        // A path may contain spaces.
        let words =
            if Path::new(engine).is_file() { Some(vec![engine.clone()]) } else { command_words(engine) };
        let Some([program, arguments @ ..]) = words.as_deref() else {
            return Err(failed(&format!("--judge {engine}: no program, or a quotation mark is not closed")));
        };
        let (program, options) = (find_program(Path::new(program)), self.judge_options.clone());
        let command = EngineCommand { program, arguments: arguments.to_vec(), options, timeout: GREETING };
        let mut engine = UciEngine::start(&command, stop).map_err(|error| match error {
            EngineError::Start(..) => failed(&format!("{error}; name one with --judge")),
            error => failed(&error),
        })?;
        engine.wait_at_most(PATIENCE);
        let judge = UciJudge::new(engine, &self.judge_options);
        Ok(Box::new(judge.map_err(|error| failed(&error))?))
    }

    /// Follows the external engine's name in titles.
    pub fn options_text(&self) -> String {
        self.judge_options.iter().map(|(name, value)| format!(", {name}={value}")).collect()
    }

    /// Further settings that change the searches, by which the journal knows its review.
    pub fn further_text(&self) -> String {
        let mut text =
            if self.from_ply > 0 { format!(", from ply {}", self.from_ply) } else { String::new() };
        text += &self
            .player
            .as_ref()
            .map_or(String::new(), |name| format!(", games of {}", name.replace(", ", ",")));
        if self.judge.is_none() {
            let settings = self.engine.settings();
            text += &format!(", {} MiB a search", (settings.hash / settings.threads).max(1));
            text += &self.syzygy.as_ref().map_or(String::new(), |folders| format!(", tables {folders}"));
        }
        text
    }

    fn own_judges(&self) -> Result<OwnJudges, String> {
        let all = Settings { tables: self.syzygy.clone(), analyse: true, ..self.engine.settings() };
        // Each search sets its own limit.
        let limit = Limit::Nodes(1);
        let (threads, hash) = (all.threads, all.hash);
        let alone = Settings { threads: 1, hash: (hash / threads).max(1), ..all };
        let mut first = built(&alone)?;
        let tables = first.book_and_tables().tables().clone();
        if !first.is_native() {
            first.set_option("Threads", Some(&threads.to_string()))?;
            first.set_option("Hash", Some(&hash.to_string()))?;
            return Ok(OwnJudges::new(vec![judge_by(first, limit)?], tables));
        }
        let mut judges = vec![judge_by(first, limit)?];
        for _ in 1..threads {
            judges.push(own_judge(&alone, limit)?);
        }
        Ok(OwnJudges::new(judges, tables))
    }

    /// `None` for several files without `--out`.
    pub fn paths(&self) -> Option<ReviewPaths> {
        let of_file = || match &self.files[..] {
            [file] => Some(named(file).with_extension("review")),
            _ => None,
        };
        let base = self.out.clone().or_else(of_file)?;
        let with = |end: &str| {
            let mut path = base.as_os_str().to_owned();
            path.push(end);
            PathBuf::from(path)
        };
        let (pgn, page, pages, journal) = (with(".pgn"), with(".html"), with(".pages"), with(".part"));
        Some(ReviewPaths { pgn, page, pages, journal })
    }

    /// What the page calls its games.
    pub fn games_name(&self) -> String {
        let file = match &self.files[..] {
            [file] => named(file),
            _ => self.out.as_deref().unwrap_or(Path::new("games")),
        };
        file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

pub fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// The file, or the name that standard input and devices such as `/dev/stdin` have in the results.
fn named(file: &Path) -> &Path {
    let is_in = |folder: &&str| file.starts_with(folder);
    let is_device = file.parent() == Some(Path::new("/dev")) || ["/dev/fd", "/proc"].iter().any(is_in);
    if is_standard_input(file) || is_device { Path::new("stdin") } else { file }
}
