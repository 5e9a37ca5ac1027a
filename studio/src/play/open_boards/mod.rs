//! The boards that are open, each with its own game and task. They survive a restart.

#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use super::action::{BoardCommand, Opened, TableHandle};
use super::file::PgnFile;
use super::library::Library;
use super::probe::KnownEngines;
use super::saved::{SavedError, SavedGame};
use super::seats::{ActionError, NewGame, Seat};
use super::session::Session;
use super::start::StartChoice;
use super::table::{Around, Table, names};
use crate::boards::Boards;
use crate::engines::Roster;

const MOST_BOARDS: usize = 12;

/// Boards that are analysed at once: each may have three engines, with their threads and hash.
const MOST_ANALYSED: usize = 4;

/// How long engines run on after the last tab has left a board: a tab that is loaded again comes back sooner.
const LINGER: Duration = Duration::from_secs(30);

/// Folder of the boards that were closed.
const CLOSED: &str = "closed";

/// Closed boards that are kept at a start, the newest.
const MOST_CLOSED: usize = 100;

#[derive(Default)]
struct Open {
    tables: BTreeMap<u32, TableHandle>,
    /// Numbers are given once, so that a bookmark never leads to another game.
    next: u32,
}

#[derive(Clone)]
pub struct OpenBoards {
    around: Around,
    folder: Arc<Path>,
    open: Arc<Mutex<Open>>,
    /// One command is done after the other: between looking for a game and opening it no other tab opens it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl std::fmt::Debug for OpenBoards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenBoards").field("folder", &self.folder).finish_non_exhaustive()
    }
}

fn not_now(text: impl Into<String>) -> ActionError {
    ActionError::NotNow(text.into())
}

impl OpenBoards {
    /// Opens the boards whose states are in `folder`, at least an empty one.
    pub fn start(roster: Roster, folder: PathBuf, library: Library, boards: Boards) -> OpenBoards {
        OpenBoards::start_with(roster, folder, library, boards, LINGER)
    }

    fn start_with(
        roster: Roster,
        folder: PathBuf,
        library: Library,
        boards: Boards,
        linger: Duration,
    ) -> OpenBoards {
        let around = Around {
            engines: KnownEngines::probe(&roster),
            roster,
            list: library.boards.clone(),
            library,
            boards,
            permits: Arc::new(Semaphore::new(MOST_ANALYSED)),
            wanted: Arc::default(),
            linger,
        };
        let open = OpenBoards { around, folder: folder.into(), open: Arc::default(), turn: Arc::default() };
        let (saved, notice) = open.read_all();
        for (id, opened) in saved {
            open.begin(id, Opened { notice: notice.clone(), ..opened });
        }
        if open.lock().tables.is_empty() {
            open.begin_empty(notice);
        }
        open
    }

