//! `gauge`: networks judged side by side.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use crate::evaluate::Player;
use crate::evaluate::Report;
use crate::evaluate::{Item, judge};
use crate::evaluate::{accuracy, suite};
use crate::evaluate::{canaries, weight};
use crate::record::Split;
use crate::train::checkpoint;

/// Judge networks, side by side: accuracy on games, tactics, canaries
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer evaluate canaries embedded runs/first/first.onnx")]
pub struct EvaluateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// How well networks foresee the moves and results of games
    #[command(after_help = "Example: philidor-trainer evaluate accuracy nets/mine.onnx --games data/*.h5\n\
        Losses are in nats; the WDL loss is that of the games' results, beside it the loss of always answering how \
        often the positions were won, drawn and lost.\n\
        What each step of a network that thinks in steps brings: --think-steps 1,2,4,8")]
    Accuracy(AccuracyArgs),
    /// How many positions of suites networks solve, alone and by search
    #[command(
        after_help = "Example: philidor-trainer evaluate tactics embedded nets/mine.onnx --suite suites/*.tsv\n\
        A suite is a table with tabs between the columns and a first line that names them: fen, and one of bm (best \
        moves), am (moves to avoid), dm (mate in so many; a network alone has to find the first move of pv_uci). \
        Moves are UCI's."
    )]
    Tactics(TacticsArgs),
    /// What networks have learnt of each side of chess, by small positions of our own
    #[command(after_help = "Example: philidor-trainer evaluate canaries embedded nets/mine.onnx --failures")]
    Canaries(CanariesArgs),
}

/// Who is judged, and where the result goes.
#[derive(Args, Debug)]
struct Common {
    /// Network files, or embedded, embedded.int8
    #[arg(required = true, value_name = "NET")]
    nets: Vec<PathBuf>,
    /// Write the numbers to this file too, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How networks search.
#[derive(Args, Debug)]
struct Search {
    /// Visits of a search, by one worker; 0: judge the networks alone
    #[arg(long, default_value_t = 400)]
    nodes: u64,
    /// List what was answered wrongly
    #[arg(long)]
    failures: bool,
}

#[derive(Args, Debug)]
struct AccuracyArgs {
    #[command(flatten)]
    common: Common,
    /// Files of games
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// The games to take
    #[arg(long, value_enum, default_value_t = Part::Validation)]
    split: Part,
    /// The most positions, spread evenly over the sources and their games
    #[arg(long, default_value_t = 16384)]
    positions: usize,
    /// Tell the shares among all outputs of the networks too, legal moves or not
    #[arg(long)]
    raw: bool,
    /// Let networks that think in steps think in so many, each number a column [default: as they were trained]
    #[arg(long, conflicts_with = "raw", value_delimiter = ',', value_name = "STEPS")]
    think_steps: Vec<usize>,
}

#[derive(Args, Debug)]
struct TacticsArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    search: Search,
    /// Suites of positions
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    suite: Vec<PathBuf>,
}

#[derive(Args, Debug)]
struct CanariesArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    search: Search,
}

/// Games by their split.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// One game in a hundred, which training never sees
    Validation,
    /// Another one in a hundred, to be looked at last
    Test,
    /// Every game
    All,
}

impl EvaluateArgs {
    /// Judges, prints the table.
    ///
    /// # Errors
    ///
    /// One line: a network, games or positions can't be read, or ONNX Runtime fails.
    pub fn run(&self) -> Result<(), String> {
        match &self.what {
            What::Accuracy(args) => args.judge(),
            What::Tactics(args) => args.judge(),
            What::Canaries(args) => args.judge(),
        }
    }
}

impl Common {
    fn players(&self, nodes: u64) -> Result<Vec<Player>, String> {
        self.nets.iter().map(|net| Player::load(net, nodes)).collect()
    }

    fn write(&self, numbers: &Value) -> Result<(), String> {
        let Some(file) = &self.json else { return Ok(()) };
        checkpoint::write_file(file, format!("{numbers:#}\n").as_bytes())
            .map_err(|error| format!("{error:#}"))
    }
}

impl AccuracyArgs {
    fn judge(&self) -> Result<(), String> {
        let players: Result<Vec<Player>, String> = match self.raw {
            true => self.common.nets.iter().map(|net| Player::load_raw(net)).collect(),
            false if self.think_steps.is_empty() => self.common.players(0),
            false => {
                let columns = |net| self.think_steps.iter().map(move |steps| (net, *steps));
                let columns = self.common.nets.iter().flat_map(columns);
                columns.map(|(net, steps)| Player::load_thinking(net, steps)).collect()
            }
        };
        let mut players = players?;
        let split = match self.split {
            Part::Validation => Some(Split::Validation),
            Part::Test => Some(Split::Test),
            Part::All => None,
        };
        let sets = accuracy::sets(&self.games, split)?;
        let accuracy = accuracy::measure(&sets, &mut players, self.positions)?;
        println!("{}", accuracy.table());
        self.common.write(&accuracy.json())
    }
}

impl TacticsArgs {
    fn judge(&self) -> Result<(), String> {
        let suites: Vec<Vec<Item>> =
            self.suite.iter().map(|file| suite::read(file)).collect::<Result<_, _>>()?;
        report(&self.common, &self.search, &suites.concat(), "suite", None)
    }
}

impl CanariesArgs {
    fn judge(&self) -> Result<(), String> {
        report(&self.common, &self.search, &canaries(), "category", Some(weight))
    }
}

fn report(
    common: &Common,
    search: &Search,
    items: &[Item],
    kind: &'static str,
    weight: Option<fn(&str) -> u32>,
) -> Result<(), String> {
    let mut players = common.players(search.nodes)?;
    let verdicts = judge(items, &mut players)?;
    let players = players.iter().map(|player| (player.name.clone(), player.nodes())).collect();
    let report = Report { items, verdicts: &verdicts, players, kind, weight };
    println!("{}", report.table());
    if search.failures {
        print!("\n{}", report.failures());
    }
    common.write(&report.json())
}
