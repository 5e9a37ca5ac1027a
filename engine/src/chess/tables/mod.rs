//! Syzygy endgame tables.
//!
//! Inside a search tree, [`Tables::wdl`] gives the result of a position where it does not depend on the moves before
//! it. At the root, [`Tables::root`] gives the moves that keep the best result, with the fifty-move counter of the
//! game.
//!
//! The tables of three and four men are part of the program ([`Tables::builtin`]); others are read from folders. A
//! missing or damaged table never ends a game: the position then has no result, and the user is warned once
//! ([`Tables::warnings`]).

mod builtin;
mod root;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use shakmaty::{Chess, Position};
use shakmaty_syzygy::{ProbeError, SyzygyError, Tablebase, Wdl};
use thiserror::Error;

use crate::chess::position::Game;
use builtin::TableFiles;

pub use root::{RankedResult, TableMove, TableMoves};

/// When the tables are probed, and how their results are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRules {
    /// Whether a win that takes more than fifty moves without a capture or pawn move counts as a draw.
    pub fifty_moves: bool,
    /// The largest number of pieces, kings and pawns included, of a position to probe; 0 probes none.
    pub pieces: usize,
    /// The least distance from the root, in plies, at which the search probes.
    pub depth: usize,
}

impl Default for ProbeRules {
    fn default() -> ProbeRules {
        ProbeRules { fifty_moves: true, pieces: 7, depth: 1 }
    }
}

/// The result of a position with best play, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableResult {
    Loss,
    Draw,
    Win,
}

impl TableResult {
    pub fn flipped(self) -> TableResult {
        match self {
            TableResult::Loss => TableResult::Win,
            TableResult::Draw => TableResult::Draw,
            TableResult::Win => TableResult::Loss,
        }
    }
}

#[derive(Debug, Error)]
pub enum TablesError {
    #[error("cannot read the tables' folder {path}: {1}", path = .0.display())]
    Folder(PathBuf, io::Error),
    /// The folders hold no usable table; the first warning, if there was one.
    #[error("no Syzygy tables in {0}{reason}", reason = .1.as_ref().map_or(String::new(), |first| format!(": {first}")))]
    NoTables(String, Option<String>),
}

/// A set of tables; empty by default. Clones share the files.
#[derive(Clone, Default)]
pub struct Tables {
    shared: Arc<Shared>,
    rules: ProbeRules,
}

struct Shared {
    base: Tablebase<Chess>,
    /// The numbers of WDL and of DTZ files in the folders.
    files: (usize, usize),
    /// Whether the built-in tables are among them.
    builtin: bool,
    warnings: Mutex<Warnings>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            base: Tablebase::with_filesystem(Arc::new(TableFiles::default())),
            files: (0, 0),
            builtin: false,
            warnings: Mutex::default(),
        }
    }
}

/// Warnings about the files, each once.
#[derive(Default)]
struct Warnings {
    known: HashSet<String>,
    unreported: Vec<String>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("files", &self.shared.files).field("rules", &self.rules).finish()
    }
}

impl fmt::Display for Tables {
    /// One line with the number of tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wdl, dtz) = self.shared.files;
        let pieces = self.shared.base.max_pieces();
        write!(f, "{wdl} WDL and {dtz} DTZ tables")?;
        if self.shared.builtin {
            write!(f, " beside the {} of each that are built in,", builtin::count())?;
        }
        write!(f, " of up to {pieces} pieces")
    }
}

impl Tables {
    /// The built-in tables: all endgames of three and four men.
    pub fn builtin(rules: ProbeRules) -> Tables {
        Tables { shared: Arc::new(Shared::builtin()), rules }
    }

    /// Finds the tables in a list of folders, separated by `;` or, except on Windows, by `:`.
    ///
    /// Files are opened when first probed. A file whose length is not that of a table is skipped with a warning.
    pub fn open(paths: &str, rules: ProbeRules) -> Result<Tables, TablesError> {
        Tables::add_folders(Shared::default(), paths, rules)
    }

    /// The built-in tables, and those in folders as for [`Tables::open`]. Files of tables that are built in are not
    /// used.
    pub fn open_beside_builtin(paths: &str, rules: ProbeRules) -> Result<Tables, TablesError> {
        Tables::add_folders(Shared::builtin(), paths, rules)
    }