    /// The data stays valid if a holder of the lock panics.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn library(&self) -> &Library {
        &self.around.library
    }

    /// The boards that are open, as JSON.
    pub fn list(&self) -> watch::Receiver<Arc<str>> {
        self.around.list.state()
    }

    /// The engines and the named levels, as JSON.
    pub fn engines(&self) -> watch::Receiver<Arc<str>> {
        self.around.engines.state.clone()
    }

    pub fn table(&self, id: u32) -> Result<TableHandle, ActionError> {
        let none = || not_now(format!("Board {id} is closed: choose another one."));
        self.lock().tables.get(&id).cloned().ok_or_else(none)
    }

    /// Returns the board on which a game was opened.
    pub async fn act(&self, command: BoardCommand) -> Result<Option<u32>, ActionError> {
        let _turn = self.turn.lock().await;
        let library = self.library();
        match command {
            BoardCommand::New(new) => {
                for seat in [&new.white, &new.black] {
                    self.around.engines.check_seat(seat)?;
                }
                let here = new.here;
                return self.place(Opened::new(Session::new(new)?), here).await.map(Some);
            }
            BoardCommand::Open { name, here } => {
                if let Some(board) = self.around.list.with_game(&name) {
                    return Ok(Some(board));
                }
                let wrong = |error| not_now(format!("{name} cannot be read: {error}."));
                let mut session = library.read(&name)?.session().map_err(wrong)?;
                // The file may have another name since it was written.
                session.name = Some(name);
                return self.place(Opened::new(session), here).await.map(Some);
            }
            BoardCommand::Choose { board, game } => match self.table(board)?.choose(game).await? {
                Some(opened) => return self.open(*opened).await.map(Some),
                None => return Ok(Some(board)),
            },
            BoardCommand::Close { board } => self.close(board).await?,
            BoardCommand::Reopen { board } => return self.reopen(board).await.map(Some),
            BoardCommand::Rename { name, to } => match self.around.list.with_game(&name) {
                Some(board) => self.table(board)?.rename(name, to).await?,
                None => library.rename(&name, &to)?,
            },
            BoardCommand::Delete { name } => {
                if self.around.list.with_game(&name).is_some() {
                    return Err(not_now("This game is on a board: close that first."));
                }
                library.delete(&name)?;
            }
            BoardCommand::Restore { name } => library.restore(&name)?,
        }
        Ok(None)
    }

    /// Opens the first game of a file.
    pub async fn load(&self, file: PgnFile, here: Option<u32>) -> Result<u32, ActionError> {
        let _turn = self.turn.lock().await;
        let notice = file.broken.first().map(|why| {
            let count = file.broken.len();
            format!("Games that cannot be read are left out, {count} in all: {why}.")
        });
        self.place(Opened { notice, ..Opened::of_file(Arc::new(file), 0)? }, here).await
    }

    /// On the board `here` if that one is empty, or else on a new one.
    async fn place(&self, opened: Opened, here: Option<u32>) -> Result<u32, ActionError> {
        let mut opened = Box::new(opened);
        if let Some((id, table)) = here.and_then(|id| Some((id, self.table(id).ok()?))) {
            match table.put(opened).await? {
                None => return Ok(id),
                Some(refused) => opened = refused,
            }
        }
        self.open(*opened).await
    }

    async fn open(&self, opened: Opened) -> Result<u32, ActionError> {
        self.make_room().await?;
        let id = self.lock().next;
        self.begin(id, opened);
        Ok(id)
    }

    fn begin(&self, id: u32, opened: Opened) {
        let mut open = self.lock();
        open.next = open.next.max(id + 1);
        open.tables.insert(id, Table::start(&self.around, id, self.path(id), opened));
    }

    /// An empty board, with White for a person against the first engine.
    fn begin_empty(&self, notice: Option<String>) {
        let black = match self.around.roster.engines().first() {
            Some(spec) => Seat::engine(&spec.name),
            None => Seat::Person,
        };
        let (start, clock) = (StartChoice::Standard, None);
        let new = NewGame { white: Seat::Person, black, start, clock, move_time_ms: 1000, here: None };
        let session = Session::new(new).expect("the initial position is one");
        let id = self.lock().next;
        self.begin(id, Opened { notice, ..Opened::new(session) });
    }

    /// Closes boards whose games are over or not begun and that no tab shows, the oldest first.
    async fn make_room(&self) -> Result<(), ActionError> {
        while self.lock().tables.len() >= MOST_BOARDS {
            let shown = self.around.boards.shown().borrow().clone();
            let at_rest = self.around.list.at_rest();
            let Some(id) = at_rest.into_iter().find(|id| !shown.contains(&names(*id)[0])) else {
                let text =
                    format!("{MOST_BOARDS} boards are open, and all are played on or shown: close one.");
                return Err(not_now(text));
            };
            self.close(id).await?;
        }
        Ok(())
    }

    async fn close(&self, id: u32) -> Result<(), ActionError> {
        self.table(id)?.close().await?;
        self.lock().tables.remove(&id);
        self.around.list.remove(id);
        names(id).iter().for_each(|name| self.around.boards.remove(name));
        if self.lock().tables.is_empty() {
            self.begin_empty(None);
        }
        self.rename(&self.path(id), &self.closed(id))
    }

    async fn reopen(&self, id: u32) -> Result<u32, ActionError> {
        if self.lock().tables.contains_key(&id) {
            return Ok(id);
        }
        let wrong = |error: SavedError| not_now(format!("Board {id} cannot be read: {error}."));
        let none = || not_now(format!("There is no board {id} any more: its game may be in Games."));
        let opened = read(&self.closed(id)).map_err(wrong)?.ok_or_else(none)?;
        // Its game may have been opened from the library meanwhile.
        let name = opened.session.name.as_deref();
        if let Some(other) = name.and_then(|name| self.around.list.with_game(name)) {
            return Ok(other);
        }
        let opened = self.as_in_library(opened);
        self.make_room().await?;
        let saved = SavedGame::of(&opened.session, opened.analysts.clone(), Instant::now());
        let unsaved = |error| not_now(format!("Board {id} cannot be opened: {error}."));
        saved.write(&self.path(id)).map_err(unsaved)?;
        let _ = std::fs::remove_file(self.closed(id));
        self.begin(id, opened);
        Ok(id)
    }

    /// The game as it was played on since its board was closed. If the file of its name is gone, or has another game by
    /// now, this one gets a new name with its next move.
    fn as_in_library(&self, mut opened: Opened) -> Opened {
        let Some(name) = opened.session.name.take() else { return opened };
        let kept = self.library().read(&name).ok().and_then(|saved| saved.session().ok());
        let game = opened.session.game();
        let goes_on = |kept: &Session| {
            kept.game().start() == game.start() && kept.game().moves().starts_with(game.moves())
        };
        if let Some(session) = kept.filter(goes_on) {
            opened.session = Session { name: Some(name), ..session };
        }
        opened
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), ActionError> {
        let folder = to.parent().expect("it is in a folder");
        let renamed = std::fs::create_dir_all(folder).and_then(|()| std::fs::rename(from, to));
        renamed.map_err(|error| not_now(format!("The board cannot be moved: {}: {error}.", from.display())))
    }

    fn path(&self, id: u32) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn closed(&self, id: u32) -> PathBuf {
        self.folder.join(CLOSED).join(format!("{id}.json"))
    }

    /// The saved boards, and a notice on those that cannot be read: they are set aside.
    fn read_all(&self) -> (Vec<(u32, Opened)>, Option<String>) {
        let ids = numbers(&self.folder, true);
        let all = numbers(&self.folder, false).into_iter().chain(numbers(&self.folder.join(CLOSED), false));
        self.lock().next = all.max().map_or(1, |last| last.saturating_add(1));
        let closed = numbers(&self.folder.join(CLOSED), true);
        for id in closed.iter().rev().skip(MOST_CLOSED) {
            let _ = std::fs::remove_file(self.closed(*id));
        }
        let (mut boards, mut notices) = (Vec::new(), Vec::new());
        for id in ids {
            match read(&self.path(id)) {
                Ok(opened) => boards.extend(opened.map(|opened| (id, opened))),
                Err(error) => notices.push(set_aside(id, &self.path(id), &error)),
            }
        }
        (boards, (!notices.is_empty()).then(|| notices.join(" ")))
    }
}

/// The numbers with which files begin: of all, or of the boards' states only.
fn numbers(folder: &Path, states_only: bool) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (number, rest) = name.split_once('.')?;
            (!states_only || rest == "json").then_some(number.parse().ok()?)
        })
        .collect();
    numbers.sort_unstable();
    numbers
}

/// `None` if there is no such file.
fn read(path: &Path) -> Result<Option<Opened>, SavedError> {
    let Some(saved) = SavedGame::read(path)? else { return Ok(None) };
    let analysts = saved.analysts.clone();
    Ok(Some(Opened { analysts, ..Opened::new(saved.session()?) }))
}

/// Returns what is said of it.
fn set_aside(id: u32, path: &Path, error: &SavedError) -> String {
    log::warn!("the saved board {}: {error}", path.display());
    let mut kept = path.to_owned();
    if !matches!(error, SavedError::Io(_)) {
        kept = path.with_extension("json.damaged");
        let _ = std::fs::rename(path, &kept);
    }
    format!("Board {id} could not be read ({error}). Its file is kept as {}.", kept.display())
}
