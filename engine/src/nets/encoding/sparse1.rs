//! `sparse/1`: the position as a short list of features, each with an embedding. Mover's view, mirrored so that the
//! own king stands on files e to h ([`View`]).
//!
//! | features | meaning |
//! |---|---|
//! | 0–3071 | `1536·defended + 768·attacked + 64·piece + square`: own P N B R Q K are pieces 0–5, theirs 6–11; attacked by the other side, defended by its own (pins ignored, no x-rays) |
//! | 3072–3075 | castling rights: own towards the h-file, own towards the a-file (as seen), then theirs |
//! | 3076–3083 | file of the en-passant square, if such a capture is legal |
//! | 3084–3147 | origin of the last move (in castling, the king's) |
//! | 3148–3211 | target of the last move if not a capture (in castling, the king's: c- or g-file of the board) |
//! | 3212–3275 | target of the last move if a capture, en passant included |
//! | 3276, 3277 | second occurrence of the position; third or later |
//! | 3278 | the mover is in check |
//! | 3279–3288 | half-move clock: 0–1, 2–5, 6–11, 12–19, 20–34, 35–49, 50–64, 65–79, 80–89, 90 and more |
//! | 3289–3296 | pieces on the board, n: min((n − 1) / 4, 7) |

use std::fmt;
use std::ops::Deref;

use shakmaty::{File, Role, Square};

use super::view::{BISHOP, KING, KNIGHT, NAMES, OWN, QUEEN, ROOK, THEIRS};

pub use super::view::View;

pub const NAME: &str = "sparse/1";

pub const FEATURES: usize = PIECES + 8;

/// Most features of a position: 64 pieces, four castling rights and one of every other kind.
pub const MAX_ACTIVE: usize = 64 + 4 + 1 + 2 + 1 + 1 + 1 + 1;

const CASTLING: usize = 4 * 12 * 64;
const EN_PASSANT: usize = CASTLING + 4;
const ORIGIN: usize = EN_PASSANT + 8;
const TARGET: usize = ORIGIN + 64;
const REPETITION: usize = TARGET + 2 * 64;
const CHECK: usize = REPETITION + 2;
const CLOCK: usize = CHECK + 1;
const PIECES: usize = CLOCK + CLOCK_ENDS.len() + 1;

/// Lowest clock of each bucket after the first.
const CLOCK_ENDS: [u32; 9] = [2, 6, 12, 20, 35, 50, 65, 80, 90];

/// Active features, without duplicates and unordered.
#[derive(Clone, Debug)]
pub struct Features {
    active: [u16; MAX_ACTIVE],
    len: usize,
}

impl Features {
    #[inline]
    fn push(&mut self, feature: usize) {
        self.active[self.len] = feature as u16;
        self.len += 1;
    }
}

impl Deref for Features {
    type Target = [u16];

    #[inline]
    fn deref(&self) -> &[u16] {
        &self.active[..self.len]
    }
}

impl View {
    #[inline(always)]
    pub fn features(&self) -> Features {
        let mut features = Features { active: [0; MAX_ACTIVE], len: 0 };
        self.push_pieces(&mut features);
        for (index, right) in self.castling.into_iter().enumerate() {
            if right {
                features.push(CASTLING + index);
            }
        }
        if let Some(square) = self.en_passant {
            features.push(EN_PASSANT + usize::from(square & 7));
        }
        if let Some(last) = self.last_move {
            features.push(ORIGIN + usize::from(last.from));
            features.push(TARGET + 64 * usize::from(last.took) + usize::from(last.to));
        }
        if self.repetitions > 0 {
            features.push(REPETITION + usize::from(self.repetitions > 1));
        }
        if self.in_check() {
            features.push(CHECK);
        }
        features.push(CLOCK + CLOCK_ENDS.iter().filter(|end| self.halfmoves >= **end).count());
        features.push(PIECES + ((self.occupied.count_ones() as usize - 1) / 4).min(7));
        features
    }

