//! The command `export-pgn`.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use crate::base::files::write_with;
use crate::data::dataset::read;
use crate::data::record::{EvalSide, write_pgn};

/// Write stored games (games/1) as PGN, with evaluations and opening names
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer export-pgn data/mined-*.h5 --out mined.pgn\n  \
    philidor-trainer export-pgn data/mined-00000.h5 --game 7 --evals after")]
pub struct ExportPgnArgs {
    /// Files of games (games/1)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file to write [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only this game of each file, counted from 0
    #[arg(long)]
    game: Option<usize>,
    /// The position to which the [%eval] after a move belongs: `before` loses nothing and is what `import` expects;
    /// `after` is what Lichess writes and most other programs show
    #[arg(long = "evals", value_enum, default_value_t = EvalSide::Before)]
    eval: EvalSide,
}

impl ExportPgnArgs {
    pub fn run(&self) -> anyhow::Result<()> {
        let Some(path) = &self.out else {
            return self.write(&mut BufWriter::new(io::stdout().lock())).map(drop);
        };
        let games = write_with(path, |file| self.write(&mut BufWriter::new(file)))?;
        say!("{games} games: {}", path.display());
        Ok(())
    }

    fn write(&self, out: &mut impl Write) -> anyhow::Result<usize> {
        let mut written = 0;
        for path in &self.files {
            let chunk = read(path)?;
            let games = match self.game {
                None => 0..chunk.games(),
                Some(index) if index < chunk.games() => index..index + 1,
                Some(index) => {
                    bail!("{}: there is no game {index}, the file has {}", path.display(), chunk.games())
                }
            };
            for index in games {
                match write_pgn(&chunk.game(index), &chunk.source, &index.to_string(), self.eval, out) {
                    Ok(()) => written += 1,
                    // The reader has closed our output.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(written),
                    Err(error) => {
                        return Err(error).with_context(|| format!("{}: game {index}", path.display()));
                    }
                }
            }
        }
        match out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(written),
        }
    }
}
