use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::bail;
use clap::Args;
use engine::base::words::counted;
use serde_json::json;

use super::engine_args::EngineArgs;
use super::interrupt;
use super::out_args::{OutArgs, file_stem, report};
use crate::base::files::{file_name, name_and_hash};
use crate::base::progress::{Counted, progress};
use crate::config::bounds::{MAX_GAMES, MAX_RANDOM_PLIES};
use crate::data::datagen::{
    DatagenSummary, FirstPositions, Mine, MinedMoves, MoveChoice, StartPositions, StartRules, TreePaths,
    run_tasks,
};
use crate::data::dataset::Store;
use crate::data::import::is_stream;

/// Bounds a tree's memory, and how long Ctrl-C waits.
const MAX_TREE_PATHS: u64 = 10_000;

/// Let a UCI engine play itself and write files of games (games/1) with its evaluations
///
/// The defaults are those of the lesson on imitation learning: from the initial position, one of the three best moves
/// with 80, 15 and 5 per cent, draws claimed, at most 500 plies. Ctrl-C loses nothing; the same command with --resume
/// continues, also with a larger --games. With --depth or --nodes an uninterrupted run's games depend only on the seed,
/// not on the number of engines.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer mine --games 1000 --depth 10\n  \
    philidor-trainer mine --name careless --careless --choice 100 --nodes 1500 --plies 80 --games 5000\n  \
    philidor-trainer mine --name dfrc --double-chess960 --choice 100 --nodes 100 --best-move --games 5000\n  \
    philidor-trainer mine --name met --from-games data/masters-*.h5 --tree-paths 300 --plies 16 --depth 7 --best-move\n  \
    philidor-trainer mine --name book --book openings.epd --movetime 50 --option Hash=64 --games 2000")]
pub struct MineArgs {
    /// Number of games
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=MAX_GAMES))]
    games: u64,
    /// Name of the files, before -00000.h5
    #[arg(long, default_value = "mined", value_parser = file_stem)]
    name: String,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    engines: EngineArgs,
    /// Weights for playing the best move, the second best …
    #[arg(long, default_value = "80,15,5")]
    choice: MoveChoice,
    /// Plies after which a game ends without a result
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    plies: u16,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Start from the positions of a book, shuffled: EPD, FEN, or the final positions of a PGN's games
    #[arg(long)]
    book: Option<PathBuf>,
    /// Start from random positions of the games in these files (games/1), all equally likely; without puzzles and
    /// held-out games
    #[arg(long, value_name = "FILES", num_args = 1.., conflicts_with = "book")]
    from_games: Vec<PathBuf>,
    /// Start from one of the 960 positions of Chess960
    #[arg(long, conflicts_with_all = ["book", "from_games"])]
    chess960: bool,
    /// Start from two Chess960 positions, one for each side
    #[arg(long, conflicts_with_all = ["book", "from_games", "chess960"])]
    double_chess960: bool,
    /// Start after this many random plies, which are stored without labels
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=MAX_RANDOM_PLIES as i64))]
    random_plies: u32,
    /// Start after careless play, in positions that master games lack: 6 to 60 plies, of which 5 to 50 % are random and
    /// the others one of the engine's three best after 600 nodes; half of the games then lose a piece from the board
    #[arg(long)]
    careless: bool,
    /// Instead of the engine's moves, play random paths through Philidor's own search trees of this many visits, to
    /// reach positions that a search meets. A path ends at a random visit, where the next search starts; these games
    /// have no result
    #[arg(
        long,
        value_name = "VISITS",
        value_parser = clap::value_parser!(u64).range(2..=MAX_TREE_PATHS),
        conflicts_with = "choice",
        requires = "best_move"
    )]
    tree_paths: Option<u64>,
    /// The network that searches: a file, or `embedded`
    #[arg(long, default_value = "embedded", requires = "tree_paths")]
    network: PathBuf,
    /// Also record each position's best move as its policy target, with its WDL (win, draw, loss)
    #[arg(long)]
    best_move: bool,
}

impl MineArgs {
    pub fn run(&self) -> anyhow::Result<()> {
        let stop = interrupt::flag()?;
        report(self.mine(&stop)?, &self.out.out.join(&self.name));
        Ok(())
    }

    fn mine(&self, stop: &AtomicBool) -> anyhow::Result<DatagenSummary> {
        let limit = self.engines.limit();
        let first = match &self.book {
            Some(book) => FirstPositions::Book(book.clone()),
            None if !self.from_games.is_empty() => FirstPositions::Games(self.from_games.clone()),
            None if self.chess960 => FirstPositions::Chess960,
            None if self.double_chess960 => FirstPositions::DoubleChess960,
            None => FirstPositions::Initial,
        };
        let rules = StartRules { first, random_plies: self.random_plies, careless: self.careless };
        if let Some(file) = self.book.iter().chain(&self.from_games).find(|file| is_stream(file)) {
            bail!("{}: mine reads its files twice; write it to a file first", file.display());
        }
        let book = self.book.as_deref().map_or(Ok(String::new()), name_and_hash)?;
        let starts = StartPositions::new(rules, self.seed)?;
        let engine = self.engines.name(stop)?;
        let mut settings = json!({
            "engine": engine, "options": self.engines.options(), "limit": limit.to_string(),
            "choice": self.choice.to_string(), "plies": self.plies, "seed": self.seed,
            "book": book, "random_plies": self.random_plies, "careless": self.careless,
            "best_move": self.best_move,
        });
        let (moves, played) = match self.tree_paths {
            None => (MinedMoves::Engine(self.choice.clone()), format!("choice {}", self.choice)),
            Some(visits) => {
                let (paths, fingerprint) = TreePaths::load(&self.network, visits)?;
                let network = file_name(&self.network);
                settings["tree_paths"] = json!(visits);
                settings["network"] = json!(format!("{network} {fingerprint:016x}"));
                (MinedMoves::TreePaths(paths), format!("paths of trees of {visits} visits by {network}"))
            }
        };
        let mut source = format!("mined: {engine}, {limit}, {played}, seed {}", self.seed);
        if !book.is_empty() {
            source += &format!(", from {book}");
        }
        for (chosen, key, name) in [
            (self.chess960, "chess960", "Chess960"),
            (self.double_chess960, "double_chess960", "double Chess960"),
        ] {
            if chosen {
                settings[key] = json!(true);
                source += &format!(", from {name}");
            }
        }
        if !self.from_games.is_empty() {
            let files: Result<Vec<String>, _> =
                self.from_games.iter().map(|file| name_and_hash(file)).collect();
            let files = files?;
            let more = files.len() - 1;
            let others = if more == 0 { String::new() } else { format!(" and {more} more") };
            source += &format!(", from positions of {}{others}", file_name(&self.from_games[0]));
            settings["from_games"] = json!(files);
        }
        if self.random_plies > 0 {
            source += &format!(", after {} random plies", self.random_plies);
        }
        if self.careless {
            source += ", after careless play";
        }
        let task = Mine {
            games: self.games,
            starts,
            moves,
            limit,
            plies: usize::from(self.plies),
            seed: self.seed,
            record_best: self.best_move,
        };
        let store = Store::open(&self.out.options(), &self.name, &source, settings)?;
        let beyond = store.begun().iter().filter(|pending| pending.number >= self.games).count();
        if beyond > 0 {
            let games = counted(beyond, "begun game");
            log::info!("{games} beyond --games {} stay as they are, for a greater --games", self.games);
        }
        let bar = progress(self.games, store.finished_of(self.games), Counted::Games);
        run_tasks(&task, (&self.engines.command(), self.engines.count()), store, &bar, stop)
    }
}
