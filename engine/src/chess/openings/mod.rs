//! Names and ECO codes of openings, from lichess-org/chess-openings (CC0).

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use shakmaty::san::San;

use crate::chess::position::Game;

/// One opening per line (ECO code, name, moves): the source's five tables, concatenated.
static TABLE: &[u8] = include_bytes!("../../../data/eco.tsv.gz");

static BOOK: LazyLock<Book> = LazyLock::new(|| Book::read(TABLE));

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opening {
    /// `A00` to `E99`.
    pub eco: String,
    /// As in "Sicilian Defense: Najdorf Variation".
    pub name: String,
}

impl Opening {
    pub fn family(&self) -> &str {
        self.name.split_once(':').map_or(self.name.as_str(), |(family, _)| family)
    }
}

impl std::fmt::Display for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.eco, self.name)
    }
}

/// Plies of the longest opening.
pub const LONGEST_LINE: usize = 36;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningLine {
    pub opening: Opening,
    /// In SAN, with move numbers.
    pub moves: String,
}

struct Book {
    openings: HashMap<u64, Opening>,
    /// By code, then by name.
    lines: Vec<OpeningLine>,
}

impl Book {
    fn read(packed: &[u8]) -> Book {
        let mut book = Book { openings: HashMap::with_capacity(4096), lines: Vec::with_capacity(4096) };
        for line in BufReader::new(GzDecoder::new(packed)).lines().skip(1) {
            let line = line.expect("the table is complete");
            let (game, line) = Self::entry(&line).expect("every line of the table is valid");
            debug_assert!(game.ply() <= LONGEST_LINE);
            book.openings.insert(game.hash(), line.opening.clone());
            book.lines.push(line);
        }
        book
    }

    fn entry(line: &str) -> Option<(Game, OpeningLine)> {
        let mut columns = line.split('\t');
        let (eco, name, moves) = (columns.next()?, columns.next()?, columns.next()?);
        let mut game = Game::new();
        for san in moves.split(' ').filter(|text| !text.ends_with('.')) {
            let m = San::from_ascii(san.as_bytes()).ok()?.to_move(game.position()).ok()?;
            game.play(m);
        }
        let opening = Opening { eco: eco.to_owned(), name: name.to_owned() };
        Some((game, OpeningLine { opening, moves: moves.to_owned() }))
    }
}

/// Also finds openings that were reached by transposition.
pub fn opening_of(position: &Game) -> Option<&'static Opening> {
    BOOK.openings.get(&position.hash())
}

/// Returns at most `most` openings whose code or name contains all words of `text`, shortest names first.
pub fn openings_named(text: &str, most: usize) -> Vec<&'static OpeningLine> {
    let plain = |text: &str| text.to_lowercase().replace(['\'', '’', ':', ',', '.'], "");
    let words: Vec<String> = plain(text).split_whitespace().map(str::to_owned).collect();
    let fits = |line: &&OpeningLine| {
        let name = plain(&line.opening.to_string());
        words.iter().all(|word| name.contains(word.as_str()))
    };
    let mut found: Vec<&OpeningLine> = BOOK.lines.iter().filter(fits).collect();
    found.sort_by_key(|line| line.opening.name.len());
    found.truncate(most);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_found_by_the_words_of_their_names() {
        let found = |text| openings_named(text, 3);
        assert_eq!(found("najdorf sicilian")[0].opening.name, "Sicilian Defense: Najdorf Variation");
        assert!(found("najdorf sicilian")[0].moves.starts_with("1. e4 c5 2. Nf3 d6 3. d4 cxd4"));
        assert_eq!(found("queens gambit")[0].opening.to_string(), "D06 Queen's Gambit");
        assert_eq!(found("C60")[0].opening.name, "Ruy Lopez");
        assert_eq!((found("no such opening").len(), found("").len()), (0, 3));
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        assert_eq!(BOOK.openings.len(), 3807);
        let codes = |letter| BOOK.openings.values().filter(|opening| opening.eco.starts_with(letter)).count();
        assert_eq!(['A', 'B', 'C', 'D', 'E'].map(codes).iter().sum::<usize>(), 3807);
    }

    #[test]
    fn a_position_has_its_name_by_whichever_moves_it_was_reached() {
        let name = |moves: &str| {
            opening_of(&Game::from_uci(None, moves.split_whitespace()).unwrap()).map(Opening::to_string)
        };
        assert_eq!(name(""), None);
        assert_eq!(name("e2e4").as_deref(), Some("B00 King's Pawn Game"));
        assert_eq!(name("d2d4 d7d5 c2c4 e7e6"), name("c2c4 e7e6 d2d4 d7d5"));
        let queens_gambit = opening_of(&Game::from_uci(None, ["d2d4", "d7d5", "c2c4", "e7e6"]).unwrap());
        assert_eq!(queens_gambit.unwrap().family(), "Queen's Gambit Declined");
    }
}
