//! What the explorer looks into: the games that were imported since the start, the library's, and a book.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use engine::chess::book::Book;
use engine::chess::position::Game;
use serde::Serialize;
use shakmaty::san::SanPlus;

use super::index::{GameIndex, MoveCount, RATINGS};
use crate::play::{ActionError, LONGEST_PGN, Library, PgnFile, SavedGame};

/// The most of imported files, the earliest of which goes first.
const MOST_FILES: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplorerMove {
    pub uci: String,
    pub san: String,
    pub games: u32,
    pub white: u32,
    pub draws: u32,
    pub black: u32,
    /// Its share of the weights in the book, 0 to 1.
    pub book: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplorerView {
    /// The most played first.
    pub moves: Vec<ExplorerMove>,
    /// That are looked into, of those with such ratings.
    pub games: usize,
    pub has_book: bool,
    /// Files of the library that are too large or cannot be read.
    pub left_out: usize,
}

/// With the state of each when it was read; `None` for a file that is too large or cannot be read.
type IndexedFiles = BTreeMap<PathBuf, ((SystemTime, u64), Option<GameIndex>)>;

#[derive(Default)]
struct Known {
    /// By the text's hash, so that a file that is loaded again counts once.
    files: Vec<(u64, GameIndex)>,
    /// By file, with its state when it was read.
    library: IndexedFiles,
}

impl Known {
    fn count_once(&mut self) {
        let library = self.library.values_mut().filter_map(|(_, index)| index.as_mut());
        GameIndex::count_once(library.chain(self.files.iter_mut().map(|(_, index)| index)));
    }
}

#[derive(Clone)]
pub struct Explorer {
    library: Library,
    book: Option<Arc<Book>>,
    known: Arc<Mutex<Known>>,
}

impl std::fmt::Debug for Explorer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explorer").field("library", &self.library).finish_non_exhaustive()
    }
}

impl Explorer {
    pub fn new(library: Library, book: Option<Book>) -> Explorer {
        Explorer { library, book: book.map(Arc::new), known: Arc::default() }
    }

    /// `text` is that of the file.
    pub fn import(&self, text: &[u8], file: &PgnFile) {
        let key = BuildHasherDefault::<DefaultHasher>::default().hash_one(text);
        let index = GameIndex::of(file.games());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.files.retain(|(other, _)| *other != key);
        if known.files.len() >= MOST_FILES {
            known.files.remove(0);
        }
        known.files.push((key, index));
        known.count_once();
    }

    /// Files of the library that have changed are read again. `rating` is one of [`RATINGS`], from which on games are
    /// counted.
    pub fn look(&self, fen: &str, rating: Option<u16>) -> Result<ExplorerView, ActionError> {
        let game = Game::from_fen(fen).map_err(|error| ActionError::Invalid(error.to_string()))?;
        let place = |rating| RATINGS.iter().position(|least| *least == rating);
        let unknown = || ActionError::Invalid(format!("Games are counted from a rating of {RATINGS:?} on."));
        let class = rating.map(|rating| place(rating).ok_or_else(unknown)).transpose()?;
        let class = class.map_or(0, |place| place as u8 + 1);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if self.follow(&mut known.library) {
            known.count_once();
        }
        let indexes = || {
            let files = known.files.iter().map(|(_, index)| index);
            files.chain(known.library.values().filter_map(|(_, index)| index.as_ref()))
        };
        let booked = self.book.as_ref().map(|book| book.moves(&game)).unwrap_or_default();
        let weights: f64 = booked.iter().map(|(_, weight)| f64::from(*weight)).sum();
        let mut moves = Vec::new();
        for m in game.legal_moves() {
            let mut count = MoveCount::default();
            indexes().for_each(|index| count.add(index.count(&game, m, class)));
            let weight = booked.iter().find(|(other, _)| *other == m).map(|(_, weight)| f64::from(*weight));
            if count.games == 0 && weight.is_none() {
                continue;
            }
            let MoveCount { games, white, draws, black } = count;
            moves.push(ExplorerMove {
                uci: Game::uci(m, shakmaty::Position::castles(game.position()).mode().is_chess960()),
                san: SanPlus::from_move(game.position().clone(), m).to_string(),
                games,
                white,
                draws,
                black,
                book: weight.map(|weight| if weights > 0.0 { weight / weights } else { 0.0 }),
            });
        }
        moves.sort_by(|a, b| {
            b.games.cmp(&a.games).then(b.book.partial_cmp(&a.book).expect("shares are numbers"))
        });
        let games = indexes().map(|index| index.games(class)).sum();
        let left_out = known.library.values().filter(|(_, index)| index.is_none()).count();
        Ok(ExplorerView { moves, games, has_book: self.book.is_some(), left_out })
    }

