//! `arena`: a match from the command line.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;

use super::interrupt;
use crate::arena::Contender;
use crate::arena::Decision;
use crate::arena::Tally;
use crate::arena::{Contest, Report, contest};
use crate::config::MatchRules;
use crate::config::Sprt;
use crate::dataset::{Chunk, write};
use crate::progress::progress;

/// Let two players play a match on paired openings: networks, or the engine's classical players
///
/// Every opening is played with both colours. With --workers 1 the same seed has the same games.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  philidor-trainer arena runs/first/first.onnx embedded.int8 --visits 200 --games 200\n  \
    philidor-trainer arena new.onnx old.onnx --visits 100 --sprt 0,35 --games 1000\n  \
    philidor-trainer arena runs/first/first.onnx uct:200 --games 40\n\n\
    Players: an ONNX file, embedded, embedded.int8, random, minimax, alpha-beta, uct, uct-value; minimax and alpha-beta \
    with :PLIES\n(how deep they search, 4 unless said), uct and uct-value with :VISITS (random games a move, 200 unless \
    said)."
)]
pub struct ArenaArgs {
    /// A player
    first: String,
    /// Another
    second: String,
    /// Visits of a network's searches
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    visits: u64,
    /// Most games; the last pair is completed
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// End when it is proven that the first player is stronger by ELO1, or only by ELO0
    #[arg(long, value_name = "ELO0,ELO1", value_parser = sprt)]
    sprt: Option<Sprt>,
    /// Begin with the positions of a book: EPD, FEN, or where a PGN's games end; shuffled
    #[arg(long)]
    book: Option<PathBuf>,
    /// Begin after so many random moves
    #[arg(long, default_value_t = 6)]
    random_plies: u32,
    /// Most plies of a game: then it is a draw
    #[arg(long, default_value_t = 400)]
    plies: usize,
    /// Folders of Syzygy tables that decide games
    #[arg(long)]
    syzygy: Option<String>,
    /// Threads [default: one a core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    workers: usize,
    /// Games at once in each
    #[arg(long, default_value_t = 16)]
    at_once: usize,
    /// Another seed, other openings
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the games here (games/1; `export-pgn` makes PGN of it)
    #[arg(long)]
    out: Option<PathBuf>,
}

fn sprt(text: &str) -> Result<Sprt, String> {
    let number = |text: &str| text.trim().parse().map_err(|_| format!("\"{text}\" is no number"));
    let (elo0, elo1) = text.split_once(',').ok_or("two numbers, as in 0,35")?;
    let sprt = Sprt { elo0: number(elo0)?, elo1: number(elo1)?, ..Sprt::default() };
    sprt.check().map(|()| sprt)
}

impl ArenaArgs {
    /// Plays; says what came of it.
    ///
    /// # Errors
    ///
    /// One line: a player, book or tables can't be read, a network fails, or the games can't be written.
    pub fn run(&self) -> Result<(), String> {
        let stop = interrupt::flag().map_err(|error| format!("{error:#}"))?;
        let report = self.play(&stop)?;
        println!("{} against {}: {}", self.first, self.second, report.tally);
        if let Some(sprt) = &self.sprt {
            let what = match sprt.decision(&report.tally) {
                Decision::Accepted => format!("stronger by {} Elo", sprt.elo1),
                Decision::Rejected => format!("stronger by no more than {} Elo", sprt.elo0),
                Decision::Open => "nothing proven".into(),
            };
            let bounds = sprt.bounds();
            let llr = sprt.llr(&report.tally);
            println!("{what}: LLR {llr:.2} between {:.2} and {:.2}", bounds.lower, bounds.upper);
        }
        if report.stopped {
            println!("stopped before the end");
        }
        Ok(())
    }

    fn play(&self, stop: &AtomicBool) -> Result<Report, String> {
        let [first, second] = [&self.first, &self.second].map(|name| Contender::named(name, self.visits));
        let (first, second) = (first?, second?);
        let rules = MatchRules {
            book: self.book.as_ref().map_or_else(String::new, |book| book.display().to_string()),
            random_plies: self.random_plies,
            max_plies: self.plies,
            syzygy: self.syzygy.clone().unwrap_or_default(),
            games: self.at_once.max(1),
            workers: self.workers,
            ..MatchRules::default()
        };
        let pairs = self.games.div_ceil(2);
        let bar = progress(2 * pairs, 0, "games");
        let plan =
            Contest { pairs, sprt: self.sprt.clone(), rules, seed: self.seed, begun: Tally::default() };
        let report = contest([&first, &second], &plan, &bar, stop, &mut |_| Ok(()))?;
        bar.finish_and_clear();
        if let Some(path) = &self.out {
            let mut chunk = Chunk::new(&format!("arena: {} against {}", self.first, self.second));
            report.games.iter().for_each(|game| chunk.push(game));
            write(&chunk, path).map_err(|error| error.to_string())?;
        }
        Ok(report)
    }
}
