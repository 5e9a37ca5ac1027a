//! `uci1968/1` and `uci1968m/1`: 1,968 moves in UCI notation, in the order of chess-alpha-zero.
//!
//! First all moves of a queen or knight on an empty board, by origin (a1, a2 … h8): along rank, file, rising diagonal,
//! falling diagonal, then the knight's. Then promotions, by file, piece (Q R B N) and target (straight on, left,
//! right), each Black's before White's. `uci1968/1` has absolute squares. In `uci1968m/1` ranks are mirrored for Black,
//! which leaves half of the promotions unused. Castling is as in [`az4672`](super::az4672).

use shakmaty::{Color, File, Move, Rank, Role, Square};

use super::moves::{NO_MOVE, PolicyIndex, joined, seen_by, squares};

pub const NAME: &str = "uci1968/1";

pub const MIRRORED: &str = "uci1968m/1";

pub const SIZE: usize = PROMOTIONS as usize + 22 * 4 * 2;

/// The first promotion, `a2a1q`.
const PROMOTIONS: u16 = 1792;

/// (file, rank).
const KNIGHT_STEPS: [(i8, i8); 8] = [(-2, -1), (-1, -2), (-2, 1), (1, -2), (2, -1), (-1, 2), (2, 1), (1, 2)];

static SQUARES_TO_INDEX: [[u16; 64]; 64] = squares_to_index();

const fn squares_to_index() -> [[u16; 64]; 64] {
    let mut table = [[NO_MOVE; 64]; 64];
    let mut next = 0;
    let mut origin = 0;
    while origin < 64 {
        let (file, rank) = (origin / 8, origin % 8);
        let mut target = 0;
        while target < 4 * 15 + 8 {
            let along = target % 15 - 7;
            let (files, ranks) = match target / 15 {
                0 => (along, 0),
                1 => (0, along),
                2 => (along, along),
                3 => (along, -along),
                _ => {
                    let (files, ranks) = KNIGHT_STEPS[(target - 60) as usize];
                    (files as i32, ranks as i32)
                }
            };
            let (to_file, to_rank) = (file + files, rank + ranks);
            let on_board = to_file >= 0 && to_file < 8 && to_rank >= 0 && to_rank < 8;
            if on_board && (files != 0 || ranks != 0) {
                table[(rank * 8 + file) as usize][(to_rank * 8 + to_file) as usize] = next;
                next += 1;
            }
            target += 1;
        }
        origin += 1;
    }
    assert!(next == PROMOTIONS);
    table
}

/// In `uci1968/1`.
pub fn index(m: Move) -> PolicyIndex {
    let (from, to) = squares(m);
    between(from, to, m.promotion())
}

/// In `uci1968m/1`, for the side `turn`.
pub fn index_mirrored(turn: Color, m: Move) -> PolicyIndex {
    let (from, to) = squares(m);
    between(seen_by(turn, from), seen_by(turn, to), m.promotion())
}

fn between(from: Square, to: Square, promotion: Option<Role>) -> PolicyIndex {
    let piece = match promotion {
        Some(Role::Queen) => 0,
        Some(Role::Rook) => 1,
        Some(Role::Bishop) => 2,
        Some(Role::Knight) => 3,
        _ => return joined(&SQUARES_TO_INDEX, from, to),
    };
    let file = from.file() as u16;
    // Each file has three targets, the a- and h-file two.
    let (targets, earlier) =
        (if matches!(from.file(), File::A | File::H) { 2 } else { 3 }, (3 * file).saturating_sub(1));
    let target = match to.file() as i16 - from.file() as i16 {
        0 => 0,
        -1 => 1,
        _ => targets - 1,
    };
    let white = u16::from(to.rank() == Rank::Eighth);
    PolicyIndex(PROMOTIONS + 8 * earlier + 2 * (piece * targets + target) + white)
}
