//! The games of the studio's folder: each is a file from its first move.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde::Serialize;

use super::board_list::BoardList;
use super::file::{Headline, PgnFile};
use super::saved::SavedGame;
use super::seats::ActionError;
use crate::files::modified_s;

/// In characters.
const LONGEST_NAME: usize = 80;

const DELETED: &str = "deleted";

/// Of a game whose own name could not be that of a file.
const NAMELESS: &str = "game";

#[derive(Clone, Debug)]
pub struct Library {
    folder: PathBuf,
    /// Names of games that have no file yet.
    taken: Arc<Mutex<HashSet<String>>>,
    /// A game that stands on one of them is written only from there.
    pub(super) boards: BoardList,
}

#[derive(Clone, Debug, Serialize)]
pub struct LibraryGame {
    /// Of the file, without extension.
    pub name: String,
    #[serde(flatten)]
    pub headline: Headline,
    /// It can be played on.
    pub unfinished: bool,
    /// Seconds since 1970.
    pub modified_s: u64,
}

fn refused(what: &str, path: &Path, error: &dyn std::fmt::Display) -> ActionError {
    ActionError::NotNow(format!("{what}: {}: {error}.", path.display()))
}

/// Names come from the page, so they may not leave the folder.
fn check(name: &str) -> Result<(), ActionError> {
    let is_plain = |c: char| !c.is_control() && !r#"/\:*?"<>|"#.contains(c);
    let is_short = (1..=LONGEST_NAME).contains(&name.chars().count());
    if name.trim() != name || name.starts_with('.') || !is_short || !name.chars().all(is_plain) {
        let text = format!(
            "A name has 1 to {LONGEST_NAME} characters, none of / \\ : * ? \" < > |, no dot first and no blank at either end."
        );
        return Err(ActionError::Invalid(text));
    }
    Ok(())
}

fn file_of(name: &str) -> String {
    format!("{name}.json")
}

impl Library {
    pub fn new(folder: PathBuf) -> Library {
        Library { folder, taken: Arc::default(), boards: BoardList::default() }
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<String>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &str) -> Result<PathBuf, ActionError> {
        check(name)?;
        Ok(self.folder.join(file_of(name)))
    }

    fn deleted(&self, name: &str) -> Result<PathBuf, ActionError> {
        check(name)?;
        Ok(self.folder.join(DELETED).join(file_of(name)))
    }

    /// A name that no file has, not even a deleted one, and that is given once: "2026-11-27 You, Philidor".
    pub fn free_name(&self, date: &str, [white, black]: [&str; 2]) -> String {
        let plain = |text: &str| -> String {
            text.chars().filter(|c| c.is_alphanumeric() || " -'()".contains(*c)).take(25).collect()
        };
        // Some write dates with slashes, which no name can have.
        let date: String = date
            .chars()
            .map(|c| if c == '?' { '_' } else { c })
            .map(|c| {
                if c.is_alphanumeric() || c == '_' {
                    c
                } else if c == ' ' {
                    ' '
                } else {
                    '-'
                }
            })
            .take(20)
            .collect();
        let date = date.trim();
        let first = format!("{date} {}, {}", plain(white).trim(), plain(black).trim()).trim().to_owned();
        self.free(first)
    }

    /// This name, or else the first of "NAME 2", "NAME 3", … that no file has.
    fn free(&self, first: String) -> String {
        let first = if check(&first).is_ok() { first } else { NAMELESS.to_owned() };
        let mut taken = self.taken();
        let is_free = |name: &String| {
            let file = file_of(name);
            let paths = [self.folder.join(&file), self.folder.join(DELETED).join(&file)];
            !taken.contains(name) && paths.iter().all(|path| !path.exists())
        };
        let numbered = (2..).map(|number| format!("{first} {number}"));
        let name = std::iter::once(first.clone()).chain(numbered).find(is_free).expect("numbers do not end");
        taken.insert(name.clone());
        name
    }

    pub fn write(&self, name: &str, game: &SavedGame) -> Result<(), ActionError> {
        let path = self.path(name)?;
        game.write(&path).map_err(|error| refused("The game cannot be saved", &path, &error))?;
        self.taken().remove(name);
        Ok(())
    }

