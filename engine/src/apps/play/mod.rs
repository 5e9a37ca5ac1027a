//! `philidor play`: [`run()`] hands typed lines to a [`dialogue`].

mod typed_line;
mod board;
mod record;
mod opponent;
mod dialogue;

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use shakmaty::Color;
use thiserror::Error;

use self::board::BoardStyle;
use self::dialogue::Dialogue;
use self::opponent::Opponent;
use self::record::Record;
use crate::apps::review::JudgeError;
use crate::chess::position::{Game, PositionError};
use crate::setup::EngineArgs;
use crate::setup::strength::{STRONGEST, WEAKEST, game_seed};

const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Moves are typed as Nf3, exd5, O-O or g1f3; `help` lists the other commands.
Example: philidor play --elo 1200 --pgn evening.pgn
         philidor play --resume --pgn evening.pgn")]
pub struct PlayConfig {
    /// The side that you play
    #[arg(long, value_enum, default_value_t = PlayerSide::White)]
    pub side: PlayerSide,
    /// Weaken the engine to this rating, which sets its nodes [default: full strength]
    #[arg(
        long,
        conflicts_with_all = ["movetime", "nodes"],
        value_parser = clap::value_parser!(i64).range(WEAKEST..=STRONGEST)
    )]
    pub elo: Option<i64>,
    /// Thinking time of the engine per move, in milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub movetime: u64,
    /// Nodes per move, instead of a time
    #[arg(long, conflicts_with = "movetime", value_parser = clap::value_parser!(u64).range(1..))]
    pub nodes: Option<u64>,
    /// Start from this position [default: the initial position]
    #[arg(long)]
    pub fen: Option<String>,
    /// PGN file to which the game is appended, updated after every move
    #[arg(long)]
    pub pgn: Option<PathBuf>,
    /// Continue the last game of --pgn
    #[arg(long, requires = "pgn", conflicts_with = "fen")]
    pub resume: bool,
    /// How the board is drawn [default: colour at a UTF-8 terminal, else what the terminal can show]
    #[arg(long, value_enum)]
    pub board: Option<BoardStyle>,
    #[command(flatten)]
    pub engine: EngineArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PlayerSide {
    /// White
    White,
    /// Black
    Black,
    /// Random
    Random,
}

impl PlayerSide {
    fn color(self) -> Color {
        match self {
            PlayerSide::White => Color::White,
            PlayerSide::Black => Color::Black,
            PlayerSide::Random => Color::from_white(game_seed().is_multiple_of(2)),
        }
    }
}

#[derive(Debug, Error)]
pub enum PlayError {
    #[error("--fen: {0}")]
    Position(#[from] PositionError),
    #[error("{0}")]
    Network(String),
    #[error(transparent)]
    Search(#[from] JudgeError),
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, io::Error),
    #[error("{path}: {1}", path = .0.display())]
    Resume(PathBuf, String),
    #[error("{0}")]
    Output(#[from] io::Error),
}

/// Returns at `quit`, the end of the input, Ctrl-C or an error. A game in no file is printed at the end.
pub fn run(
    config: &PlayConfig,
    input: impl Read + Send + 'static,
    stop: &Arc<AtomicBool>,
    out: &mut impl Write,
) -> Result<(), PlayError> {
    let start = config.fen.as_deref().map_or_else(|| Ok(Game::new()), Game::from_fen)?;
    let opponent = Opponent::new(config).map_err(PlayError::Network)?;
    let record = match &config.pgn {
        Some(path) if config.resume => Record::resume(path)?,
        path => Record::new(start, config.side.color(), opponent.name(), path.as_deref())?,
    };
    let style = config.board.unwrap_or_else(|| BoardStyle::of_terminal(io::stdout().is_terminal()));
    let mut dialogue = Dialogue::new(record, opponent, style, Arc::clone(stop));
    let played = converse(&mut dialogue, &read_lines(input), stop, out);
    played.and(dialogue.end(out))
}

fn converse(
    dialogue: &mut Dialogue,
    lines: &Receiver<String>,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), PlayError> {
    dialogue.begin(out)?;
    loop {
        dialogue.prompt(out)?;
        let Some(line) = next_line(lines, stop) else { return Ok(()) };
        if let ControlFlow::Break(()) = dialogue.line(&line, out)? {
            return Ok(());
        }
    }
}

/// In a thread, because Ctrl-C cannot interrupt a blocking read.
fn read_lines(input: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = bounded(0);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        let mut bytes = Vec::new();
        while input.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            if sender.send(String::from_utf8_lossy(&bytes).trim().to_owned()).is_err() {
                break;
            }
            bytes.clear();
        }
    });
    receiver
}

/// `None` at the end of the input or after Ctrl-C.
fn next_line(lines: &Receiver<String>, stop: &AtomicBool) -> Option<String> {
    while !stop.load(Ordering::Relaxed) {
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}
