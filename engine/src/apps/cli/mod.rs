pub mod manual;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::apps::analysis::{self, config::AnalyseConfig};
use crate::apps::bench::lesson::LessonConfig;
use crate::apps::bench::signature::SignatureConfig;
use crate::apps::bench::speed::SpeedConfig;
use crate::apps::bench::{lesson, perft, signature, speed, version};
use crate::apps::doctor::{self, DoctorConfig};
use crate::apps::encode::{self, EncodeConfig};
use crate::apps::explain::{self, ExplainConfig};
use crate::apps::net::{self, NetCommand};
use crate::apps::play::{self, PlayConfig};
use crate::apps::review::{self, ReviewConfig};
use crate::apps::uci::{self, UciError};
use crate::base::interrupt;
use crate::chess::position::Game;
use crate::nets::eval::Precision;
use crate::setup::options;

/// A UCI chess engine with a neural network.
///
/// Without a command it runs UCI on stdin and stdout, as a chess GUI expects.
#[derive(Debug, Parser)]
#[command(
    name = "philidor",
    after_help = "Example: philidor bench\nSet RUST_LOG=info for more log messages on stderr."
)]
pub struct Arguments {
    /// Print the commit, the encodings and the embedded network
    #[arg(short = 'V', long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run UCI on stdin and stdout (the default)
    #[command(after_help = "PHILIDOR_TUNING in the environment does what --tuning does.")]
    Uci {
        /// List tuning options, too; they are always accepted
        #[arg(long)]
        tuning: bool,
    },
    /// Play a game at the terminal
    Play(PlayConfig),
    /// Show this machine's hardware, the fastest network on it, and settings for a GUI
    Doctor(DoctorConfig),
    /// List the shipped networks, show a network's card, or check its golden answers
    #[command(subcommand)]
    Net(NetCommand),
    /// Analyse positions for a program: JSON queries on stdin, JSON answers on stdout, one per line
    Analyse(AnalyseConfig),
    /// Review the games of a PGN file: judged moves, better lines and accuracy, as PGN and HTML
    Review(ReviewConfig),
    /// Explain a move and the best three: value, refutation, and what each gives up
    Explain(ExplainConfig),
    /// Search fixed positions, with the same nodes and checksum on every machine, and measure the speed
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
    /// Count the legal move sequences to a depth, by first move
    #[command(after_help = "Example: philidor perft 3 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1'")]
    Perft {
        /// Depth in plies
        depth: u32,
        /// FEN of the position [default: the initial position]
        fen: Option<String>,
    },
    /// Print a position's planes or a move's index in any encoding, or decode them
    Encode(EncodeConfig),
    /// Run minimax, alpha-beta and UCT on the positions of a course's notebook, beside its numbers, or on another (Markdown)
    Lesson(LessonConfig),
    /// Print the table of UCI options in Markdown
    Options,
    /// Write man pages and completions for bash, zsh and fish into a folder
    #[command(after_help = "Example: philidor manual /tmp/philidor")]
    Manual {
        /// Folder; created if missing
        folder: PathBuf,
    },
}

pub fn run(arguments: Arguments, out: &mut (impl Write + Send)) -> Result<(), Box<dyn Error>> {
    match arguments.command {
        _ if arguments.version => version::print(out)?,
        None => uci(false)?,
        Some(Command::Uci { tuning }) => uci(tuning)?,
        Some(Command::Play(config)) => play::run(&config, io::stdin(), &interrupt::flag()?, out)?,
        Some(Command::Doctor(config)) => doctor::run(config, out)?,
        Some(Command::Net(command)) => net::run(&command, out)?,
        Some(Command::Analyse(config)) => analysis::run(&config, io::stdin(), io::stdout())?,
        Some(Command::Review(config)) => {
            let input = review::read(&config)?;
            review::run(&config, input, &interrupt::flag()?, out)?;
        }
        Some(Command::Explain(config)) => explain::run(&config, &interrupt::flag()?, out)?,
        Some(Command::Bench(config)) => signature::print(config, out)?,
        Some(Command::Backendbench { weights, precision, config }) => {
            speed::print(weights.as_deref(), precision, &config, out)?;
        }
        Some(Command::Perft { depth, fen }) => {
            let game = fen.map_or(Ok(Game::new()), |fen| Game::from_fen(&fen))?;
            perft::print(&game, depth, false, out)?;
        }
        Some(Command::Encode(config)) => encode::run(&config, io::stdin(), out)?,
        Some(Command::Lesson(config)) => lesson::run(&config, &*interrupt::flag()?, out)?,
        Some(Command::Options) => write!(out, "{}", options::markdown())?,
        Some(Command::Manual { folder }) => manual::write(Arguments::command(), &folder)?,
    }
    Ok(out.flush()?)
}

fn uci(tuning: bool) -> Result<(), UciError> {
    let lists_tuning = tuning || std::env::var_os("PHILIDOR_TUNING").is_some();
    uci::run(io::stdin(), io::stdout(), lists_tuning)
}
