//! Games from an engine that plays against itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::engine_args::EngineArgs;
use super::interrupt;
use super::out_args::{OutArgs, report};
use crate::datagen::{DatagenSummary, EngineTask, run_tasks};
use crate::datagen::{EngineError, Miner, MoveChoice, StartPositions, StartRules, UciEngine};
use crate::dataset::{PendingGame, Store};
use crate::files::file_name;
use crate::progress::progress;
use crate::record::GameRecord;

/// Have a UCI engine play against itself, into files of games (games/1) with its evaluations
///
/// By default as in the lesson on imitation learning: from the initial position, one of its three best moves with
/// 80, 15 and 5 per cent, draws claimed, at most 500 plies. Ctrl-C loses nothing; the same line with --resume goes on,
/// also to more --games. With --depth or --nodes the same seed gives the same games, however many engines play, unless
/// they are interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer mine --games 1000 --depth 10\n  \
    philidor-trainer mine --name careless --careless --choice 100 --nodes 1500 --plies 80 --games 5000\n  \
    philidor-trainer mine --name book --book openings.epd --movetime 50 --option Hash=64 --games 2000")]
pub struct MineArgs {
    /// How many games
    #[arg(long, default_value_t = 1000)]
    games: u64,
    /// The files' name, before -00000.h5
    #[arg(long, default_value = "mined")]
    name: String,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    engines: EngineArgs,
    /// How often the best move, the second best … is played
    #[arg(long, default_value = "80,15,5")]
    choice: MoveChoice,
    /// Most plies of a game; it has no result then
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    plies: u16,
    /// Another seed, other games
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Begin with the positions of a book: EPD, FEN, or where a PGN's games end; shuffled
    #[arg(long)]
    book: Option<PathBuf>,
    /// Begin after so many random moves
    #[arg(long, default_value_t = 0)]
    random_plies: u32,
    /// Begin after careless play, where masters never go: 6 to 60 plies of which 5 to 50 % are random and the others
    /// one of the engine's three best after 600 nodes; in half of the games a piece is then taken off the board
    #[arg(long)]
    careless: bool,
    /// Also record each position's best move, with win, draw and loss, as the policy to be learnt there
    #[arg(long)]
    best_move: bool,
}

impl MineArgs {
    /// Mines; says what came of it.
    ///
    /// # Errors
    ///
    /// One line: an engine fails, or games can't be read or written.
    pub fn run(&self) -> Result<(), String> {
        let stop = interrupt::flag()?;
        report(self.mine(&stop)?, &self.out.out.join(&self.name));
        Ok(())
    }

    fn mine(&self, stop: &AtomicBool) -> Result<DatagenSummary, String> {
        let limit = self.engines.limit();
        let rules =
            StartRules { book: self.book.clone(), random_plies: self.random_plies, careless: self.careless };
        let book = match &self.book {
            None => String::new(),
            Some(path) => {
                let bytes =
                    std::fs::read(path).map_err(|error| format!("can't read {}: {error}", path.display()))?;
                format!("{} {:016x}", file_name(path), xxh3_64(&bytes))
            }
        };
        let starts = StartPositions::new(rules, self.seed).map_err(|error| error.to_string())?;
        let engine = self.engines.name(stop)?;
        let settings = json!({
            "engine": engine, "options": self.engines.options(), "limit": limit.to_string(),
            "choice": self.choice.to_string(), "plies": self.plies, "seed": self.seed,
            "book": book, "random_plies": self.random_plies, "careless": self.careless,
            "best_move": self.best_move,
        });
        let mut source = format!("mined: {engine}, {limit}, choice {}, seed {}", self.choice, self.seed);
        if !book.is_empty() {
            source += &format!(", from {book}");
        }
        if self.random_plies > 0 {
            source += &format!(", after {} random plies", self.random_plies);
        }
        if self.careless {
            source += ", after careless play";
        }
        let choice = self.choice.clone();
        let (plies, record_best) = (usize::from(self.plies), self.best_move);
        let miner = Miner { starts, choice, limit, plies, seed: self.seed, record_best };
        let store = Store::open(&self.out.options(), &self.name, &source, settings)?;
        let bar = progress(self.games, store.games(), "games");
        run_tasks(
            &Mine { miner, games: self.games },
            (&self.engines.command(), self.engines.count()),
            store,
            &bar,
            stop,
        )
    }
}

struct Mine {
    miner: Miner,
    games: u64,
}

impl EngineTask for Mine {
    fn weight(&self, _: &GameRecord) -> u64 {
        1
    }

    fn deal(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        _: &AtomicBool,
        take: &mut dyn FnMut(PendingGame) -> bool,
    ) -> Result<(), String> {
        (from..self.games)
            .filter(|number| !held.contains(number))
            .all(|number| take(PendingGame { number, ..PendingGame::default() }));
        Ok(())
    }

    fn work(
        &self,
        hand: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        let played = self.miner.play(hand.number, &mut hand.game, engine, stop);
        hand.done = hand.game.moves.len();
        played
    }
}
