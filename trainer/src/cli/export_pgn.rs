use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use engine::base::words::counted;

use engine::base::interrupt;

use crate::base::files::{check_output, write_with};
use crate::data::dataset::read;
use crate::data::record::{EvalSide, write_pgn};

const ARENA: &str = "arena: ";
const AGAINST: &str = " against ";

/// [`ExportPgnArgs`] reads the players' names from this text.
pub(super) fn arena_source(first: &str, second: &str) -> String {
    format!("{ARENA}{first}{AGAINST}{second}")
}

/// Write stored games (games/1) as PGN, with evaluations and opening names
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer export-pgn data/mined-*.h5 --out mined.pgn\n  \
    philidor-trainer export-pgn data/mined-00000.h5 --game 7 --evals after")]
pub struct ExportPgnArgs {
    /// Files of games (games/1), or - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The file to write [default: standard output]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only this game of each file, counted from 0
    #[arg(long)]
    game: Option<usize>,
    /// The position whose evaluation is written after a move
    #[arg(long, value_enum, default_value_t = WrittenEvals::Before)]
    evals: WrittenEvals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WrittenEvals {
    /// The one before the move, for White; `#n` counts plies: all that is stored, and what `import` expects
    Before,
    /// The one after the move, for White; `#n` counts moves: as Lichess writes and most programs show
    After,
    /// As `before`, but for the side that moves
    Mover,
}

impl From<WrittenEvals> for EvalSide {
    fn from(evals: WrittenEvals) -> EvalSide {
        match evals {
            WrittenEvals::Before => EvalSide::Before,
            WrittenEvals::After => EvalSide::After,
            WrittenEvals::Mover => EvalSide::Mover,
        }
    }
}

impl ExportPgnArgs {
    pub fn run(&self) -> anyhow::Result<()> {
        let Some(path) = &self.out else {
            return self.write(&mut BufWriter::new(io::stdout().lock()), &AtomicBool::new(false)).map(drop);
        };
        check_output(path, &self.files)?;
        let stop = interrupt::flag()?;
        let games = write_with(path, |file| self.write(&mut BufWriter::new(file.as_file_mut()), &stop))?;
        say!("{}: {}", counted(games, "game"), path.display());
        Ok(())
    }

    /// Fails once `stop` is set.
    fn write(&self, out: &mut impl Write, stop: &AtomicBool) -> anyhow::Result<usize> {
        let mut written = 0;
        for path in &self.files {
            let chunk = read(path)?;
            let arena = arena_players(&chunk.source);
            let games = match self.game {
                None => 0..chunk.games(),
                Some(index) if index < chunk.games() => index..index + 1,
                Some(index) => {
                    bail!("{}: there is no game {index}, the file has {}", path.display(), chunk.games())
                }
            };
            for index in games {
                ensure!(!stop.load(Ordering::Relaxed), "stopped before the end: nothing is written");
                let (round, players) = match &arena {
                    // Both games of an opening form a round; the first player is White in the first game.
                    Some([first, second]) if index % 2 == 0 => (index / 2 + 1, [&**first, &**second]),
                    Some([first, second]) => (index / 2 + 1, [&**second, &**first]),
                    None => (index, ["?"; 2]),
                };
                let (game, round) = (chunk.game(index), round.to_string());
                match write_pgn(&game, &chunk.source, &round, players, self.evals.into(), out) {
                    Ok(()) => written += 1,
                    // The reader closed the pipe.
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

/// From the `source` of a file by `arena`. In a match of a player against itself the second is "NAME (2)".
fn arena_players(source: &str) -> Option<[String; 2]> {
    let (first, second) = source.strip_prefix(ARENA)?.split_once(AGAINST)?;
    let second = if second == first { format!("{second} (2)") } else { second.to_owned() };
    Some([first.to_owned(), second])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::{Chunk, write};
    use crate::data::record::{GameRecord, GameResult};
    use crate::play::arena::{Tournament, read_pgn};

    #[test]
    fn games_of_an_arena_are_exported_with_their_players_and_rated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.h5");
        let mut chunk = Chunk::new(&arena_source("uct:20", "nets/a.onnx"));
        // The first player wins both games of the first pair; the others are drawn.
        for result in [GameResult::White, GameResult::Black, GameResult::Draw, GameResult::Draw] {
            chunk.push(&GameRecord { result, ..GameRecord::default() });
        }
        write(&chunk, &path).unwrap();
        let args = ExportPgnArgs { files: vec![path], out: None, game: None, evals: WrittenEvals::Before };
        let mut text = Vec::new();
        assert_eq!(args.write(&mut text, &AtomicBool::new(false)).unwrap(), 4);
        let tournament = Tournament::new(&[read_pgn(&text, "games.pgn").unwrap()]);
        let first = &tournament.players[0];
        assert_eq!((first.name.as_str(), first.results.games), ("uct:20", [2, 2, 0]));
        assert_eq!(first.results.pairs, [0, 0, 1, 0, 1]);
        let error = args.write(&mut Vec::new(), &AtomicBool::new(true)).unwrap_err().to_string();
        assert_eq!(error, "stopped before the end: nothing is written");
        assert_eq!(arena_players(&arena_source("a", "a")), Some(["a".into(), "a (2)".into()]));
        assert_eq!(arena_players("mined: an engine"), None);
    }
}