    /// Computes each feature from three bits of the role and one each for side, attacked and defended.
    #[inline(always)]
    fn push_pieces(&self, features: &mut Features) {
        let [own, theirs] = &self.pieces;
        let of = |role: usize| own[role] | theirs[role];
        let role_1 = of(KNIGHT) | of(ROOK) | of(KING);
        let role_2 = of(BISHOP) | of(ROOK);
        let role_4 = of(QUEEN) | of(KING);
        let side = self.by_side[THEIRS];
        let pick = |own: u64, theirs: u64| own & self.by_side[OWN] | theirs & side;
        let attacked = pick(self.attacks[THEIRS], self.attacks[OWN]);
        let defended = pick(self.attacks[OWN], self.attacks[THEIRS]);
        let mut rest = self.occupied;
        while rest != 0 {
            let square = rest.trailing_zeros();
            let bit = |bits: u64| (bits >> square & 1) as usize;
            features.push(
                square as usize
                    + 64 * (bit(role_1) + 2 * bit(role_2) + 4 * bit(role_4) + 6 * bit(side))
                    + 768 * bit(attacked)
                    + 1536 * bit(defended),
            );
            rest &= rest - 1;
        }
    }
}

/// Sides, squares and files are as seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    Piece {
        own: bool,
        role: Role,
        square: Square,
        attacked: bool,
        defended: bool,
    },
    Castling {
        own: bool,
        towards_h: bool,
    },
    EnPassant(File),
    Origin(Square),
    Target {
        square: Square,
        took: bool,
    },
    /// Whether the position has occurred more than once before.
    Repetition(bool),
    Check,
    /// Inclusive range; the last is open.
    Clock(u32, Option<u32>),
    /// Inclusive range; the last is open.
    Pieces(u32, Option<u32>),
}

impl Feature {
    pub fn of(feature: u16) -> Option<Feature> {
        let feature = usize::from(feature);
        let square = |first: usize| Square::new((feature - first) as u32 % 64);
        Some(match feature {
            ..CASTLING => Feature::Piece {
                own: feature / 64 % 12 < 6,
                role: Role::ALL[feature / 64 % 6],
                square: square(0),
                attacked: feature / 768 % 2 == 1,
                defended: feature / 1536 == 1,
            },
            CASTLING..EN_PASSANT => {
                let index = feature - CASTLING;
                Feature::Castling { own: index < 2, towards_h: index.is_multiple_of(2) }
            }
            EN_PASSANT..ORIGIN => Feature::EnPassant(File::new((feature - EN_PASSANT) as u32)),
            ORIGIN..TARGET => Feature::Origin(square(ORIGIN)),
            TARGET..REPETITION => Feature::Target { square: square(TARGET), took: feature - TARGET >= 64 },
            REPETITION..CHECK => Feature::Repetition(feature > REPETITION),
            CHECK => Feature::Check,
            CLOCK..PIECES => {
                let range = feature - CLOCK;
                let first = range.checked_sub(1).map_or(0, |before| CLOCK_ENDS[before]);
                Feature::Clock(first, CLOCK_ENDS.get(range).map(|end| end - 1))
            }
            PIECES..FEATURES => {
                let first = 4 * (feature - PIECES) as u32 + 1;
                Feature::Pieces(first, (feature + 1 < FEATURES).then_some(first + 3))
            }
            _ => return None,
        })
    }

