use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, ensure};
use clap::Args;

use super::export_pgn::arena_source;
use super::interrupt;
use super::out_args::count;
use crate::base::files::check_output;
use crate::base::lock::Lock;
use crate::base::progress::{Counted, progress};
use crate::config::bounds::{MAX_AT_ONCE, MAX_GAMES, MAX_PLIES, MAX_RANDOM_PLIES, MAX_THREADS, MAX_VISITS};
use crate::config::{MatchRules, Sprt};
use crate::data::dataset::{Chunk, write};
use crate::play::arena::{Contender, MatchPlan, MatchReport, play_match};

/// Play a match on paired openings between two networks or classical players
///
/// Every opening is played with both colours. With --workers 1 the same seed gives the same games.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  philidor-trainer arena runs/first/first.onnx embedded --visits 200 --games 200\n  \
    philidor-trainer arena new.onnx old.onnx --visits 100 --sprt 0,35 --games 1000\n  \
    philidor-trainer arena runs/first/first.onnx uct:200 --games 40\n\n\
    Players: an ONNX file, embedded, random, minimax, alpha-beta, uct, uct-value; minimax and alpha-beta \
    with :PLIES\n(the depth, default 4), uct and uct-value with :VISITS (rollouts a move, default 200)."
)]
pub struct ArenaArgs {
    /// The first player
    first: String,
    /// The second player
    second: String,
    /// Visits per move of networks
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MAX_VISITS))]
    visits: u64,
    /// Maximum number of games; a pair that has begun is completed
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MAX_GAMES))]
    games: u64,
    /// Stop when a sequential test (SPRT) accepts that the first player is stronger by ELO1, or only by ELO0
    #[arg(long, value_name = "ELO0,ELO1")]
    sprt: Option<Sprt>,
    /// Start from the positions of a book (EPD, FEN, or the final positions of a PGN's games), shuffled
    #[arg(long)]
    book: Option<PathBuf>,
    /// Random plies before the game
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(..=MAX_RANDOM_PLIES as i64))]
    random_plies: u32,
    /// Maximum plies of a game, which is then a draw
    #[arg(long, default_value_t = 400, value_parser = count(1..=MAX_PLIES))]
    plies: usize,
    /// Folders of Syzygy tables that adjudicate games
    #[arg(long)]
    syzygy: Option<String>,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true, value_parser = count(0..=MAX_THREADS))]
    workers: usize,
    /// Concurrent games per thread
    #[arg(long, default_value_t = 16, value_parser = count(1..=MAX_AT_ONCE))]
    at_once: usize,
    /// Seed of the openings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the games to this file (games/1; `export-pgn` converts it to PGN)
    #[arg(long)]
    out: Option<PathBuf>,
}

impl ArenaArgs {
    pub fn run(&self) -> Result<()> {
        let stop = interrupt::flag()?;
        let _lock = self.claim_out()?;
        let report = self.play(&stop)?;
        say!("{} against {}: {}", self.first, self.second, report.results);
        if let Some(sprt) = &self.sprt {
            say!("{}", sprt.summary(&report.results));
        }
        if report.stopped {
            say!("stopped before the end");
        }
        let Some(path) = &self.out else { return Ok(()) };
        let mut chunk = Chunk::new(&arena_source(&self.first, &self.second));
        report.games.iter().for_each(|game| chunk.push(game));
        Ok(write(&chunk, path)?)
    }

    /// Until the lock is dropped, no other match writes to `--out`.
    fn claim_out(&self) -> Result<Option<Lock>> {
        let Some(path) = &self.out else { return Ok(None) };
        let named = [&self.first, &self.second].into_iter().map(Path::new);
        check_output(path, named.chain(self.book.as_deref()))?;
        let shown = path.display();
        ensure!(
            path.extension().is_some_and(|end| end == "h5"),
            "--out {shown}: games/1 is HDF5, name a .h5 file"
        );
        let lock = Lock::take(&path.with_extension("h5.lock"))?;
        ensure!(!path.exists(), "--out {shown} exists: name another file, or remove it first");
        Ok(Some(lock))
    }

    fn play(&self, stop: &AtomicBool) -> Result<MatchReport> {
        let [first, second] = [&self.first, &self.second].map(|name| Contender::named(name, self.visits));
        let (first, second) = (first?, second?);
        let rules = MatchRules {
            book: self.book.as_ref().map_or_else(String::new, |book| book.display().to_string()),
            random_plies: self.random_plies,
            max_plies: self.plies,
            syzygy: self.syzygy.clone().unwrap_or_default(),
            games: self.at_once,
            workers: self.workers,
            ..MatchRules::default()
        };
        let pairs = self.games.div_ceil(2);
        let bar = progress(2 * pairs, 0, Counted::Games);
        let plan = MatchPlan { first: 0, pairs, sprt: self.sprt.clone(), rules, seed: self.seed };
        let report = play_match([&first, &second], &plan, &bar, stop, &mut |_| Ok(()))?;
        bar.finish_and_clear();
        Ok(report)
    }
}
