//! Openings of matches: well-known lines of eight to ten plies, and files named on the command line.

use std::io;
use std::path::{Path, PathBuf};

use engine::chess::pgn::read_games;
use engine::chess::position::Game;
use thiserror::Error;

use crate::play::PlayedGame;

/// Name and moves of each opening, one per line.
static TABLE: &str = include_str!("openings.txt");

const OWN_BOOK: &str = "Well-known lines";

#[derive(Debug, Error)]
pub enum OpeningFileError {
    #[error("{0}: {1}")]
    Read(PathBuf, io::Error),
    #[error("{0}, line {1}: {2}")]
    Line(PathBuf, usize, String),
    #[error("{0} has no opening: name a PGN, or a file of FENs or EPDs, one a line")]
    Empty(PathBuf),
}

#[derive(Clone, Debug)]
enum Opening {
    Line(&'static str, &'static str),
    Fen(String),
    Game(Box<PlayedGame>),
}

#[derive(Clone, Debug)]
pub struct OpeningBook {
    pub name: String,
    openings: Vec<Opening>,
}

impl OpeningBook {
    pub fn own() -> OpeningBook {
        let read = |line: &'static str| {
            let (name, moves) = line.split_once(": ").expect("a name stands before the moves");
            Opening::Line(name, moves)
        };
        OpeningBook { name: OWN_BOOK.to_owned(), openings: TABLE.lines().map(read).collect() }
    }

    /// Reads the games of a PGN, or a file with one FEN or EPD per line. The book is named after the file.
    pub fn read(path: &Path) -> Result<OpeningBook, OpeningFileError> {
        let text = std::fs::read(path).map_err(|error| OpeningFileError::Read(path.to_owned(), error))?;
        let is_pgn = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("pgn"));
        let openings = if is_pgn { games(&text) } else { positions(path, &String::from_utf8_lossy(&text))? };
        if openings.is_empty() {
            return Err(OpeningFileError::Empty(path.to_owned()));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(OpeningBook { name, openings })
    }

    /// Repeats the openings when all are used.
    pub fn opening(&self, pair: usize) -> (String, PlayedGame) {
        let index = pair % self.openings.len();
        let name = |game: &PlayedGame| match game.opening() {
            Some(opening) => opening.name.clone(),
            None => format!("{} {}", self.name, index + 1),
        };
        match &self.openings[index] {
            Opening::Line(name, moves) => ((*name).to_owned(), line(moves)),
            Opening::Game(game) => (name(game), (**game).clone()),
            Opening::Fen(fen) => {
                let game = PlayedGame::new(Some(fen.clone())).expect("it was read");
                (name(&game), game)
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.openings.len()
    }
}

fn line(moves: &str) -> PlayedGame {
    let mut game = PlayedGame::new(None).expect("the initial position is one");
    for text in moves.split(' ') {
        let m = game.parse(text).expect("the table's moves are legal");
        game.play(m).expect("an opening is short");
    }
    game
}

/// Skips finished and unreadable games.
fn games(text: &[u8]) -> Vec<Opening> {
    let (games, broken) = read_games(text);
    broken.iter().for_each(|broken| log::warn!("openings: {broken}, left out"));
    let opening = |game: engine::chess::pgn::PgnGame| {
        let start = game.tag("FEN").is_some().then(|| game.start().fen());
        let mut played = PlayedGame::new(start).ok()?;
        game.moves().into_iter().try_for_each(|m| played.play(m)).ok()?;
        played.end().is_none().then(|| Opening::Game(Box::new(played)))
    };
    games.into_iter().filter_map(|(_, game)| opening(game)).collect()
}

fn positions(path: &Path, text: &str) -> Result<Vec<Opening>, OpeningFileError> {
    let mut openings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_number = |at: usize| words.get(at).is_some_and(|word| word.parse::<u32>().is_ok());
        let fields = if is_number(4) && is_number(5) { 6 } else { 4.min(words.len()) };
        let wrong = |why: String| OpeningFileError::Line(path.to_owned(), number + 1, why);
        let game = Game::from_fen(&words[..fields].join(" ")).map_err(|error| wrong(error.to_string()))?;
        if game.outcome().is_none() {
            openings.push(Opening::Fen(game.fen()));
        }
    }
    Ok(openings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_opening_is_legal_and_another_position() {
        let book = OpeningBook::own();
        let games: Vec<PlayedGame> = (0..book.len()).map(|pair| book.opening(pair).1).collect();
        let positions: HashSet<String> = games.iter().map(|game| game.game().fen()).collect();
        assert_eq!((book.len(), positions.len()), (32, 32));
        assert!(games.iter().all(|game| (8..=10).contains(&game.ply())));
        assert_eq!(book.opening(32).0, book.opening(0).0, "from the first again");
    }

    #[test]
    fn files_of_games_and_positions_are_read_and_wrong_ones_refused() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            OpeningBook::read(&path)
        };
        let book = read("two.pgn", "1. e4 e5 2. Nf3 *\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n1. d4 *\n").unwrap();
        assert_eq!((book.name.as_str(), book.len()), ("two", 2), "mate is no opening");
        assert_eq!(book.opening(1).0, "Queen's Pawn Game");
        let epd =
            "4k3/8/8/8/8/8/4P3/4K2R w K - hmvc 3; id \"x\";\n# no line\n\n4k3/8/8/8/8/8/4P3/4K3 b - - 0 20\n";
        let book = read("some.epd", epd).unwrap();
        assert_eq!(book.opening(1).1.start_fen(), "4k3/8/8/8/8/8/4P3/4K3 b - - 0 20");
        assert_eq!(book.opening(0).0, "some 1");
        let error = read("wrong.fen", "4k3/8/8/8/8/8/4P3/4K3 w - -\nnonsense\n").unwrap_err().to_string();
        assert!(error.contains("wrong.fen, line 2: "), "{error}");
        assert!(matches!(read("empty.pgn", ""), Err(OpeningFileError::Empty(_))));
        assert!(matches!(OpeningBook::read(Path::new("/nonexistent")), Err(OpeningFileError::Read(..))));
    }
}
