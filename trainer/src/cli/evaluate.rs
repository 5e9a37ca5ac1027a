use std::path::PathBuf;
use std::slice;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use crate::base::files::{check_output, write_file};
use crate::config::bounds::MAX_VISITS;
use crate::data::record::Split;
use crate::judge::evaluate::accuracy::Judge;
use crate::judge::evaluate::{
    EvaluationReport, JudgedNetwork, TestPosition, accuracy, canaries, judge, suite, value, weight,
};

/// Evaluate networks side by side: accuracy on games, values against deep searches, tactics, canaries
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer evaluate canaries embedded runs/first/first.onnx")]
pub struct EvaluateArgs {
    #[command(subcommand)]
    command: EvaluateCommand,
}

#[derive(Subcommand, Debug)]
enum EvaluateCommand {
    /// How well networks predict the moves and results of games
    #[command(after_help = "Example: philidor-trainer evaluate accuracy nets/mine.onnx --games data/*.h5\n\
        Losses are in nats. The WDL loss is against the games' results; the column `base rates` is the loss of always \
        predicting the overall shares of wins, draws and losses.\n\
        Against deep searches: annotate games.pgn --nodes 20000 --best-move --name deep, then evaluate accuracy NET \
        --games data/deep-*.h5 --split all --searches\n\
        The gain of each step of a recursive network, with losses and the policy's entropy: --think-steps 1,2,4,8,16")]
    Accuracy(AccuracyArgs),
    /// How far networks' values are from those of deep searches, on positions with history
    #[command(
        after_help = "Example: philidor-trainer evaluate value embedded nets/mine.onnx --truth truth.tsv\n\
        A truth file is tab-separated: kind, FEN, the moves played from there (UCI notation), expected points of the side \
        to move (0 to 1). The squared error is that of expected points; fitted: after win, draw and loss are raised to the \
        power that fits best."
    )]
    Value(ValueArgs),
    /// How many positions of tactics suites networks solve, alone and with a search
    #[command(
        after_help = "Example: philidor-trainer evaluate tactics embedded nets/mine.onnx --suite suites/*.tsv\n\
        A suite is a tab-separated table with a header line: fen, and one of bm (best moves), am (moves to avoid), dm \
        (moves to mate; a network alone has to find the first move of pv_uci). Moves are in UCI notation."
    )]
    Tactics(TacticsArgs),
    /// What networks have learnt, by category, on built-in test positions
    #[command(after_help = "Example: philidor-trainer evaluate canaries embedded nets/mine.onnx --failures")]
    Canaries(CanariesArgs),
}

#[derive(Args, Debug)]
struct CommonArgs {
    /// Network files, or `embedded`
    #[arg(required = true, value_name = "NET")]
    nets: Vec<PathBuf>,
    /// Also write the numbers to this file (JSON)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct SearchArgs {
    /// Visits per search, on one thread; 0: evaluate the networks alone
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(..=MAX_VISITS))]
    nodes: u64,
    /// List the wrong answers
    #[arg(long)]
    failures: bool,
}

#[derive(Args, Debug)]
struct AccuracyArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Files of games
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    games: Vec<PathBuf>,
    /// Which games to use
    #[arg(long, value_enum, default_value_t = SplitChoice::Validation)]
    split: SplitChoice,
    /// Maximum positions, spread evenly over the sources and their games
    #[arg(long, default_value_t = 16384)]
    positions: usize,
    /// Judge by the recorded searches (best move, WDL) instead of the moves played and the results, on the positions
    /// that have a search
    #[arg(long)]
    searches: bool,
    /// Also print top-1 and top-5 accuracy over all outputs, including illegal moves; networks of the family sparse
    /// have outputs for legal moves only
    #[arg(long)]
    raw: bool,
    /// Runtimes, one column each; for an fp32 network of the family sparse, auto,onnx shows what the engine's integers
    /// cost
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "auto",
        conflicts_with = "raw",
        value_name = "BACKEND"
    )]
    backend: Vec<BackendChoice>,
    /// Run recursive networks with these numbers of steps, one column each [default: as trained]
    #[arg(long, conflicts_with_all = ["raw", "backend"], value_delimiter = ',', value_name = "STEPS")]
    think_steps: Vec<usize>,
}

#[derive(Args, Debug)]
struct ValueArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Positions with their expected points
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
}

#[derive(Args, Debug)]
struct TacticsArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// Suites of positions
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    suite: Vec<PathBuf>,
}