    /// Returns whether there are other games now.
    fn follow(&self, indexed: &mut IndexedFiles) -> bool {
        let files = self.library.files();
        let before = indexed.len();
        indexed.retain(|path, _| files.iter().any(|(file, _)| file == path));
        let mut changed = indexed.len() < before;
        for (path, state) in files {
            if indexed.get(&path).is_none_or(|(known, _)| *known != state) {
                let is_short = state.1 <= LONGEST_PGN as u64;
                let file = is_short.then(|| read(&path)).flatten();
                let index = file.map(|file| GameIndex::of(file.games()));
                indexed.insert(path, (state, index));
                changed = true;
            }
        }
        changed
    }
}

/// Of the library. `None` if it cannot be read.
fn read(path: &Path) -> Option<PgnFile> {
    let is_pgn = path.extension().is_some_and(|kind| kind == "pgn");
    let text = if is_pgn {
        std::fs::read(path).ok()?
    } else {
        SavedGame::read(path).ok()??.pgn()?.as_bytes().to_vec()
    };
    PgnFile::read(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn imported_games_are_counted_once_beside_the_book() {
        let folder = tempfile::tempdir().unwrap();
        // The initial position's key in Polyglot; d2d4 has three quarters of the weight.
        let entry = |m: u16, weight: u16| {
            let mut bytes = 0x463b_9618_1691_fc9c_u64.to_be_bytes().to_vec();
            bytes.extend([m.to_be_bytes(), weight.to_be_bytes()].concat());
            bytes.extend([0; 4]);
            bytes
        };
        // From and to by file and rank: e2e4 and d2d4.
        let squares = |from: u16, to: u16| from << 6 | to;
        let bytes = [entry(squares(12, 28), 1), entry(squares(11, 27), 3)].concat();
        let explorer =
            Explorer::new(Library::new(folder.path().join("games")), Some(Book::from_bytes(bytes).unwrap()));
        let text = b"1. e4 e5 1-0\n\n1. e4 c5 0-1\n";
        for _ in 0..2 {
            explorer.import(text, &PgnFile::read(text).unwrap());
        }
        let view = explorer.look(START, None).unwrap();
        assert_eq!((view.games, view.has_book, view.moves.len()), (2, true, 2));
        let (e4, d4) = (&view.moves[0], &view.moves[1]);
        assert_eq!((e4.san.as_str(), e4.games, e4.white, e4.black, e4.book), ("e4", 2, 1, 1, Some(0.25)));
        assert_eq!((d4.uci.as_str(), d4.games, d4.book), ("d2d4", 0, Some(0.75)));
        assert!(explorer.look("nonsense", None).is_err());
        let own = folder.path().join("games");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("mine.pgn"), "1. e4 e6 1/2-1/2\n\n1. c4 *\n").unwrap();
        std::fs::write(own.join("broken.json"), "{").unwrap();
        let view = explorer.look(START, None).unwrap();
        assert_eq!((view.games, view.moves[0].games, view.moves[0].draws), (4, 3, 1));
        std::fs::remove_file(own.join("mine.pgn")).unwrap();
        assert_eq!(explorer.look(START, None).unwrap().games, 2);
        assert_eq!(explorer.look(START, Some(2000)).unwrap().games, 0);
        let wrong = explorer.look(START, Some(1999)).unwrap_err().to_string();
        assert!(wrong.contains("[1600, 2000, 2200, 2500]"), "{wrong}");
    }

    #[test]
    fn a_game_that_was_saved_and_loaded_again_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let explorer = Explorer::new(Library::new(folder.path().to_owned()), None);
        let saved = "[White \"A\"]\n[Black \"B\"]\n[Date \"2026.11.27\"]\n\n1. e4 e5";
        std::fs::write(folder.path().join("a.pgn"), format!("{saved} 1-0\n")).unwrap();
        // One with a comment and still without a result, one that went on, and the same moves on another day.
        let others =
            [format!("{saved} {{good}} *"), format!("{saved} 2. Nf3 1-0"), saved.replace("27", "28") + " *"];
        let loaded = others.join("\n\n");
        explorer.import(loaded.as_bytes(), &PgnFile::read(loaded.as_bytes()).unwrap());
        let view = explorer.look(START, None).unwrap();
        assert_eq!((view.games, view.moves[0].games, view.moves[0].white), (3, 3, 2));
        std::fs::remove_file(folder.path().join("a.pgn")).unwrap();
        let view = explorer.look(START, None).unwrap();
        assert_eq!((view.games, view.moves[0].white), (3, 1), "now the loaded one counts");
    }
}
