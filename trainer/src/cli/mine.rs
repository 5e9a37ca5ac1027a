//! `mine`: games from an engine that plays against itself.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Args;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::engine_args::EngineArgs;
use super::interrupt;
use super::out_args::{OutArgs, report};
use crate::config::bounds::{MAX_GAMES, MAX_RANDOM_PLIES};
use crate::datagen::{
    DatagenSummary, FirstPositions, Mine, MoveChoice, StartPositions, StartRules, run_tasks,
};
use crate::dataset::Store;
use crate::files::file_name;
use crate::progress::progress;

/// Let a UCI engine play against itself and write files of games (games/1) with its evaluations
///
/// By default as in the lesson on imitation learning: from the initial position, one of the three best moves with
/// 80, 15 and 5 per cent, draws claimed, at most 500 plies. Ctrl-C loses nothing; the same command with --resume
/// continues, also to more --games. With --depth or --nodes the games depend on the seed alone and not on the number
/// of engines, unless the run is interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer mine --games 1000 --depth 10\n  \
    philidor-trainer mine --name careless --careless --choice 100 --nodes 1500 --plies 80 --games 5000\n  \
    philidor-trainer mine --name dfrc --double-chess960 --choice 100 --nodes 100 --best-move --games 5000\n  \
    philidor-trainer mine --name book --book openings.epd --movetime 50 --option Hash=64 --games 2000")]
pub struct MineArgs {
    /// Number of games
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(..=MAX_GAMES))]
    games: u64,
    /// Name of the files, before -00000.h5
    #[arg(long, default_value = "mined")]
    name: String,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    engines: EngineArgs,
    /// Weights with which the best move, the second best … is played
    #[arg(long, default_value = "80,15,5")]
    choice: MoveChoice,
    /// Plies after which a game ends without a result
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    plies: u16,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with the positions of a book, shuffled: EPD, FEN, or the final positions of a PGN's games
    #[arg(long)]
    book: Option<PathBuf>,
    /// Begin with one of Chess960's 960 positions
    #[arg(long, conflicts_with = "book")]
    chess960: bool,
    /// Begin with the pieces of two of them, one for each side
    #[arg(long, conflicts_with_all = ["book", "chess960"])]
    double_chess960: bool,
    /// Begin after so many random plies
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=MAX_RANDOM_PLIES as i64))]
    random_plies: u32,
    /// Begin after careless play, in positions that master games do not have: 6 to 60 plies of which 5 to 50 % are
    /// random and the others one of the engine's three best after 600 nodes; in half of the games a piece is then
    /// removed from the board
    #[arg(long)]
    careless: bool,
    /// Also record each position's best move, with win, draw and loss, as its policy target
    #[arg(long)]
    best_move: bool,
}

impl MineArgs {
    /// Generates the games and prints a summary.
    ///
    /// # Errors
    ///
    /// If an engine fails, or games cannot be read or written.
    pub fn run(&self) -> anyhow::Result<()> {
        let stop = interrupt::flag()?;
        report(self.mine(&stop)?, &self.out.out.join(&self.name));
        Ok(())
    }

    fn mine(&self, stop: &AtomicBool) -> anyhow::Result<DatagenSummary> {
        let limit = self.engines.limit();
        let first = match &self.book {
            Some(book) => FirstPositions::Book(book.clone()),
            None if self.chess960 => FirstPositions::Chess960,
            None if self.double_chess960 => FirstPositions::DoubleChess960,
            None => FirstPositions::Initial,
        };
        let rules = StartRules { first, random_plies: self.random_plies, careless: self.careless };
        let book = match &self.book {
            None => String::new(),
            Some(path) => {
                let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                format!("{} {:016x}", file_name(path), xxh3_64(&bytes))
            }
        };
        let starts = StartPositions::new(rules, self.seed)?;
        let engine = self.engines.name(stop)?;
        let mut settings = json!({
            "engine": engine, "options": self.engines.options(), "limit": limit.to_string(),
            "choice": self.choice.to_string(), "plies": self.plies, "seed": self.seed,
            "book": book, "random_plies": self.random_plies, "careless": self.careless,
            "best_move": self.best_move,
        });
        let mut source = format!("mined: {engine}, {limit}, choice {}, seed {}", self.choice, self.seed);
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
        if self.random_plies > 0 {
            source += &format!(", after {} random plies", self.random_plies);
        }
        if self.careless {
            source += ", after careless play";
        }
        let task = Mine {
            games: self.games,
            starts,
            choice: self.choice.clone(),
            limit,
            plies: usize::from(self.plies),
            seed: self.seed,
            record_best: self.best_move,
        };
        let store = Store::open(&self.out.options(), &self.name, &source, settings)?;
        let bar = progress(self.games, store.games(), "games");
        run_tasks(&task, (&self.engines.command(), self.engines.count()), store, &bar, stop)
    }
}
