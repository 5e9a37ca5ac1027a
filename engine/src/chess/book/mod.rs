//! Opening books in the Polyglot format: entries of 16 bytes, big-endian, sorted by key: key (8 bytes), move (2),
//! weight (2), unused (4) (<http://hgm.nubati.net/book_format.html>). The key is shakmaty's [`Zobrist64`].

use std::io;
use std::path::{Path, PathBuf};

use rand::RngExt;
use rand::rngs::SmallRng;
use shakmaty::uci::UciMove;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{EnPassantMode, Move, Position, Role, Square};
use thiserror::Error;

use crate::chess::position::Game;

const ENTRY: usize = 16;

#[derive(Clone, Debug)]
pub struct Book {
    bytes: Vec<u8>,
}

#[derive(Debug, Error)]
pub enum BookError {
    #[error("cannot read the book {path}: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    #[error("the book is empty")]
    Empty,
    #[error("not a Polyglot book: {0} bytes are not a whole number of entries")]
    Length(usize),
    /// Index of the first entry out of order.
    #[error("not a Polyglot book: entry {0} is out of order")]
    Unsorted(usize),
}

#[derive(Clone, Copy)]
struct BookEntry {
    packed: u16,
    weight: u16,
}

impl Book {
    pub fn open(path: &Path) -> Result<Book, BookError> {
        let failed = |error| BookError::Read(path.to_owned(), error);
        let found = std::fs::metadata(path).map_err(failed)?;
        // A pipe would be waited for, a device may have no end.
        if !found.is_file() && !found.is_dir() {
            return Err(failed(io::Error::other("this is a pipe or a device: copy it into a file")));
        }
        Book::from_bytes(std::fs::read(path).map_err(failed)?)
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Result<Book, BookError> {
        if bytes.is_empty() {
            return Err(BookError::Empty);
        }
        if !bytes.len().is_multiple_of(ENTRY) {
            return Err(BookError::Length(bytes.len()));
        }
        let book = Book { bytes };
        match (1..book.entries()).find(|&index| book.key(index) < book.key(index - 1)) {
            Some(index) => Err(BookError::Unsorted(index)),
            None => Ok(book),
        }
    }

    pub fn entries(&self) -> usize {
        self.bytes.len() / ENTRY
    }

    /// In file order, without illegal moves, which come from key collisions.
    pub fn moves(&self, game: &Game) -> Vec<(Move, u16)> {
        let key = key(game);
        let first = partition_point(self.entries(), |index| self.key(index) < key);
        (first..self.entries())
            .take_while(|&index| self.key(index) == key)
            .map(|index| self.entry(index))
            .filter_map(|entry| Some((unpack(entry.packed, game)?, entry.weight)))
            .collect()
    }

    /// Chooses by weight; `None` if no move has a weight.
    pub fn choose(&self, game: &Game, random: &mut SmallRng) -> Option<Move> {
        let moves = self.moves(game);
        let total: u64 = moves.iter().map(|&(_, weight)| u64::from(weight)).sum();
        let mut left = (total > 0).then(|| random.random_range(..total))?;
        moves.into_iter().find_map(|(m, weight)| match left.checked_sub(u64::from(weight)) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(m),
        })
    }

    fn key(&self, index: usize) -> u64 {
        u64::from_be_bytes(self.field(index, 0))
    }

    fn entry(&self, index: usize) -> BookEntry {
        BookEntry {
            packed: u16::from_be_bytes(self.field(index, 8)),
            weight: u16::from_be_bytes(self.field(index, 10)),
        }
    }

    fn field<const N: usize>(&self, index: usize, offset: usize) -> [u8; N] {
        let at = index * ENTRY + offset;
        self.bytes[at..at + N].try_into().expect("a book has whole entries")
    }
}

