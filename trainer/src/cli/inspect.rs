//! `inspect`: checks and describes files of games.

use std::path::PathBuf;

use clap::Args;

use crate::dataset::{describe_file, describe_game, read};

/// Prove files of games and describe them
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer inspect data/engine-*.h5\n  \
    philidor-trainer inspect data/engine-00000.h5 --game 7 --boards")]
pub struct InspectArgs {
    /// Files of games (games/1)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Check structure and checksums, but don't replay the games
    #[arg(long)]
    quick: bool,
    /// Show this game of each file, from 0: its opening, its moves, the evaluations of the positions before them
    #[arg(long)]
    game: Option<usize>,
    /// Show the board after each move of the game
    #[arg(long, requires = "game")]
    boards: bool,
}

impl InspectArgs {
    /// Prints a description of each file.
    ///
    /// # Errors
    ///
    /// A line for each that is broken.
    pub fn run(&self) -> Result<(), String> {
        let mut errors = Vec::new();
        for path in &self.files {
            let description = match self.game {
                None => describe_file(path, !self.quick),
                Some(index) => read(path).map_err(|error| error.to_string()).and_then(|chunk| {
                    let told = describe_game(&chunk, index, self.boards);
                    told.map_err(|why| format!("{}: {why}", path.display()))
                }),
            };
            match description {
                Ok(description) => println!("{description}"),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }
}