    /// The name of the game's last review that is on no board, and whether it is complete.
    pub fn review_of(&self, game: &str) -> Option<(String, bool)> {
        let mut files = self.files();
        files.sort_by_key(|(_, state)| *state);
        let quoted = serde_json::Value::from(game).to_string();
        // Reading all games as JSON takes long.
        let may_be = |path: &Path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(&quoted));
        files.iter().rev().filter(|(path, _)| may_be(path)).find_map(|(path, _)| {
            let review = SavedGame::read(path).ok()??.review.filter(|review| review.game == game)?;
            let name = path.file_stem()?.to_str()?;
            self.boards.with_game(name).is_none().then(|| (name.to_owned(), review.complete))
        })
    }

    pub fn read(&self, name: &str) -> Result<SavedGame, ActionError> {
        let path = self.path(name)?;
        match SavedGame::read(&path) {
            Ok(Some(game)) => Ok(game),
            Ok(None) => Err(ActionError::NotNow(format!("There is no game called {name} any more."))),
            Err(error) => Err(refused("The game cannot be read", &path, &error)),
        }
    }

    /// The latest first. Files that are no games are left out.
    pub fn list(&self) -> Vec<LibraryGame> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut games: Vec<LibraryGame> = entries.filter_map(|entry| line(&entry.path())).collect();
        games.sort_by(|a, b| b.modified_s.cmp(&a.modified_s).then(b.name.cmp(&a.name)));
        games
    }

    /// The files of games, saved here (`.json`) or put here by a person (`.pgn`), with what tells another state of each.
    pub fn files(&self) -> Vec<(PathBuf, (SystemTime, u64))> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let file = |entry: DirEntry| {
            let (path, about) = (entry.path(), entry.metadata().ok()?);
            let kind = path.extension()?.to_str()?;
            (about.is_file() && ["json", "pgn"].contains(&kind)).then_some(())?;
            Some((path, (about.modified().ok()?, about.len())))
        };
        entries.filter_map(file).collect()
    }

    pub fn rename(&self, name: &str, to: &str) -> Result<(), ActionError> {
        let (from, to_path) = (self.path(name)?, self.path(to)?);
        if to_path.exists() {
            return Err(ActionError::NotNow(format!("There is a game called {to} already.")));
        }
        std::fs::rename(&from, &to_path).map_err(|error| refused("The game cannot be renamed", &from, &error))
    }

    /// Into the folder `deleted`, where it replaces an earlier one of its name.
    pub fn delete(&self, name: &str) -> Result<(), ActionError> {
        let (from, to) = (self.path(name)?, self.deleted(name)?);
        let moved =
            std::fs::create_dir_all(self.folder.join(DELETED)).and_then(|()| std::fs::rename(&from, to));
        moved.map_err(|error| refused("The game cannot be deleted", &from, &error))
    }

    pub fn restore(&self, name: &str) -> Result<(), ActionError> {
        let (from, to) = (self.deleted(name)?, self.path(name)?);
        if to.exists() {
            return Err(ActionError::NotNow(format!("There is another game called {name} now.")));
        }
        std::fs::rename(&from, to).map_err(|error| refused("The game does not come back", &from, &error))
    }
}

fn line(path: &Path) -> Option<LibraryGame> {
    let name = path.file_stem()?.to_str()?.to_owned();
    if path.extension()? != "json" {
        return None;
    }
    let saved = SavedGame::read(path).ok()??;
    let headline = PgnFile::read(saved.pgn()?.as_bytes()).ok()?.headlines().into_iter().next()?;
    Some(LibraryGame { name, headline, unfinished: !saved.is_over(), modified_s: modified_s(path)? })
}

#[cfg(test)]
mod tests {
    use super::super::seats::{NewGame, Seat};
    use super::super::session::Session;
    use super::super::start::StartChoice;
    use super::*;
    use std::time::Instant;

    fn saved(moves: &[&str]) -> SavedGame {
        let (white, black) = (Seat::Person, Seat::Person);
        let start = StartChoice::Standard;
        let new = NewGame { white, black, start, clock: None, move_time_ms: 500, here: None };
        let mut session = Session::new(new).unwrap();
        for text in moves {
            session.move_by_person(text, None, Instant::now()).unwrap();
        }
        SavedGame::of(&session, Vec::new(), Instant::now())
    }

