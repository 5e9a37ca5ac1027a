//! The opening book and the tablebases of a program: opened by options, asked before a search begins.

use std::path::Path;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use shakmaty::{Color, Move, Position};

use super::settings::Settings;
use super::strength::game_seed;
use crate::chess::book::{Book, BookError};
use crate::chess::position::Game;
use crate::chess::tables::{ProbeRules, RankedResult, Tables, TablesError};

#[derive(Debug)]
pub struct BookAndTables {
    book: Option<Book>,
    /// Draws book moves; every session has a new seed.
    random: SmallRng,
    tables: Tables,
}

impl Default for BookAndTables {
    fn default() -> BookAndTables {
        BookAndTables {
            book: None,
            random: SmallRng::seed_from_u64(game_seed()),
            tables: Tables::builtin(ProbeRules::default()),
        }
    }
}

impl BookAndTables {
    /// Closes the book if `BookFile` is empty. If opening fails, the previous book stays.
    pub fn open_book(&mut self, settings: &Settings) -> Result<(), BookError> {
        self.book = settings.book.as_deref().map(|file| Book::open(Path::new(file))).transpose()?;
        Ok(())
    }

    /// Keeps only the built-in tables if `SyzygyPath` is empty. If opening fails, the previous tables stay.
    pub fn open_tables(&mut self, settings: &Settings) -> Result<(), TablesError> {
        self.tables = match &settings.tables {
            Some(paths) => Tables::open_beside_builtin(paths, settings.table_rules)?,
            None => Tables::builtin(settings.table_rules),
        };
        Ok(())
    }

    pub fn set_rules(&mut self, settings: &Settings) {
        self.tables = self.tables.with_rules(settings.table_rules);
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// What to tell a user who asked for book moves without naming a book.
    pub fn missing_book(&self, settings: &Settings) -> Option<&'static str> {
        (settings.own_book && self.book.is_none())
            .then_some("OwnBook is on, but no book is open: set BookFile")
    }

    /// `None` in analysis, beyond `BookDepth`, or without a move in the book.
    pub fn book_move(&mut self, game: &Game, settings: &Settings) -> Option<Move> {
        if !settings.own_book || settings.analyse || plies_played(game) >= settings.book_depth {
            return None;
        }
        self.book.as_ref()?.choose(game, &mut self.random)
    }