    pub fn is_history(self) -> bool {
        matches!(self, Feature::Origin(_) | Feature::Target { .. } | Feature::Repetition(_))
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |own: bool| if own { "own" } else { "their" };
        let range = |first: u32, last: Option<u32>| match last {
            Some(last) => format!("{first} to {last}"),
            None => format!("{first} or more"),
        };
        match *self {
            Feature::Piece { own, role, square, attacked, defended } => {
                write!(f, "{} {} {square}", side(own), NAMES[role as usize - 1])?;
                f.write_str(if attacked { ", attacked" } else { "" })?;
                f.write_str(if defended { ", defended" } else { "" })
            }
            Feature::Castling { own, towards_h } => {
                let file = if towards_h { 'h' } else { 'a' };
                write!(f, "{} castling right towards the {file}-file", side(own))
            }
            Feature::EnPassant(file) => write!(f, "en-passant capture on the {}-file", file.char()),
            Feature::Origin(square) => write!(f, "last move from {square}"),
            Feature::Target { square, took: false } => write!(f, "last move to {square}, no capture"),
            Feature::Target { square, took: true } => write!(f, "last move to {square}, a capture"),
            Feature::Repetition(false) => f.write_str("the position occurred once before"),
            Feature::Repetition(true) => f.write_str("the position occurred more than once before"),
            Feature::Check => f.write_str("the mover is in check"),
            Feature::Clock(first, last) => write!(f, "half-move clock {}", range(first, last)),
            Feature::Pieces(first, last) => write!(f, "{} pieces on the board", range(first, last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::position::Game;

    fn features(fen: Option<&str>, moves: &str) -> Vec<u16> {
        let mut game = fen.map_or_else(Game::new, |fen| Game::from_fen(fen).unwrap());
        for text in moves.split_whitespace() {
            game.play(game.parse_uci(text).unwrap());
        }
        let mut features = View::of(&game).features().to_vec();
        features.sort_unstable();
        features
    }

    fn piece(piece: u16, square: u16, attacked: u16, defended: u16) -> u16 {
        1536 * defended + 768 * attacked + 64 * piece + square
    }

    fn sorted(mut features: Vec<u16>) -> Vec<u16> {
        features.sort_unstable();
        features
    }

    #[test]
    fn the_numbers_are_those_of_the_table() {
        assert_eq!((CASTLING, EN_PASSANT, ORIGIN, TARGET), (3072, 3076, 3084, 3148));
        assert_eq!((REPETITION, CHECK, CLOCK, PIECES, FEATURES), (3276, 3278, 3279, 3289, 3297));
        assert_eq!(MAX_ACTIVE, 75);
    }

    #[test]
    fn features_say_what_the_table_says() {
        for (feature, meaning) in [
            (0, "own pawn a1"),
            (piece(6, 35, 1, 0), "their pawn d5, attacked"),
            (piece(5, 6, 0, 1), "own king g1, defended"),
            (3071, "their king h8, attacked, defended"),
            (3072, "own castling right towards the h-file"),
            (3075, "their castling right towards the a-file"),
            (3076 + 3, "en-passant capture on the d-file"),
            (3084 + 52, "last move from e7"),
            (3148 + 36, "last move to e5, no capture"),
            (3212 + 19, "last move to d3, a capture"),
            (3276, "the position occurred once before"),
            (3277, "the position occurred more than once before"),
            (3278, "the mover is in check"),
            (3279, "half-move clock 0 to 1"),
            (3279 + 4, "half-move clock 20 to 34"),
            (3288, "half-move clock 90 or more"),
            (3289, "1 to 4 pieces on the board"),
            (3295, "25 to 28 pieces on the board"),
            (3296, "29 or more pieces on the board"),
        ] {
            assert_eq!(Feature::of(feature).unwrap().to_string(), meaning, "{feature}");
        }
        let words = (0..FEATURES as u16).map(|feature| Feature::of(feature).unwrap().to_string());
        let different: std::collections::HashSet<String> = words.collect();
        assert_eq!((different.len(), Feature::of(FEATURES as u16)), (FEATURES, None));
    }

    #[test]
    fn a_few_pieces_by_hand() {
        // White to move, so nothing is mirrored. Nf6 attacks e4.
        let found = features(Some("2kr4/8/5n2/8/4P3/8/8/3R2K1 w - - 21 40"), "");
        let expected = vec![
            piece(5, 6, 0, 1),   // king g1, defended by the rook
            piece(3, 3, 1, 0),   // rook d1, attacked by the rook, too far from its king
            piece(0, 28, 1, 0),  // pawn e4, attacked by the knight
            piece(11, 58, 0, 1), // king c8, next to its rook
            piece(9, 59, 1, 1),  // rook d8, attacked by the rook, defended by the king
            piece(7, 45, 0, 0),  // knight f6
            3279 + 4,            // clock 21
            3289 + 1,            // six pieces
        ];
        assert_eq!(found, sorted(expected));
    }

    #[test]
    fn the_king_on_the_queen_side_mirrors_the_files_and_black_the_ranks() {
        // Black's view: king c8 is on f1 = 5.
        let found = features(Some("2k4r/8/8/8/8/8/8/R3K3 b Q - 0 1"), "");
        let expected = vec![
            piece(5, 5, 0, 1),   // own king, defended by its rook along the rank
            piece(3, 0, 0, 0),   // own rook h8 → a1
            piece(9, 63, 0, 0),  // their rook a1 → h8, too far from its king
            piece(11, 59, 0, 1), // their king e1 → d8, defended by the rook
            3074,                // their right towards the a-file is seen towards the h-file
            3279,
            3289,
        ];
        assert_eq!(found, sorted(expected));
    }

    #[test]
    fn the_start_has_its_features() {
        let found = features(None, "");
        assert_eq!(found.len(), 32 + 4 + 2);
        // The a1 rook is not defended; the a2 pawn is, by the rook.
        for feature in [piece(3, 0, 0, 0), piece(0, 8, 0, 1), piece(5, 4, 0, 1), piece(11, 60, 0, 1)] {
            assert!(found.contains(&feature), "{feature}");
        }
        assert_eq!(&found[32..], [3072, 3073, 3074, 3075, 3279, 3296]);
    }

    #[test]
    fn last_move_en_passant_check_and_repetition() {
        let rest = |fen: Option<&str>, moves: &str| -> Vec<u16> {
            features(fen, moves).into_iter().filter(|f| *f >= 3072 && *f < 3279).collect()
        };
        let round = "g1f3 g8f6 f3g1 f6g8 ";
        let rights = [3072, 3073, 3074, 3075];
        // In Black's view e2 is e7 = 52 and e4 is e5 = 36; no en-passant capture is legal.
        assert_eq!(rest(None, "e2e4"), [&rights[..], &[3084 + 52, 3148 + 36]].concat());
        // In White's view the knight went from f6 to g8: second and third occurrence.
        let back = [3084 + 45, 3148 + 62];
        assert_eq!(rest(None, round), [&rights[..], &back[..], &[3276]].concat());
        assert_eq!(rest(None, &round.repeat(2)), [&rights[..], &back[..], &[3277]].concat());
        // exd6 is legal: d7 = 51, d5 = 35.
        let moves = "e2e4 a7a6 e4e5 d7d5";
        assert_eq!(rest(None, moves), [&rights[..], &[3076 + 3, 3084 + 51, 3148 + 35]].concat());
        // A capture: in Black's view e5 is e4 = 28 and d6 is d3 = 19.
        assert_eq!(rest(None, &format!("{moves} e5d6")), [&rights[..], &[3084 + 28, 3212 + 19]].concat());
        // The pawn on e5 is pinned, so en passant is illegal.
        assert_eq!(rest(Some("4r1k1/8/8/3pP3/8/8/8/4K3 w - d6 0 1"), ""), Vec::<u16>::new());
        // Qxf7+: in Black's view f7 is f2 = 13 and h5 is h4 = 31.
        let moves = "e2e4 e7e5 d1h5 a7a6 h5f7";
        assert_eq!(rest(None, moves), [&rights[..], &[3084 + 31, 3212 + 13, 3278]].concat());
    }

    #[test]
    fn castling_is_the_kings_move_and_rights_change_sides_with_the_mirror() {
        // White castles long, e1 to c1. Black's king on g8 needs no mirroring.
        let found = features(Some("6k1/8/8/8/8/8/8/R3K2R w KQ - 0 1"), "e1c1");
        let expected = [3084 + (4 + 56), 3148 + (2 + 56)];
        assert_eq!(found.iter().copied().filter(|f| (3072..3279).contains(f)).collect::<Vec<_>>(), expected);
        // A Chess960 king on b1 is mirrored to g1, which swaps the sides of its rights.
        let found = features(Some("6k1/8/8/8/8/8/8/RK5R w A - 0 1"), "");
        assert!(found.contains(&3072) && !found.contains(&3073));
    }

    #[test]
    fn the_clock_and_the_pieces_are_in_buckets() {
        let last = |fen: &str| {
            let found = features(Some(fen), "");
            [found[found.len() - 2] - 3279, found[found.len() - 1] - 3289]
        };
        for (clock, bucket) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (5, 1),
            (6, 2),
            (12, 3),
            (20, 4),
            (35, 5),
            (64, 6),
            (65, 7),
            (89, 8),
            (90, 9),
            (150, 9),
        ] {
            assert_eq!(last(&format!("4k3/8/8/8/8/8/8/4K3 w - - {clock} 90")), [bucket, 0]);
        }
        assert_eq!(last("4k3/pppp4/8/8/8/8/8/4K3 w - - 0 1"), [0, 1]);
        assert_eq!(last("rnbqkbnr/pppp4/8/8/8/8/PPPP4/RNBQKBNR w - - 0 1"), [0, 5]);
    }
}
