//! Syzygy endgame tables: [`Tables::wdl`] for positions in the search tree, [`Tables::root`] for root moves.
//!
//! Tables of three and four men are built in (in WebAssembly they come later); others are read from folders. A position whose table is missing or
//! damaged has no result, and [`Tables::warnings`] says so once.

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

#[cfg(target_family = "wasm")]
pub use builtin::provide;
pub use root::{RankedResult, TableMove, TableMoves};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRules {
    /// A win that takes more than fifty moves without capture or pawn move counts as a draw.
    pub fifty_moves: bool,
    /// Most men of a probed position; 0 probes none.
    pub pieces: usize,
    /// Least plies from the root at which the search probes.
    pub depth: usize,
}

impl Default for ProbeRules {
    fn default() -> ProbeRules {
        ProbeRules { fifty_moves: true, pieces: 7, depth: 1 }
    }
}

/// For the side to move.
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
    /// Folders, first warning.
    #[error("no Syzygy tables in {0}{reason}", reason = .1.as_ref().map_or(String::new(), |first| format!(": {first}")))]
    NoTables(String, Option<String>),
}

/// Empty by default. Clones share the files.
#[derive(Clone, Default)]
pub struct Tables {
    shared: Arc<Shared>,
    rules: ProbeRules,
}

struct Shared {
    base: Tablebase<Chess>,
    /// WDL and DTZ files in the folders.
    files: (usize, usize),
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
    /// All endgames of three and four men.
    pub fn builtin(rules: ProbeRules) -> Tables {
        Tables { shared: Arc::new(Shared::builtin()), rules }
    }

    /// Finds the tables in folders separated by `;` or, except on Windows, `:`. Files are opened when first probed;
    /// files of an impossible length are skipped with a warning.
    pub fn open(paths: &str, rules: ProbeRules) -> Result<Tables, TablesError> {
        Tables::add_folders(Shared::default(), paths, rules)
    }

    /// With the built-in tables, which take precedence over files.
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

    /// 0 without tables.
    pub fn max_pieces(&self) -> usize {
        if self.shared.builtin && !builtin::have_come() {
            return 0;
        }
        self.rules.pieces.min(self.shared.base.max_pieces())
    }

    /// For positions in the search tree; mate and stalemate have results too.
    ///
    /// `None` with castling rights, too many men, or under the fifty-move rule unless the last move was a capture or
    /// pawn move: the tables assume a counter of zero.
    pub fn wdl(&self, game: &Game) -> Option<TableResult> {
        let position = game.position();
        if !self.covers(position) || (self.rules.fifty_moves && position.halfmoves() > 0) {
            return None;
        }
        let wdl = self.shared.base.probe_wdl_after_zeroing(position);
        wdl.map(|wdl| self.result(wdl)).map_err(|error| self.shared.note_probe(&error)).ok()
    }

    /// The warnings since the last call, already logged: each damaged file once, missing tables once.
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
            // Incomplete sets are common: one warning covers all missing tables.
            SyzygyError::MissingTable { .. } => {
                self.note("some tables are missing: positions that need them are searched".to_owned());
            }
            SyzygyError::Castling | SyzygyError::TooManyPieces => {}
        }
    }
}

#[cfg(test)]
mod tests;