fn partition_point(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Polyglot hashes en passant if an enemy pawn stands beside the pushed pawn, even if the capture is illegal.
fn key(game: &Game) -> u64 {
    game.position().zobrist_hash::<Zobrist64>(EnPassantMode::PseudoLegal).0
}

/// From the lowest bit: target square (6 bits), origin (6), promotion (3). Castling is king takes rook.
fn unpack(packed: u16, game: &Game) -> Option<Move> {
    let square = |bits: u16| Square::new(u32::from(bits & 63));
    let promotion = match packed >> 12 {
        0 => None,
        1 => Some(Role::Knight),
        2 => Some(Role::Bishop),
        3 => Some(Role::Rook),
        4 => Some(Role::Queen),
        _ => return None,
    };
    UciMove::Normal { from: square(packed >> 6), to: square(packed), promotion }.to_move(game.position()).ok()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn pack(text: &str) -> u16 {
        let Ok(UciMove::Normal { from, to, promotion }) = text.parse() else { panic!("{text}") };
        let promotion = match promotion {
            None => 0,
            Some(role) => u16::from(role) - 1,
        };
        promotion << 12 | u16::from(from) << 6 | u16::from(to)
    }

    fn book(entries: &[(u64, &str, u16)]) -> Book {
        let entry = |&(key, text, weight): &(u64, &str, u16)| {
            [&key.to_be_bytes()[..], &pack(text).to_be_bytes(), &weight.to_be_bytes(), &[0; 4]].concat()
        };
        Book::from_bytes(entries.iter().flat_map(entry).collect()).unwrap()
    }

    fn texts(book: &Book, game: &Game) -> Vec<(String, u16)> {
        book.moves(game).into_iter().map(|(m, weight)| (Game::uci(m, false), weight)).collect()
    }

    /// Examples from the format's description.
    #[test]
    fn keys_are_polyglots() {
        for (moves, expected) in [
            ("", 0x463b_9618_1691_fc9c),
            ("e2e4", 0x823c_9b50_fd11_4196),
            ("e2e4 d7d5", 0x0756_b944_61c5_0fb0),
            ("e2e4 d7d5 e4e5", 0x662f_afb9_65db_29d4),
            ("e2e4 d7d5 e4e5 f7f5", 0x22a4_8b5a_8e47_ff78),
            ("e2e4 d7d5 e4e5 f7f5 e1e2", 0x652a_607c_a3f2_42c1),
            ("e2e4 d7d5 e4e5 f7f5 e1e2 e8f7", 0x00fd_d303_c946_bdd9),
            ("a2a4 b7b5 h2h4 b5b4 c2c4", 0x3c81_23ea_7b06_7637),
            ("a2a4 b7b5 h2h4 b5b4 c2c4 b4c3 a1a3", 0x5c3f_9b82_9b27_9560),
        ] {
            let game = Game::from_uci(None, moves.split_whitespace()).unwrap();
            assert_eq!(key(&game), expected, "{moves}");
        }
    }

    #[test]
    fn a_pinned_pawns_en_passant_counts_in_the_key_all_the_same() {
        let key = |ep| key(&Game::from_fen(&format!("4r1k1/8/8/3pP3/8/8/8/4K3 w - {ep} 0 1")).unwrap());
        assert_ne!(key("d6"), key("-"), "the capture is legal");
        let key = |ep| self::key(&Game::from_fen(&format!("6k1/8/8/K2pP2r/8/8/8/8 w - {ep} 0 1")).unwrap());
        assert_ne!(key("d6"), key("-"), "it would leave the king in check");
    }

    #[test]
    fn moves_come_from_their_position_only_and_in_order() {
        let start = key(&Game::new());
        let book = book(&[
            (start - 1, "e2e4", 9),
            (start, "d2d4", 3),
            (start, "e7e5", 5),
            (start, "g1f3", 0),
            (start + 1, "e2e4", 9),
        ]);
        assert_eq!(book.entries(), 5);
        assert_eq!(texts(&book, &Game::new()), [("d2d4".into(), 3), ("g1f3".into(), 0)]);
        assert_eq!(texts(&book, &Game::from_fen("4k3/8/8/8/8/8/8/4K3 w - - 0 1").unwrap()), []);
    }

    #[test]
    fn castling_is_king_takes_rook_and_pawns_promote() {
        let game = Game::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").unwrap();
        let castling = book(&[(key(&game), "e1h1", 1), (key(&game), "e1a1", 2)]);
        assert_eq!(texts(&castling, &game), [("e1g1".into(), 1), ("e1c1".into(), 2)]);
        let game = Game::from_fen("7k/P7/8/8/8/8/8/K7 w - - 0 1").unwrap();
        let moves = ["a7a8n", "a7a8b", "a7a8r", "a7a8q"];
        let promotions = book(&moves.map(|text| (key(&game), text, 1)));
        assert_eq!(texts(&promotions, &game), moves.map(|text| (text.to_owned(), 1)));
    }

    #[test]
    fn polyglots_key_does_not_know_which_rook_may_castle_but_the_moves_do() {
        let game = |rights| Game::from_fen(&format!("4k3/8/8/8/8/8/8/R3K1RR w {rights} - 0 1")).unwrap();
        let (inner, outer) = (game("G"), game("H"));
        assert_eq!(key(&inner), key(&outer));
        let book = book(&[(key(&inner), "e1g1", 1), (key(&inner), "e1h1", 1), (key(&inner), "a1a2", 1)]);
        let moves =
            |game: &Game| book.moves(game).iter().map(|(m, _)| Game::uci(*m, true)).collect::<Vec<_>>();
        assert_eq!(moves(&inner), ["e1g1", "a1a2"]);
        assert_eq!(moves(&outer), ["a1a2"], "the inner rook is in the way");
    }

    #[test]
    fn choice_follows_the_weights_and_the_seed() {
        let start = key(&Game::new());
        let book = book(&[(start, "d2d4", 1), (start, "g1f3", 0), (start, "e2e4", 3)]);
        let choices = |seed| {
            let mut random = SmallRng::seed_from_u64(seed);
            let choose = |_| Game::uci(book.choose(&Game::new(), &mut random).unwrap(), false);
            (0..1000).map(choose).collect::<Vec<_>>()
        };
        assert_eq!(choices(1), choices(1));
        assert_ne!(choices(1), choices(2));
        let count = |text| choices(1).iter().filter(|&choice| choice == text).count();
        assert_eq!(count("g1f3"), 0, "weight zero is never played");
        assert!((200..300).contains(&count("d2d4")), "{}", count("d2d4"));
        assert_eq!(count("d2d4") + count("e2e4"), 1000);
    }

    #[test]
    fn no_choice_without_weight_or_entry() {
        let mut random = SmallRng::seed_from_u64(0);
        let start = Game::new();
        assert_eq!(book(&[(key(&start), "e2e4", 0)]).choose(&start, &mut random), None);
        assert_eq!(book(&[(1, "e2e4", 9)]).choose(&start, &mut random), None);
    }

    #[test]
    fn invalid_books_are_rejected_with_the_reason() {
        let error = |bytes: &[u8]| Book::from_bytes(bytes.to_vec()).unwrap_err();
        assert!(matches!(error(b""), BookError::Empty));
        assert!(matches!(error(&[0; 17]), BookError::Length(17)));
        assert!(matches!(error(&[[2; 16], [2; 16], [1; 16]].concat()), BookError::Unsorted(2)));
        let missing = Book::open(Path::new("/no/such/book.bin")).unwrap_err().to_string();
        assert!(missing.contains("/no/such/book.bin"), "{missing}");
    }

    #[test]
    fn invalid_bits_are_not_a_move() {
        let start = Game::new();
        let e2e4 = pack("e2e4");
        assert!(unpack(e2e4, &start).is_some());
        assert_eq!(unpack(e2e4 | 1 << 15, &start), None);
        assert_eq!(unpack(0, &start), None);
    }
}
