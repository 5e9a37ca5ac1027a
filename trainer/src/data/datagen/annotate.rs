//! Labels existing games with an engine's evaluations.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

use super::engine_pool::{EngineTask, TaskError};
use super::{EngineError, Limit, UciEngine, position_after, search_record, stored_eval};
use crate::base::progress::count_ply;
use crate::data::dataset::{self, PendingGame, replay_game};
use crate::data::import::{Filters, ImportError, ReadEvent, ReadOptions, ReadReport, is_regular, read_games};
use crate::data::record::{EvalSide, GameRecord, NO_EVAL, SearchRecord};

const HDF5_SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// The error for a stored game that cannot be replayed.
pub const DAMAGED: &str = "damaged";

#[derive(Clone, Debug)]
pub struct Annotate {
    /// `games/1` or PGN.
    pub files: Vec<PathBuf>,
    /// The position to which an evaluation in a PGN belongs.
    pub eval: EvalSide,
    pub keep_known: bool,
    /// Best moves per position, recorded as a search with WDL; 0 for none.
    pub best_moves: usize,
    /// Per position.
    pub limit: Limit,
}

impl Annotate {
    /// Passes all games and their numbers to `take` until it returns false. Reports omitted games and files, and logs
    /// them if `warn`.
    pub fn each_game(
        &self,
        stop: &AtomicBool,
        warn: bool,
        take: &mut dyn FnMut(u64, GameRecord) -> bool,
    ) -> anyhow::Result<ReadReport> {
        let (mut number, mut report) = (0, ReadReport::default());
        let mut numbered = |game: GameRecord| {
            number += 1;
            take(number - 1, game)
        };
        for path in &self.files {
            let wants_more = if is_hdf5(path)? {
                each_stored_game(path, warn, &mut report, &mut numbered)?
            } else {
                self.each_pgn_game(path, stop, warn, &mut report, &mut numbered)?
            };
            if !wants_more {
                break;
            }
        }
        Ok(report)
    }

    fn each_pgn_game(
        &self,
        path: &Path,
        stop: &AtomicBool,
        warn: bool,
        report: &mut ReadReport,
        take: &mut dyn FnMut(GameRecord) -> bool,
    ) -> anyhow::Result<bool> {
        let filters = Filters { unknown_results: true, ..Filters::default() };
        let options = ReadOptions { evals: self.eval, filters, ..ReadOptions::default() };
        let read = read_games(&[path.to_owned()], &options, stop, |event| match event {
            ReadEvent::Game(game) => take(game).then_some(()).ok_or(()),
            ReadEvent::Broken(path, broken) if warn => {
                log::warn!("{}:{}: {}, skipped", path.display(), broken.line, broken.error);
                Ok(())
            }
            _ => Ok(()),
        });
        match read {
            Ok(read) => {
                for (path, why) in read.damaged_files.iter().filter(|_| warn) {
                    log::warn!("{}: damaged: {why}", path.display());
                }
                report.add(read);
                Ok(!stop.load(Ordering::Relaxed))
            }
            Err(ImportError::Receiver(())) => Ok(false),
            Err(ImportError::Open(path, error)) => {
                Err(error).with_context(|| format!("cannot read {}", path.display()))
            }
            Err(ImportError::Format(path, why)) => bail!("{}: {why}", path.display()),
        }
    }

    /// Evaluates positions from ply `done` on. After an error or a set `stop`, the plies before `done` are complete.
    fn annotate(
        &self,
        game: &mut GameRecord,
        done: &mut usize,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), EngineError> {
        engine.new_game(stop)?;
        if self.best_moves > 0 {
            game.searches.resize(game.moves.len(), SearchRecord::default());
        }
        let mut position = position_after(game.start.as_deref(), game.moves[..*done].iter().copied());
        // A game may continue after a draw by rule that nobody claimed.
        while let Some(&m) = game.moves.get(*done) {
            if !self.keep_known || game.evals[*done] == NO_EVAL {
                let mover = position.game.turn();
                let found = engine.best(&position, self.limit, self.best_moves.max(1), stop)?;
                game.evals[*done] = stored_eval(&found[0], mover);
                if self.best_moves > 0 {
                    game.searches[*done] = search_record(&found, mover);
                }
            }
            position.play(m.to_legal_move(position.game.position()));
            *done += 1;
            count_ply();
        }
        Ok(())
    }
}

impl EngineTask for Annotate {
    fn progress_of(&self, game: &GameRecord) -> u64 {
        game.moves.len() as u64
    }

    fn queue(
        &self,
        from: u64,
        held: &BTreeSet<u64>,
        stop: &AtomicBool,
        send: &mut dyn FnMut(PendingGame) -> bool,
    ) -> anyhow::Result<()> {
        self.each_game(stop, false, &mut |number, game| {
            number < from
                || held.contains(&number)
                || send(PendingGame { number, game, ..PendingGame::default() })
        })
        .map(drop)
    }

    fn process(
        &self,
        pending: &mut PendingGame,
        engine: &mut UciEngine,
        stop: &AtomicBool,
    ) -> Result<(), TaskError> {
        Ok(self.annotate(&mut pending.game, &mut pending.done, engine, stop)?)
    }
}

fn each_stored_game(
    path: &Path,
    warn: bool,
    report: &mut ReadReport,
    take: &mut dyn FnMut(GameRecord) -> bool,
) -> anyhow::Result<bool> {
    let chunk = match dataset::read(path) {
        Ok(chunk) => chunk,
        Err(error) => {
            if warn {
                log::warn!("{error}, skipped");
            }
            report.damaged_files.push((path.to_owned(), error.to_string()));
            return Ok(true);
        }
    };
    for index in 0..chunk.games() {
        match replay_game(&chunk, index) {
            Ok(_) => {
                if !take(chunk.game(index)) {
                    return Ok(false);
                }
            }
            Err(error) => {
                if warn {
                    log::warn!("{}: {error:#}, skipped", path.display());
                }
                *report.broken.entry(DAMAGED).or_default() += 1;
            }
        }
    }
    Ok(true)
}

fn is_hdf5(path: &Path) -> anyhow::Result<bool> {
    // Counts as PGN, because a pipe can be read only once.
    if !is_regular(path) {
        return Ok(false);
    }
    let mut head = [0; HDF5_SIGNATURE.len()];
    let read = File::open(path).map(|mut file| file.read_exact(&mut head));
    // A shorter file is not HDF5.
    read.with_context(|| format!("cannot read {}", path.display()))?.unwrap_or_default();
    Ok(head == HDF5_SIGNATURE)
}
