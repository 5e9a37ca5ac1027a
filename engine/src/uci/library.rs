//! What a session can look up instead of searching: the opening book and the endgame tables.

use std::path::Path;

use shakmaty::{Color, Move, Position};

use super::go::Go;
use super::settings::Settings;
use crate::book::{Book, BookError};
use crate::position::Game;
use crate::tables::{Tables, TablesError};

/// The book and the tables, both empty until a GUI names files.
#[derive(Debug, Default)]
pub struct Library {
    book: Option<Book>,
    /// Which of the book's moves: another in every session.
    dice: fastrand::Rng,
    tables: Tables,
}

impl Library {
    /// Opens the book that the settings name; without one there is none.
    ///
    /// # Errors
    ///
    /// If it can't be used; the previous one then stays.
    pub fn open_book(&mut self, settings: &Settings) -> Result<(), BookError> {
        self.book = settings.book.as_deref().map(|file| Book::open(Path::new(file))).transpose()?;
        Ok(())
    }

    /// Opens the tables that the settings name; without any there are none.
    ///
    /// # Errors
    ///
    /// If they can't be used; the previous ones then stay.
    pub fn open_tables(&mut self, settings: &Settings) -> Result<(), TablesError> {
        self.tables = match &settings.tables {
            Some(paths) => Tables::open(paths, settings.table_rules)?,
            None => Tables::default(),
        };
        Ok(())
    }

    /// The tables are the same, but to be used as the settings say.
    pub fn follow_rules(&mut self, settings: &Settings) {
        self.tables = self.tables.with_rules(settings.table_rules);
    }

    /// The tables, to be shared with the workers of a search.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The book's move for this `go`, if it is to be played: in a game, by the settings, near enough
    /// to the beginning.
    pub fn book_move(&mut self, game: &Game, go: &Go, settings: &Settings) -> Option<Move> {
        let limits = &go.limits;
        let asks_for_thought =
            limits.infinite || limits.ponder || limits.mate.is_some() || !go.searchmoves.is_empty();
        if !settings.own_book
            || settings.analyse
            || asks_for_thought
            || plies_played(game) >= settings.book_depth
        {
            return None;
        }
        self.book.as_ref()?.choose(game, &mut self.dice)
    }

    /// The root moves to search, out of those asked for (all, if none is named), and the positions
    /// looked up for it: only such as keep the best that the tables know.
    ///
    /// If none of the moves asked for does, they are searched all the same.
    pub fn root_moves(&self, game: &Game, asked_for: Vec<Move>) -> (Vec<Move>, u64) {
        let Some(known) = self.tables.root(game) else { return (asked_for, 0) };
        let is_wanted = |m: &Move| asked_for.is_empty() || asked_for.contains(m);
        let kept: Vec<Move> = known.moves.iter().map(|root| root.m).filter(is_wanted).collect();
        (if kept.is_empty() { asked_for } else { kept }, known.hits)
    }
}

/// Plies since the beginning of the game, as the position's move number tells them.
fn plies_played(game: &Game) -> usize {
    let moves = game.position().fullmoves().get() as usize - 1;
    2 * moves + usize::from(game.turn() == Color::Black)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci::go;

    const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/syzygy");

    fn library() -> Library {
        let mut library = Library::default();
        let settings = Settings { tables: Some(TABLES.to_owned()), ..Settings::default() };
        library.open_tables(&settings).unwrap();
        // From the initial position: e2e4.
        let entry = [0x46, 0x3b, 0x96, 0x18, 0x16, 0x91, 0xfc, 0x9c, 0x03, 0x1c, 0, 1, 0, 0, 0, 0];
        library.book = Some(Book::from_bytes(entry.to_vec()).unwrap());
        library
    }

    #[test]
    fn the_book_is_asked_in_games_only() {
        let mut library = library();
        let start = Game::new();
        let settings = Settings { own_book: true, ..Settings::default() };
        let mut book = |go: &str, settings: &Settings| {
            let m = library.book_move(&start, &go::parse(go).unwrap(), settings);
            m.map(|m| Game::uci(m, false))
        };
        for go in ["", "wtime 1000 btime 1000", "movetime 5", "nodes 7", "depth 2"] {
            assert_eq!(book(go, &settings).as_deref(), Some("e2e4"), "{go}");
            assert_eq!(book(go, &Settings::default()), None, "OwnBook is off");
        }
        for go in ["infinite", "ponder wtime 1000", "mate 3", "searchmoves d2d4"] {
            assert_eq!(book(go, &settings), None, "{go}");
        }
    }

    #[test]
    fn the_book_ends_at_its_depth() {
        let mut library = library();
        let settings = Settings { own_book: true, book_depth: 4, ..Settings::default() };
        let initial = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0";
        let mut book = |number: u32| {
            let game = Game::from_fen(&format!("{initial} {number}")).unwrap();
            library.book_move(&game, &Go::default(), &settings).is_some()
        };
        assert_eq!([1, 2, 3, 4].map(&mut book), [true, true, false, false]);
    }

    #[test]
    fn root_moves_are_those_that_keep_the_result() {
        let library = library();
        let defence = Game::from_fen("4k3/8/8/4K3/4P3/8/8/8 b - - 0 1").unwrap();
        let m = |text| defence.parse_uci(text).unwrap();
        let (saves, loses) = (m("e8e7"), m("e8d8"));
        let hits = defence.legal_moves().len() as u64;
        assert_eq!(library.root_moves(&defence, vec![]), (vec![saves], hits));
        assert_eq!(library.root_moves(&defence, vec![loses, saves]), (vec![saves], hits));
        assert_eq!(library.root_moves(&defence, vec![loses]), (vec![loses], hits));
        assert_eq!(library.root_moves(&Game::new(), vec![]), (vec![], 0));
    }

    #[test]
    fn what_cannot_be_opened_leaves_what_was() {
        let mut library = library();
        let nowhere = Some("/no/such/place".to_owned());
        let settings = Settings { tables: nowhere.clone(), book: nowhere, ..Settings::default() };
        assert!(library.open_tables(&settings).is_err() && library.open_book(&settings).is_err());
        assert!(library.tables().max_pieces() == 3 && library.book.is_some());
        library.open_tables(&Settings::default()).unwrap();
        library.open_book(&Settings::default()).unwrap();
        assert!(library.tables().max_pieces() == 0 && library.book.is_none());
    }
}
