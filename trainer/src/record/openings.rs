//! Names and ECO codes of openings, from lichess-org/chess-openings (CC0).

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::sync::LazyLock;

use engine::position::Game;
use shakmaty::san::San;

use super::GameRecord;

/// ECO code, name and moves of each opening, one per line (the five tables of the source, one after the other).
static TABLE: &[u8] = include_bytes!("../../data/eco.tsv.zst");

static BOOK: LazyLock<Book> = LazyLock::new(|| Book::read(TABLE));

/// A named opening.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opening {
    /// `A00` to `E99`.
    pub eco: String,
    /// The name, as in "Sicilian Defense: Najdorf Variation".
    pub name: String,
}

impl Opening {
    /// The name without its variations: the part before the colon.
    pub fn family(&self) -> &str {
        self.name.split_once(':').map_or(self.name.as_str(), |(family, _)| family)
    }
}

impl std::fmt::Display for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.eco, self.name)
    }
}

/// Plies of the longest named opening.
pub const LONGEST_LINE: usize = 36;

struct Book {
    openings: HashMap<u64, Opening>,
}

impl Book {
    fn read(packed: &[u8]) -> Book {
        let reader = zstd::stream::read::Decoder::new(packed).expect("zstd is built in");
        let mut book = Book { openings: HashMap::with_capacity(4096) };
        for line in BufReader::new(reader).lines().skip(1) {
            let line = line.expect("the table is complete");
            let (game, opening) = Self::entry(&line).expect("every line of the table is valid");
            debug_assert!(game.ply() <= LONGEST_LINE);
            book.openings.insert(game.hash(), opening);
        }
        book
    }

    fn entry(line: &str) -> Option<(Game, Opening)> {
        let mut columns = line.split('\t');
        let (eco, name, moves) = (columns.next()?, columns.next()?, columns.next()?);
        let mut game = Game::new();
        for san in moves.split(' ').filter(|text| !text.ends_with('.')) {
            let m = San::from_ascii(san.as_bytes()).ok()?.to_move(game.position()).ok()?;
            game.play(m);
        }
        Some((game, Opening { eco: eco.to_owned(), name: name.to_owned() }))
    }
}

/// The opening of a position, by whichever moves it was reached.
pub fn opening_of(position: &Game) -> Option<&'static Opening> {
    BOOK.openings.get(&position.hash())
}

/// The opening of a game: that of the last of its positions that has one.
///
/// A game from a start of its own can have one as well.
pub fn opening(game: &GameRecord) -> Option<&'static Opening> {
    let mut replay = Game::from_fen(&game.start_fen()).ok()?;
    let mut found = opening_of(&replay);
    for packed in game.moves.iter().take(LONGEST_LINE) {
        replay.play(packed.to_move(replay.position())?);
        found = opening_of(&replay).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::position::PackedMove;

    fn name(moves: &str) -> String {
        let mut game = Game::new();
        let packed: Vec<PackedMove> = moves
            .split_whitespace()
            .map(|text| {
                let m = game.parse_uci(text).unwrap();
                game.play(m);
                PackedMove::new(m)
            })
            .collect();
        opening(&GameRecord { moves: packed, ..GameRecord::default() })
            .map_or_else(String::new, Opening::to_string)
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        // 3807 lines, each a position of its own.
        assert_eq!(BOOK.openings.len(), 3807);
        let codes = |letter| BOOK.openings.values().filter(|opening| opening.eco.starts_with(letter)).count();
        assert_eq!(['A', 'B', 'C', 'D', 'E'].map(codes).iter().sum::<usize>(), 3807);
    }

    #[test]
    fn the_last_named_position_names_the_game() {
        assert_eq!(name(""), "");
        assert_eq!(name("e2e4"), "B00 King's Pawn Game");
        let najdorf = "B90 Sicilian Defense: Najdorf Variation";
        let moves = "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6";
        assert_eq!(name(moves), najdorf);
        // The positions after it have no name.
        assert_eq!(
            name(&format!("{moves} h2h3 h7h6 h3h4")),
            najdorf.replace("Variation", "Variation, Adams Attack")
        );
        // Another order of moves, the same position.
        assert_eq!(name("d2d4 d7d5 c2c4 e7e6"), name("c2c4 e7e6 d2d4 d7d5"));
        assert!(name("d2d4 d7d5 c2c4 e7e6").starts_with("D30 Queen's Gambit Declined"));
    }
}