#[derive(Args, Debug)]
struct CanariesArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    search: SearchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendChoice {
    /// The engine's own kernels for the family sparse, else ONNX Runtime
    Auto,
    /// ONNX Runtime
    Onnx,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SplitChoice {
    /// One game in a hundred, which training never sees
    Validation,
    /// Another one in a hundred, for the final evaluation only
    Test,
    /// Every game
    All,
}

impl EvaluateArgs {
    pub fn run(&self) -> Result<()> {
        match &self.command {
            EvaluateCommand::Accuracy(args) => args.judge(),
            EvaluateCommand::Value(args) => args.judge(),
            EvaluateCommand::Tactics(args) => args.judge(),
            EvaluateCommand::Canaries(args) => args.judge(),
        }
    }
}

impl CommonArgs {
    fn networks(&self, nodes: u64) -> Result<Vec<JudgedNetwork>> {
        self.nets.iter().map(|net| JudgedNetwork::load(net, nodes)).collect()
    }

    /// Before the evaluation, which takes long and also reads `others`.
    fn check(&self, others: &[PathBuf]) -> Result<()> {
        self.json.as_ref().map_or(Ok(()), |file| check_output(file, self.nets.iter().chain(others)))
    }

    fn write(&self, numbers: &Value) -> Result<()> {
        let Some(file) = &self.json else { return Ok(()) };
        write_file(file, format!("{numbers:#}\n").as_bytes())
    }
}

impl AccuracyArgs {
    fn judge(&self) -> Result<()> {
        self.common.check(&self.games)?;
        let networks: Result<Vec<JudgedNetwork>> = match self.raw {
            true => self.common.nets.iter().map(|net| JudgedNetwork::load_raw(net)).collect(),
            false if self.think_steps.is_empty() => {
                let columns = |net| self.backend.iter().map(move |backend| (net, *backend));
                let columns = self.common.nets.iter().flat_map(columns);
                columns
                    .map(|(net, backend)| match backend {
                        BackendChoice::Auto => JudgedNetwork::load(net, 0),
                        BackendChoice::Onnx => JudgedNetwork::load_in_onnx(net),
                    })
                    .collect()
            }
            false => {
                let columns = |net| self.think_steps.iter().map(move |steps| (net, *steps));
                let columns = self.common.nets.iter().flat_map(columns);
                columns.map(|(net, steps)| JudgedNetwork::load_with_steps(net, steps)).collect()
            }
        };
        let mut networks = networks?;
        let split = match self.split {
            SplitChoice::Validation => Some(Split::Validation),
            SplitChoice::Test => Some(Split::Test),
            SplitChoice::All => None,
        };
        let sets = accuracy::sets(&self.games, split)?;
        let judge = if self.searches { Judge::Search } else { Judge::Game };
        let accuracy = accuracy::measure(&sets, judge, &mut networks, self.positions)?;
        say!("{}", accuracy.table());
        self.common.write(&accuracy.json())
    }
}

impl ValueArgs {
    fn judge(&self) -> Result<()> {
        self.common.check(slice::from_ref(&self.truth))?;
        let positions = value::read(&self.truth)?;
        let report = value::measure(&positions, &mut self.common.networks(0)?)?;
        say!("{}", report.table());
        self.common.write(&report.json())
    }
}

impl TacticsArgs {
    fn judge(&self) -> Result<()> {
        self.common.check(&self.suite)?;
        let suites: Vec<Vec<TestPosition>> =
            self.suite.iter().map(|file| suite::read(file)).collect::<Result<_, _>>()?;
        report(&self.common, &self.search, &suites.concat(), "suite", None)
    }
}

impl CanariesArgs {
    fn judge(&self) -> Result<()> {
        self.common.check(&[])?;
        report(&self.common, &self.search, &canaries(), "category", Some(weight))
    }
}

fn report(
    common: &CommonArgs,
    search: &SearchArgs,
    items: &[TestPosition],
    kind: &'static str,
    weight: Option<fn(&str) -> u32>,
) -> Result<()> {
    let mut networks = common.networks(search.nodes)?;
    let graded = judge(items, &mut networks)?;
    let networks = networks.iter().map(|network| (network.name.clone(), network.nodes())).collect();
    let report = EvaluationReport { items, graded: &graded, networks, kind, weight };
    say!("{}", report.table());
    if search.failures {
        say!("\n{}", report.failures().trim_end());
    }
    common.write(&report.json())
}
