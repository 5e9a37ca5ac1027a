//! Syzygy endgame tables: what is known for certain when few pieces are left.
//!
//! Two questions are answered. Inside a search tree, [`Tables::wdl`] says who wins, but only where
//! that is true whatever was played before. At the root, [`Tables::root`] says which moves keep what
//! can be reached, counting the plies that the fifty-move rule has counted already.
//!
//! A table that is missing or damaged never ends a game: the position then has no answer, and the
//! trouble is told once ([`Tables::troubles`]).

mod root;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use shakmaty::{Chess, Position};
use shakmaty_syzygy::{ProbeError, SyzygyError, Tablebase, Wdl};

use crate::position::Game;

pub use root::{RootMove, RootMoves};

/// How the tables are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A win that takes more than fifty moves without capture or pawn move is a draw.
    pub fifty_moves: bool,
    /// The most pieces, kings and pawns included, of a position that is looked up. 0: none is.
    pub pieces: usize,
    /// Plies from the root from which on the search looks positions up.
    pub depth: usize,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { fifty_moves: true, pieces: 7, depth: 1 }
    }
}

/// How a position ends with best play, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableResult {
    /// The other side wins.
    Loss,
    /// Nobody does.
    Draw,
    /// The side to move wins.
    Win,
}

impl TableResult {
    /// The same for the other side.
    pub fn flipped(self) -> TableResult {
        match self {
            TableResult::Loss => TableResult::Win,
            TableResult::Draw => TableResult::Draw,
            TableResult::Win => TableResult::Loss,
        }
    }
}

/// Why there are no tables.
#[derive(Debug)]
pub enum TablesError {
    /// A folder can't be listed.
    Folder(PathBuf, io::Error),
    /// The folders hold no table that can be used; the first trouble, if there was one.
    NoTables(String, Option<String>),
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TablesError::Folder(path, error) => {
                write!(f, "can't read the tables' folder {}: {error}", path.display())
            }
            TablesError::NoTables(paths, None) => write!(f, "no Syzygy tables in {paths}"),
            TablesError::NoTables(paths, Some(first)) => write!(f, "no Syzygy tables in {paths}: {first}"),
        }
    }
}

impl std::error::Error for TablesError {}

/// An opened set of tables; none by default. Clones share it, so every worker can have one.
#[derive(Clone, Default)]
pub struct Tables {
    shared: Arc<Shared>,
    rules: Rules,
}

#[derive(Default)]
struct Shared {
    base: Tablebase<Chess>,
    /// Files of results, and files of distances.
    files: (usize, usize),
    troubles: Mutex<Troubles>,
}

/// What went wrong with the files, each thing once.
#[derive(Default)]
struct Troubles {
    known: HashSet<String>,
    untold: Vec<String>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("files", &self.shared.files).field("rules", &self.rules).finish()
    }
}

impl fmt::Display for Tables {
    /// One line for the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wdl, dtz) = self.shared.files;
        let pieces = self.shared.base.max_pieces();
        write!(f, "{wdl} WDL and {dtz} DTZ tables of up to {pieces} pieces")
    }
}

impl Tables {
    /// Finds the tables in a list of folders, separated by `;` or, but for Windows, by `:`.
    ///
    /// Files are opened when they are first needed. A file whose length can't be a table's is left
    /// out and becomes a trouble.
    ///
    /// # Errors
    ///
    /// If a folder can't be read, or none of them holds a table.
    pub fn open(paths: &str, rules: Rules) -> Result<Tables, TablesError> {
        let separators: &[char] = if cfg!(windows) { &[';'] } else { &[':', ';'] };
        let mut shared = Shared::default();
        for folder in paths.split(separators).map(str::trim).filter(|folder| !folder.is_empty()) {
            shared.add(Path::new(folder)).map_err(|error| TablesError::Folder(folder.into(), error))?;
        }
        if shared.files == (0, 0) {
            let tables = Tables { shared: Arc::new(shared), rules };
            return Err(TablesError::NoTables(paths.to_owned(), tables.troubles().into_iter().next()));
        }
        Ok(Tables { shared: Arc::new(shared), rules })
    }

    /// The same tables, used otherwise.
    pub fn with_rules(&self, rules: Rules) -> Tables {
        Tables { shared: Arc::clone(&self.shared), rules }
    }

    /// How they are used.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// The most pieces of a position that can have an answer; 0 without tables.
    pub fn max_pieces(&self) -> usize {
        self.rules.pieces.min(self.shared.base.max_pieces())
    }

    /// Who wins, for a position inside a search tree.
    ///
    /// There is an answer only where it is one: no castling, few enough pieces, and under the
    /// fifty-move rule only just after a capture or a pawn move, since the tables assume a counter
    /// at zero (which also rules out repetitions). Mate and stalemate are answered too, but a caller
    /// that has looked for them knows the distance.
    pub fn wdl(&self, game: &Game) -> Option<TableResult> {
        let position = game.position();
        if !self.covers(position) || (self.rules.fifty_moves && position.halfmoves() > 0) {
            return None;
        }
        let wdl = self.shared.base.probe_wdl_after_zeroing(position);
        wdl.map(|wdl| self.result(wdl)).map_err(|error| self.shared.note_probe(&error)).ok()
    }

    /// What went wrong since this was last asked, a line each: every damaged file once, and once
    /// that tables are missing. Each line has gone to the log already.
    pub fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock_troubles().untold)
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
    fn add(&mut self, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            match self.base.add_file(&path) {
                Ok(()) if path.extension().is_some_and(|kind| kind == "rtbw") => self.files.0 += 1,
                Ok(()) => self.files.1 += 1,
                // Not a table's name.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                Err(error) => self.note(format!("the table {} can't be used: {error}", path.display())),
            }
        }
        Ok(())
    }

    fn lock_troubles(&self) -> std::sync::MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, trouble: String) {
        let mut troubles = self.lock_troubles();
        if troubles.known.insert(trouble.clone()) {
            log::warn!("{trouble}");
            troubles.untold.push(trouble);
        }
    }

    fn note_probe(&self, error: &SyzygyError) {
        match error {
            SyzygyError::ProbeFailed { metric, material, error } => {
                let why = match &**error {
                    ProbeError::Read { error } => format!("can't be read: {error}"),
                    ProbeError::Magic { .. } => "is no Syzygy table".to_owned(),
                    ProbeError::CorruptedTable { .. } => "is damaged".to_owned(),
                };
                self.note(format!("the {metric} table {material} {why}"));
            }
            // A set without some tables is common: which they are doesn't matter.
            SyzygyError::MissingTable { .. } => {
                self.note("some tables are missing: positions that need them are searched".to_owned());
            }
            SyzygyError::Castling | SyzygyError::TooManyPieces => {}
        }
    }
}

#[cfg(test)]
mod tests;
