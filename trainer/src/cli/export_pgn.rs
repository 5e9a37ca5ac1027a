//! Stored games as PGN.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::dataset::read;
use crate::record::{EvalSide, write_pgn};

/// Write stored games (games/1) as PGN, with their evaluations and their openings' names
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer export-pgn data/mined-*.h5 --out mined.pgn\n  \
    philidor-trainer export-pgn data/mined-00000.h5 --game 7 --eval after")]
pub struct ExportPgnArgs {
    /// Files of games (games/1)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write here [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only this game of each file, from 0
    #[arg(long)]
    game: Option<usize>,
    /// To which position the [%eval] behind a move belongs: `before` loses nothing and is what `import` expects,
    /// `after` is Lichess's way and what most other programs show
    #[arg(long, value_enum, default_value_t = EvalSide::Before)]
    eval: EvalSide,
}

impl ExportPgnArgs {
    /// Writes.
    ///
    /// # Errors
    ///
    /// One line: a file of games can't be read, or the PGN not be written.
    pub fn run(&self) -> Result<(), String> {
        match &self.out {
            None => self.write(&mut io::stdout().lock()).map(drop),
            Some(path) => self.write_file(path),
        }
    }

    /// Writes aside and renames.
    fn write_file(&self, path: &Path) -> Result<(), String> {
        let unwritable = |error: io::Error| format!("can't write {}: {error}", path.display());
        let part = path.with_extension("pgn.part");
        let mut out = BufWriter::new(File::create(&part).map_err(unwritable)?);
        let written = self.write(&mut out).and_then(|games| {
            let file = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
            file.sync_all().and_then(|()| std::fs::rename(&part, path)).map_err(unwritable)?;
            Ok(games)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        println!("{} games: {}", written?, path.display());
        Ok(())
    }

    fn write(&self, out: &mut impl Write) -> Result<usize, String> {
        let mut written = 0;
        for path in &self.files {
            let chunk = read(path).map_err(|error| error.to_string())?;
            let games = match self.game {
                None => 0..chunk.games(),
                Some(index) if index < chunk.games() => index..index + 1,
                Some(index) => {
                    return Err(format!(
                        "{}: there is no game {index}, but {}",
                        path.display(),
                        chunk.games()
                    ));
                }
            };
            for index in games {
                match write_pgn(&chunk.game(index), &chunk.source, &index.to_string(), self.eval, out) {
                    Ok(()) => written += 1,
                    // Whoever reads has had enough.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(written),
                    Err(error) => return Err(format!("{}: game {index}: {error}", path.display())),
                }
            }
        }
        match out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
            _ => Ok(written),
        }
    }
}