    #[test]
    fn games_are_listed_renamed_deleted_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().join("games"));
        assert!(library.list().is_empty());
        let name = library.free_name("2026.11.27", ["You", "A/B: \"C\""]);
        assert_eq!(name, "2026-11-27 You, AB C");
        library.write(&name, &saved(&["e4", "e5", "Nf3"])).unwrap();
        let second = library.free_name("2026.11.27", ["You", "AB C"]);
        assert_eq!(second, "2026-11-27 You, AB C 2");
        let other = library.free_name("2026.11.27", ["You", "AB C"]);
        assert_eq!(other, "2026-11-27 You, AB C 3", "two games that begin at once have two files");
        library.write(&second, &saved(&["f3", "e5", "g4", "Qh4"])).unwrap();
        std::fs::write(folder.path().join("games/other.json"), "{").unwrap();
        let mut listed = library.list();
        listed.sort_by_key(|game| game.name.clone());
        let shown: Vec<_> = listed.iter().map(|game| (game.headline.plies, game.unfinished)).collect();
        assert_eq!(shown, [(3, true), (4, false)]);
        assert!(listed[0].headline.opening.starts_with("C40"), "{:?}", listed[0]);
        assert!(library.rename(&name, &second).is_err());
        library.rename(&name, "Mine").unwrap();
        assert!(library.read(&name).is_err());
        library.delete("Mine").unwrap();
        assert_eq!(library.list().len(), 1);
        library.delete(&second).unwrap();
        assert_eq!(library.free_name("2026.11.27", ["You", "AB C"]), name, "it was renamed");
        library.write(&name, &saved(&["e4"])).unwrap();
        let third = library.free_name("2026.11.27", ["You", "AB C"]);
        assert_eq!(third, "2026-11-27 You, AB C 4", "the second comes back by undo");
        library.restore("Mine").unwrap();
        assert_eq!(library.read("Mine").unwrap().session().unwrap().game().ply(), 3);
    }

    #[test]
    fn every_date_makes_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().to_owned());
        let name = |date: &str| library.free_name(date, ["A".repeat(90).as_str(), "B".repeat(90).as_str()]);
        for date in ["2026/11/28 review of", "28:11 <2026>", "", "..", &"9".repeat(300)] {
            assert!(library.path(&name(date)).is_ok(), "{date}");
        }
        assert!(
            library.free_name("2026/11/28 review of", ["A", "B"]).starts_with("2026-11-28 review of A, B")
        );
    }

    #[test]
    fn a_name_that_no_file_can_have_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().to_owned());
        let names: Vec<String> = ["a/b", "", "fine", "fine"].map(|name| library.free(name.to_owned())).into();
        assert_eq!(names, ["game", "game 2", "fine", "fine 2"]);
        // A number makes it too long: that ends the search too, and writing it is refused.
        let long = "x".repeat(LONGEST_NAME);
        assert_eq!(library.free(long.clone()), long);
        let second = library.free(long);
        assert!(matches!(library.write(&second, &saved(&["e4"])), Err(ActionError::Invalid(_))));
    }

    #[test]
    fn names_stay_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().join("games"));
        for name in ["", "../game", "a/b", "a\\b", ".hidden", "a\n", " a", &"x".repeat(81)] {
            assert!(matches!(library.read(name), Err(ActionError::Invalid(_))), "{name}");
            assert!(library.delete(name).is_err() && library.rename("a", name).is_err());
        }
    }

    #[test]
    fn a_review_that_is_on_a_board_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::new(folder.path().to_owned());
        let loaded = PgnFile::read(b"1. e4 *").unwrap().game(0).unwrap();
        let mut session = super::super::session::Session::loaded(loaded);
        let mut saved = SavedGame::of(&session, Vec::new(), std::time::Instant::now());
        let game = "k Some(\"A\") None".to_owned();
        saved.review = Some(super::super::saved::SavedReview { game: game.clone(), complete: true });
        library.write("R", &saved).unwrap();
        assert_eq!(library.review_of(&game), Some(("R".to_owned(), true)), "quotes are found, too");
        session.name = Some("R".to_owned());
        library.boards.note(super::super::board_list::BoardSummary::of(1, &session, false));
        assert_eq!(library.review_of(&game), None);
        library.boards.remove(1);
        assert!(library.review_of(&game).is_some());
    }
}
