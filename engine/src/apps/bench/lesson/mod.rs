//! The examples of a course's notebook (`docs/sources.md`), or the same for another position: moves tried and time of
//! minimax and alpha-beta, and results of UCT with random games.

mod notebook;
mod plain;
mod full_width;
mod uct;

use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use thiserror::Error;

use crate::chess::position::{Game, Outcome, PositionError};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Example: philidor lesson --fen '6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1' --depth 3 --games 500 \
    --every 250"
)]
pub struct LessonConfig {
    /// FEN of a position for all three [default: the notebook's, one for minimax and alpha-beta, one for UCT]
    #[arg(long)]
    pub fen: Option<String>,
    /// Depth of minimax and alpha-beta in plies
    #[arg(long, default_value_t = notebook::DEPTH, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub depth: u32,
    /// Random games of UCT
    #[arg(long, default_value_t = notebook::UCT_GAMES, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub games: u64,
    /// Show UCT's moves after every so many games, too [default: only after the last]
    #[arg(long, value_name = "GAMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
}

#[derive(Debug, Error)]
pub enum LessonError {
    #[error(transparent)]
    Position(#[from] PositionError),
    #[error("the game is over in this position: {}", .0.reason())]
    Over(Outcome),
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Output(#[from] io::Error),
}

const NOTEBOOK_NOTES: &str = "\
The notebook is a chapter of a chess-programming course, which these players follow.

Plain alpha-beta tries the moves in python-chess's order, with a full window for every root move, and reads the table of
squares by files: as the notebook does, hence the same number. Read by ranks, as the table is written, it would be
119,706. Our player tries captures first and gives later root moves the best value so far as a bound.";

const OWN_NOTES: &str = "\
Values are for White. Plain alpha-beta is the notebook's: it tries the moves in python-chess's order, with a full window
for every root move, reads the table of squares by files, knows no draws, counts a mate by White as 1,000,000, one by
Black as -100,000, and names no move where all lose by mate. Our players count a mate as ±1,000,000, less one for every
ply after the first; alpha-beta tries captures first and gives later root moves the best value so far as a bound.";

/// The notebook's numbers stand beside ours only for its own positions, depth and number of games.
pub fn run(
    config: &LessonConfig,
    stop: &AtomicBool,
    out: &mut (impl Write + Send),
) -> Result<(), LessonError> {
    let own = config.fen.as_deref().map(Game::from_fen).transpose()?;
    if let Some(outcome) = own.as_ref().and_then(Game::outcome) {
        return Err(LessonError::Over(outcome));
    }
    let is_notebooks = own.is_none() && config.depth == notebook::DEPTH;
    let game = own.clone().map_or_else(|| Game::from_fen(notebook::FEN), Ok)?;
    full_width::print(&game, config.depth, is_notebooks, stop, out)?;
    writeln!(out, "\n{}\n", if is_notebooks { NOTEBOOK_NOTES } else { OWN_NOTES })?;
    let is_notebooks = own.is_none() && config.games == notebook::UCT_GAMES;
    let game = own.map_or_else(|| Game::from_uci(None, notebook::UCT_MOVES.split_whitespace()), Ok)?;
    uct::print(&game, config, is_notebooks, stop, out)
}
