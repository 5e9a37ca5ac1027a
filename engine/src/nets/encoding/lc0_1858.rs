//! `lc0-1858/1`: Leela's 1,858 moves, ranks mirrored for Black.
//!
//! First all moves of a queen or knight on an empty board, by origin, then target (a1, b1 … h8); then promotions to
//! queen, rook and bishop in the same order. A knight promotion has the plain move's index. Castling is king takes
//! rook.

use shakmaty::{Color, Move, Role};

use super::moves::{NO_MOVE, PolicyIndex, joined, king_takes_rook, seen_by};

pub const NAME: &str = "lc0-1858/1";

pub const SIZE: usize = PROMOTIONS as usize + 66;

/// The first promotion, `a7a8q`.
const PROMOTIONS: u16 = 1792;

static SQUARES_TO_INDEX: [[u16; 64]; 64] = squares_to_index();

const fn squares_to_index() -> [[u16; 64]; 64] {
    let mut table = [[NO_MOVE; 64]; 64];
    let mut next = 0;
    let mut from: usize = 0;
    while from < 64 {
        let mut to: usize = 0;
        while to < 64 {
            let (files, ranks) = ((from % 8).abs_diff(to % 8), (from / 8).abs_diff(to / 8));
            let queen = files == 0 || ranks == 0 || files == ranks;
            if from != to && (queen || files * ranks == 2) {
                table[from][to] = next;
                next += 1;
            }
            to += 1;
        }
        from += 1;
    }
    assert!(next == PROMOTIONS);
    table
}

pub fn index(turn: Color, m: Move) -> PolicyIndex {
    let (from, to) = king_takes_rook(m);
    let (from, to) = (seen_by(turn, from), seen_by(turn, to));
    let promotion = match m.promotion() {
        Some(Role::Queen) => 0,
        Some(Role::Rook) => 1,
        Some(Role::Bishop) => 2,
        _ => return joined(&SQUARES_TO_INDEX, from, to),
    };
    // Each file has three targets, the a-file two.
    let pair = 2 * from.file() as u16 + to.file() as u16;
    PolicyIndex(PROMOTIONS + 3 * pair + promotion)
}