    /// An empty `searchmoves` allows all. For one line, keeps the moves with the best tablebase result, of wins only
    /// those with the least DTZ. For several `lines`, or if none is left, returns `searchmoves`.
    pub fn root_moves(&self, game: &Game, searchmoves: Vec<Move>, lines: usize) -> RootMoves {
        let Some(mut known) = self.tables.root(game) else {
            return RootMoves { moves: searchmoves, known: Vec::new(), hits: 0 };
        };
        let is_wanted = |m: &Move| searchmoves.is_empty() || searchmoves.contains(m);
        let kept = if lines > 1 { Vec::new() } else { known.fastest(is_wanted) };
        if !kept.is_empty() {
            // With equal ranks, the search decides.
            known.all.retain(|known| kept.contains(&known.m));
            known.all.iter_mut().for_each(|known| known.rank = 0);
        }
        let moves = if kept.is_empty() { searchmoves } else { kept };
        RootMoves { moves, known: known.all, hits: known.hits }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootMoves {
    /// Empty means all.
    pub moves: Vec<Move>,
    pub known: Vec<RankedResult>,
    pub hits: u64,
}

/// By the position's move number.
fn plies_played(game: &Game) -> usize {
    let moves = game.position().fullmoves().get() as usize - 1;
    2 * moves + usize::from(game.turn() == Color::Black)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::chess::tables::TableResult;

    const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/syzygy");

    fn opened() -> BookAndTables {
        let mut book_and_tables = BookAndTables::default();
        let settings = Settings { tables: Some(TABLES.to_owned()), ..Settings::default() };
        book_and_tables.open_tables(&settings).unwrap();
        // A Polyglot entry: e2e4 in the initial position.
        let entry = [0x46, 0x3b, 0x96, 0x18, 0x16, 0x91, 0xfc, 0x9c, 0x03, 0x1c, 0, 1, 0, 0, 0, 0];
        book_and_tables.book = Some(Book::from_bytes(entry.to_vec()).unwrap());
        book_and_tables
    }

    #[test]
    fn the_book_is_used_in_games_only() {
        let mut book_and_tables = opened();
        let start = Game::new();
        let settings = Settings { own_book: true, ..Settings::default() };
        let mut book = |settings: &Settings| {
            let m = book_and_tables.book_move(&start, settings);
            m.map(|m| Game::uci(m, false))
        };
        assert_eq!(book(&settings).as_deref(), Some("e2e4"));
        assert_eq!(book(&Settings::default()), None, "OwnBook is off");
        assert_eq!(book(&Settings { analyse: true, ..settings }), None, "analysis");
    }

    #[test]
    fn the_book_ends_at_its_depth() {
        let mut book_and_tables = opened();
        let settings = Settings { own_book: true, book_depth: 4, ..Settings::default() };
        let initial = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0";
        let mut book = |number: u32| {
            let game = Game::from_fen(&format!("{initial} {number}")).unwrap();
            book_and_tables.book_move(&game, &settings).is_some()
        };
        assert_eq!([1, 2, 3, 4].map(&mut book), [true, true, false, false]);
    }

    #[test]
    fn root_moves_are_those_that_keep_the_result() {
        let book_and_tables = opened();
        let defence = Game::from_fen("4k3/8/8/4K3/4P3/8/8/8 b - - 0 1").unwrap();
        let m = |text| defence.parse_uci(text).unwrap();
        let (saves, loses) = (m("e8e7"), m("e8d8"));
        let hits = defence.legal_moves().len() as u64;
        let chosen = |game: &Game, searchmoves, lines| {
            let RootMoves { moves, known, hits } = book_and_tables.root_moves(game, searchmoves, lines);
            (moves, known.first().map(|best| (best.m, best.outcome)), hits)
        };
        let draw = Some((saves, TableResult::Draw));
        assert_eq!(chosen(&defence, vec![], 1), (vec![saves], draw, hits));
        assert_eq!(chosen(&defence, vec![loses, saves], 1), (vec![saves], draw, hits));
        assert_eq!(chosen(&defence, vec![loses], 1), (vec![loses], draw, hits));
        assert_eq!(chosen(&defence, vec![], 2), (vec![], draw, hits));
        assert_eq!(chosen(&Game::new(), vec![], 1), (vec![], None, 0));
    }

    #[test]
    fn of_the_wins_the_fastest_is_searched_without_any_files() {
        let book_and_tables = BookAndTables::default();
        let (rooks, queen) = ("7k/8/8/8/8/5r2/6K1/R7 w - - 0 1", "7k/8/4K3/8/8/8/8/6Q1 w - - 0 1");
        let moves = |fen: &str, lines| {
            let game = Game::from_fen(fen).unwrap();
            let RootMoves { moves, known, .. } = book_and_tables.root_moves(&game, vec![], lines);
            let won = known.iter().filter(|known| known.outcome == TableResult::Win).map(|known| known.m);
            let moves: Vec<Move> = if moves.is_empty() { won.collect() } else { moves };
            moves.into_iter().map(|m| Game::uci(m, false)).collect::<Vec<String>>()
        };
        assert_eq!(moves(rooks, 1), ["g2f3"]);
        assert!(moves(queen, 2).len() > 10);
        let game = Game::from_fen(queen).unwrap();
        for m in moves(queen, 1) {
            let mut after = game.clone();
            after.play(game.parse_uci(&m).unwrap());
            let is_mated_next = |m: &Move| {
                let mut reply = after.clone();
                reply.play(*m);
                reply.legal_moves().iter().any(|m| {
                    let mut mate = reply.clone();
                    mate.play(*m);
                    mate.position().is_checkmate()
                })
            };
            assert!(after.legal_moves().iter().all(is_mated_next), "{m} mates in two");
        }
    }

    #[test]
    fn a_failed_open_keeps_the_previous_files() {
        let mut book_and_tables = opened();
        let nowhere = Some("/no/such/place".to_owned());
        let settings = Settings { tables: nowhere.clone(), book: nowhere, ..Settings::default() };
        assert!(
            book_and_tables.open_tables(&settings).is_err() && book_and_tables.open_book(&settings).is_err()
        );
        assert!(book_and_tables.tables().to_string().starts_with("3 WDL") && book_and_tables.book.is_some());
        book_and_tables.open_tables(&Settings::default()).unwrap();
        book_and_tables.open_book(&Settings::default()).unwrap();
        assert!(book_and_tables.tables().to_string().starts_with("0 WDL") && book_and_tables.book.is_none());
        assert_eq!(book_and_tables.tables().max_pieces(), 4, "the built-in tables stay");
    }
}