    fn add_folders(mut shared: Shared, paths: &str, rules: ProbeRules) -> Result<Tables, TablesError> {
        let separators: &[char] = if cfg!(windows) { &[';'] } else { &[':', ';'] };
        for folder in paths.split(separators).map(str::trim).filter(|folder| !folder.is_empty()) {
            shared.add(Path::new(folder)).map_err(|error| TablesError::Folder(folder.into(), error))?;
        }
        if shared.files == (0, 0) {
            let tables = Tables { shared: Arc::new(shared), rules };
            return Err(TablesError::NoTables(paths.to_owned(), tables.warnings().into_iter().next()));
        }
        Ok(Tables { shared: Arc::new(shared), rules })
    }

    pub fn with_rules(&self, rules: ProbeRules) -> Tables {
        Tables { shared: Arc::clone(&self.shared), rules }
    }

    pub fn rules(&self) -> ProbeRules {
        self.rules
    }

    /// The largest number of pieces of a position that can be probed; 0 without tables.
    pub fn max_pieces(&self) -> usize {
        self.rules.pieces.min(self.shared.base.max_pieces())
    }

    /// The result of a position inside a search tree.
    ///
    /// `None` with castling rights or too many pieces, and under the fifty-move rule unless the last move was a
    /// capture or pawn move, since the tables assume a counter of zero (which also rules out repetitions). Mate and
    /// stalemate have results too, but without a distance.
    pub fn wdl(&self, game: &Game) -> Option<TableResult> {
        let position = game.position();
        if !self.covers(position) || (self.rules.fifty_moves && position.halfmoves() > 0) {
            return None;
        }
        let wdl = self.shared.base.probe_wdl_after_zeroing(position);
        wdl.map(|wdl| self.result(wdl)).map_err(|error| self.shared.note_probe(&error)).ok()
    }

    /// The warnings since the last call, one line each: every damaged file once, and once that tables are missing.
    /// All were logged already.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock_warnings().unreported)
    }

    fn covers(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.max_pieces() && position.castles().is_empty()
    }

    fn result(&self, wdl: Wdl) -> TableResult {
        match wdl {
            Wdl::Win => TableResult::Win,
            Wdl::Loss => TableResult::Loss,
            Wdl::CursedWin if !self.rules.fifty_moves => TableResult::Win,
            Wdl::BlessedLoss if !self.rules.fifty_moves => TableResult::Loss,
            Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => TableResult::Draw,
        }
    }
}

impl Shared {
    fn builtin() -> Shared {
        let mut shared = Shared { builtin: true, ..Shared::default() };
        for path in builtin::paths() {
            shared.base.add_file(path).expect("the built-in files are tables");
        }
        shared
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let known = self.builtin && builtin::contains(&path);
            match if known { Ok(()) } else { self.base.add_file(&path) } {
                Ok(()) if path.extension().is_some_and(|kind| kind == "rtbw") => self.files.0 += 1,
                Ok(()) => self.files.1 += 1,
                // Not the name of a table.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                Err(error) => self.note(format!("the table {} cannot be used: {error}", path.display())),
            }
        }
        Ok(())
    }

    fn lock_warnings(&self) -> std::sync::MutexGuard<'_, Warnings> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, warning: String) {
        let mut warnings = self.lock_warnings();
        if warnings.known.insert(warning.clone()) {
            log::warn!("{warning}");
            warnings.unreported.push(warning);
        }
    }

    fn note_probe(&self, error: &SyzygyError) {
        match error {
            SyzygyError::ProbeFailed { metric, material, error } => {
                let why = match &**error {
                    ProbeError::Read { error } => format!("cannot be read: {error}"),
                    ProbeError::Magic { .. } => "is not a Syzygy table".to_owned(),
                    ProbeError::CorruptedTable { .. } => "is damaged".to_owned(),
                };
                self.note(format!("the {metric} table {material} {why}"));
            }
            // Incomplete sets are common: which tables are missing does not matter.
            SyzygyError::MissingTable { .. } => {
                self.note("some tables are missing: positions that need them are searched".to_owned());
            }
            SyzygyError::Castling | SyzygyError::TooManyPieces => {}
        }
    }
}

#[cfg(test)]
mod tests;
