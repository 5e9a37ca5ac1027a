//! `gym4672/1`: gym-chess's form of AlphaZero's moves, the board rotated by 180° for Black.
//!
//! The index is `(rank · 8 + file) · 73 + plane` of the origin. Planes 0–63 and castling are as in
//! [`az4672`](super::az4672); under-promotions are 64 + 3 · (file step + 1) + (N, B, R).

use shakmaty::{Color, Move, Square};

use super::az4672::{SQUARES_TO_INDEX, TYPES, UNDERPROMOTIONS, underpromotion};
use super::moves::{PolicyIndex, joined, squares};

pub const NAME: &str = "gym4672/1";

pub const SIZE: usize = super::az4672::SIZE;

pub fn index(turn: Color, m: Move) -> PolicyIndex {
    let rotated = |square: Square| if turn.is_white() { square } else { square.rotate_180() };
    let (from, to) = squares(m);
    let (from, to) = (rotated(from), rotated(to));
    match underpromotion(m) {
        Some(piece) => {
            let step = to.file() as i16 - from.file() as i16;
            PolicyIndex((from as usize * TYPES) as u16 + UNDERPROMOTIONS + 3 * (step + 1) as u16 + piece)
        }
        None => joined(&SQUARES_TO_INDEX, from, to),
    }
}
