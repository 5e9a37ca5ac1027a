//! `az4672/1`: a move as one of 64 · 73 indices, after AlphaZero (Silver et al. 2018, table S2).

use shakmaty::{Color, Move, Role};

use super::moves::{NO_MOVE, PolicyIndex, joined, seen_by, squares};

pub const NAME: &str = "az4672/1";

pub const SIZE: usize = 64 * TYPES;

/// Per origin: 56 queen-like moves, 8 knight moves, 9 under-promotions.
pub const TYPES: usize = 73;

/// (file, rank) steps of the queen-like types: N NE E SE S SW W NW.
const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

/// (file, rank) steps of types 56–63.
const KNIGHT_STEPS: [(i8, i8); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

pub(super) const UNDERPROMOTIONS: u16 = 64;

pub(super) static SQUARES_TO_INDEX: [[u16; 64]; 64] = squares_to_index();

const fn squares_to_index() -> [[u16; 64]; 64] {
    let mut table = [[NO_MOVE; 64]; 64];
    let mut from = 0;
    while from < 64 {
        let mut kind = 0;
        while kind < 64 {
            let (file_step, rank_step) = if kind < 56 {
                let (file, rank) = DIRECTIONS[kind / 7];
                let distance = (kind % 7 + 1) as i8;
                (file * distance, rank * distance)
            } else {
                KNIGHT_STEPS[kind - 56]
            };
            let file = (from % 8) as i8 + file_step;
            let rank = (from / 8) as i8 + rank_step;
            if file >= 0 && file < 8 && rank >= 0 && rank < 8 {
                table[from][(rank * 8 + file) as usize] = (from * TYPES + kind) as u16;
            }
            kind += 1;
        }
        from += 1;
    }
    table
}

/// A queen promotion has its queen-like move's index. Castling is the king's two-square step if king and rook are on
/// the e-file and the a- or h-file, else king takes rook.
pub fn index(turn: Color, m: Move) -> PolicyIndex {
    let (from, to) = squares(m);
    let (from, to) = (seen_by(turn, from), seen_by(turn, to));
    match underpromotion(m) {
        Some(piece) => {
            let file_step = to.file() as i16 - from.file() as i16;
            let kind = UNDERPROMOTIONS + 3 * piece + (file_step + 1) as u16;
            PolicyIndex((from as usize * TYPES) as u16 + kind)
        }
        None => joined(&SQUARES_TO_INDEX, from, to),
    }
}

/// N B R = 0 1 2; `None` unless an under-promotion.
pub(super) fn underpromotion(m: Move) -> Option<u16> {
    match m.promotion() {
        Some(Role::Knight) => Some(0),
        Some(Role::Bishop) => Some(1),
        Some(Role::Rook) => Some(2),
        _ => None,
    }
}
