//! `philidor`: the engine's command line.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use engine::analysis::{self, config::AnalyseConfig};
use engine::bench::signature::SignatureConfig;
use engine::bench::speed::SpeedConfig;
use engine::bench::{lesson, perft, signature, speed, version};
use engine::eval::Precision;
use engine::position::Game;
use engine::{explain, interrupt, review, uci};

/// A UCI chess engine with a neural network.
///
/// Without a command it runs UCI on stdin and stdout, as a chess GUI expects.
#[derive(Parser)]
#[command(after_help = "Example: philidor bench\nSet RUST_LOG=info for more log messages on stderr.")]
struct Arguments {
    /// Print the commit, the encodings and the embedded network
    #[arg(short = 'V', long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run UCI on stdin and stdout (the default)
    Uci,
    /// Analyse positions for a program: queries on stdin, answers on stdout, each a line of JSON
    Analyse(AnalyseConfig),
    /// Review the games of a PGN file: judged moves, better lines, accuracy, as PGN and as a page
    Review(review::ReviewConfig),
    /// Explain a move and the best three: worth, refutation, what is given up
    Explain(explain::ExplainConfig),
    /// Search fixed positions: the same nodes and checksum on every machine; then the network's speed
    #[command(after_help = "Example: philidor bench --visits 5000")]
    Bench(SignatureConfig),
    /// Measure the network by batch size and workers: session, evaluator and search
    #[command(after_help = "Example: philidor backendbench --batches 8,16 --workers 1,2,4")]
    Backendbench {
        /// Network file [default: the embedded network]
        #[arg(long)]
        weights: Option<PathBuf>,
        /// Measure fp32 or int8 only [default: both, if available]
        #[arg(long)]
        precision: Option<Precision>,
        #[command(flatten)]
        config: SpeedConfig,
    },
    /// Count the legal move sequences of so many plies, by first move
    #[command(after_help = "Example: philidor perft 3 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1'")]
    Perft {
        /// Number of plies
        depth: u32,
        /// FEN of the position [default: the initial position]
        fen: Option<String>,
    },
    /// Compare minimax and alpha-beta with the notebook that they follow: moves and time to find a mate, in Markdown
    Lesson,
    /// Print the table of UCI options in Markdown
    Options,
}

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    match run(Arguments::parse(), &mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("philidor: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    match arguments.command {
        _ if arguments.version => version::print(out)?,
        None | Some(Command::Uci) => uci::run(io::stdin(), io::stdout())?,
        Some(Command::Analyse(config)) => analysis::run(&config, io::stdin(), io::stdout())?,
        Some(Command::Review(config)) => review::run(&config, &interrupt::flag()?, out)?,
        Some(Command::Explain(config)) => explain::run(&config, &interrupt::flag()?, out)?,
        Some(Command::Bench(config)) => signature::print(config, out)?,
        Some(Command::Backendbench { weights, precision, config }) => {
            speed::print(weights.as_deref(), precision, &config, out)?;
        }
        Some(Command::Perft { depth, fen }) => {
            let game = fen.map_or(Ok(Game::new()), |fen| Game::from_fen(&fen))?;
            perft::print(&game, depth, false, out)?;
        }
        Some(Command::Lesson) => lesson::print(out)?,
        Some(Command::Options) => write!(out, "{}", uci::options::markdown())?,
    }
    Ok(())
}
