//! An engine's evaluations for games that there are.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use serde_json::json;

use super::engine_args::EngineArgs;
use super::interrupt;
use super::out_args::{OutArgs, report};
use crate::datagen;
use crate::datagen::{DatagenSummary, EngineTask, run_tasks};
use crate::datagen::{EngineError, Limit, UciEngine};
use crate::dataset::read;
use crate::dataset::replay_game;
use crate::dataset::{PendingGame, Store};
use crate::files::{file_name, stem};
use crate::import::{Filters, ImportError, ReadEvent, ReadOptions, read_games};
use crate::progress::progress;
use crate::record::{EvalSide, GameRecord, NO_EVAL};

/// Give games the evaluations of a UCI engine: PGN or files of games in, files of games (games/1) out
///
/// All games are taken, also those without a result; `import` them first to choose. Ctrl-C loses nothing; the same
/// line with --resume goes on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer annotate data/mine-*.h5 --nodes 20000\n  \
    philidor-trainer annotate games.pgn.zst --name judged --movetime 100 --keep-known")]
pub struct AnnotateArgs {
    /// PGN files (plain, .gz, .zst, .bz2) or files of games
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The new files' name, before -00000.h5 [default: the first file's, and "-annotated"]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    engines: EngineArgs,
    /// Leave evaluations that there are as they are
    #[arg(long)]
    keep_known: bool,
    /// Also record each position's best move, with win, draw and loss, as the policy to be learnt there
    #[arg(long)]
    best_move: bool,
    /// To which position an [%eval] comment of a PGN belongs
    #[arg(long, value_enum, default_value_t = EvalSide::Auto)]
    eval: EvalSide,
}

impl AnnotateArgs {
    /// Annotates; says what came of it.
    ///
    /// # Errors
    ///
    /// One line: an engine fails, or games can't be read or written.
    pub fn run(&self) -> Result<(), String> {
        let name = self.name.clone().unwrap_or_else(|| format!("{}-annotated", stem(&self.files[0])));
        let stop = interrupt::flag()?;
        report(self.annotate(&name, &stop)?, &self.out.out.join(name));
        Ok(())
    }

    fn annotate(&self, name: &str, stop: &AtomicBool) -> Result<DatagenSummary, String> {
        let limit = self.engines.limit();
        let engine = self.engines.name(stop)?;
        let names: Vec<String> = self.files.iter().map(|path| file_name(path)).collect();
        let (files, eval) = (self.files.clone(), self.eval);
        let (keep_known, best_move) = (self.keep_known, self.best_move);
        let work = Annotate { files, eval, keep_known, best_move, limit };
        let settings = json!({
            "engine": engine, "options": self.engines.options(), "limit": limit.to_string(), "files": names,
            "bytes": self.files.iter().map(|path| path.metadata().map_or(0, |meta| meta.len())).collect::<Vec<_>>(),
            "eval": format!("{eval:?}"), "keep_known": keep_known, "best_move": best_move,
        });
        let source = format!("annotated: {engine}, {limit}: {}", names.join(", "));
        let store = Store::open(&self.out.options(), name, &source, settings)?;
        let (mut all, mut done) = (0, 0);
        work.each_game(stop, true, &mut |number, game| {
            all += game.moves.len() as u64;
            done += if number < store.games() { game.moves.len() as u64 } else { 0 };
            true
        })?;
        let bar = progress(all, done, "positions");
        run_tasks(&work, (&self.engines.command(), self.engines.count()), store, &bar, stop)
    }
}

struct Annotate {
    files: Vec<PathBuf>,
    eval: EvalSide,
    keep_known: bool,
    best_move: bool,
    limit: Limit,
}

impl Annotate {
    /// Reads all games in their order, until `take` says no; `loud` tells of those that are left out.
    fn each_game(
        &self,
        stop: &AtomicBool,
        loud: bool,
        take: &mut dyn FnMut(u64, GameRecord) -> bool,
    ) -> Result<(), String> {
        let mut number = 0;
        let mut counted = |game: GameRecord| {
            number += 1;
            take(number - 1, game)
        };
        for path in &self.files {
            let wants_more = if is_hdf5(path)? {
                each_stored_game(path, loud, &mut counted)?
            } else {
                self.each_written_game(path, stop, loud, &mut counted)?
            };
            if !wants_more {
                break;
            }
        }
        Ok(())
    }

    fn each_written_game(
        &self,
        path: &Path,
        stop: &AtomicBool,
        loud: bool,
        take: &mut dyn FnMut(GameRecord) -> bool,
    ) -> Result<bool, String> {
        let filters = Filters { unknown_results: true, ..Filters::default() };
        let options = ReadOptions { evals: self.eval, filters, ..ReadOptions::default() };
        let read = read_games(&[path.to_owned()], &options, stop, |progress| match progress {
            ReadEvent::Game(game) => take(game).then_some(()).ok_or(()),
            ReadEvent::Broken(path, broken) if loud => {
                log::warn!("{}:{}: {}, skipped", path.display(), broken.line, broken.fault);
                Ok(())
            }
            _ => Ok(()),
        });
        match read {
            Ok(report) => {
                for (path, why) in report.damaged_files.iter().filter(|_| loud) {
                    log::warn!("{}: damaged: {why}", path.display());
                }
                Ok(!stop.load(Ordering::Relaxed))
            }
            Err(ImportError::Receiver(())) => Ok(false),
            Err(ImportError::Open(path, error)) => Err(format!("can't read {}: {error}", path.display())),
        }
    }
}

fn each_stored_game(
    path: &Path,
    loud: bool,
    take: &mut dyn FnMut(GameRecord) -> bool,
) -> Result<bool, String> {
    let chunk = read(path).map_err(|error| error.to_string())?;
    for index in 0..chunk.games() {
        match replay_game(&chunk, index) {
            Ok(_) if !take(chunk.game(index)) => return Ok(false),
            Err(why) if loud => log::warn!("{}: {why}, skipped", path.display()),
            _ => (),
        }
    }
    Ok(true)
}

/// Whether a file is HDF5, by its signature.
fn is_hdf5(path: &Path) -> Result<bool, String> {
    let mut head = [0; 8];
    let read = File::open(path).map(|mut file| file.read_exact(&mut head));
    read.map_err(|error| format!("can't read {}: {error}", path.display()))?.unwrap_or_default();
    Ok(head == *b"\x89HDF\r\n\x1a\n")
}

impl EngineTask for Annotate {
    fn weight(&self, game: &GameRecord) -> u64 {
        game.moves.len() as u64
    }

    fn deal(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        stop: &AtomicBool,
        take: &mut dyn FnMut(PendingGame) -> bool,
    ) -> Result<(), String> {
        self.each_game(stop, false, &mut |number, game| {
            number < from
                || held.contains(&number)
                || take(PendingGame { number, game, ..PendingGame::default() })
        })
    }

    fn work(
        &self,
        hand: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        let wanted = |eval| !self.keep_known || eval == NO_EVAL;
        datagen::annotate(&mut hand.game, &mut hand.done, wanted, self.best_move, engine, self.limit, stop)
    }
}
