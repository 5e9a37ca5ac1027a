use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use crate::data::dataset::{describe_file, describe_game, read};

/// Check and describe files of games
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer inspect data/engine-*.h5\n  \
    philidor-trainer inspect data/engine-00000.h5 --game 7 --boards")]
pub struct InspectArgs {
    /// Files of games (games/1), or - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Check structure and checksums, but do not replay the games
    #[arg(long)]
    quick: bool,
    /// Show this game of each file, counted from 0: its opening and its moves, each with the evaluation before the move
    #[arg(long)]
    game: Option<usize>,
    /// Show the board after each move of the game
    #[arg(long, requires = "game")]
    boards: bool,
}

impl InspectArgs {
    /// The error has a line per unreadable or damaged file.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut errors = Vec::new();
        let mut out = io::stdout().lock();
        for path in &self.files {
            let description = match self.game {
                None => describe_file(path, !self.quick),
                Some(index) => read(path).map_err(Into::into).and_then(|chunk| {
                    let text = describe_game(&chunk, index, self.boards);
                    text.with_context(|| path.display().to_string())
                }),
            };
            match description {
                Ok(description) => match writeln!(out, "{description}") {
                    // The reader closed the pipe.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    written => written?,
                },
                Err(error) => errors.push(format!("{error:#}")),
            }
        }
        if errors.is_empty() { Ok(()) } else { bail!(errors.join("\n")) }
    }
}
