//! Planes of 8 × 8 as bit masks, a1 = bit 0.

use shakmaty::{Board, CastlingSide, Color, Position, Role};

use crate::chess::position::Game;

/// Own P N B R Q K, then the opponent's, in absolute coordinates.
pub(super) fn pieces(board: &Board, us: Color, masks: &mut [u64]) {
    for (offset, role) in Role::ALL.into_iter().enumerate() {
        let squares = board.by_role(role);
        masks[offset] = (squares & board.by_color(us)).0;
        masks[6 + offset] = (squares & board.by_color(!us)).0;
    }
}

pub(super) const fn whole(set: bool) -> u64 {
    if set { u64::MAX } else { 0 }
}

/// Boards, latest first, each with its number of earlier occurrences.
pub(super) fn boards(game: &Game) -> impl Iterator<Item = (&Board, u32)> {
    let past = game.past().iter().rev().map(|past| (&past.board, past.repetitions));
    [(game.position().board(), game.repetitions())].into_iter().chain(past)
}

/// Whole planes: the mover's rights to castle to both `sides`, then the opponent's.
pub(super) fn castling(game: &Game, sides: [CastlingSide; 2]) -> [u64; 4] {
    let us = game.turn();
    let [first, second] = sides;
    [(us, first), (us, second), (!us, first), (!us, second)]
        .map(|(color, side)| whole(game.position().castles().has(color, side)))
}

/// `[planes, 8, 8]`, a1 first.
pub(super) fn write_all(masks: &[u64], out: &mut [f32]) {
    assert_eq!(out.len(), masks.len() * 64, "one input tensor");
    masks.iter().zip(out.as_chunks_mut().0).for_each(|(mask, plane)| write(*mask, 1.0, plane));
}

#[inline]
pub(super) fn write(mask: u64, value: f32, plane: &mut [f32; 64]) {
    match mask {
        0 => plane.fill(0.0),
        u64::MAX => plane.fill(value),
        _ => spread(mask, value, plane),
    }
}

/// Writes eight squares at a time, for vectorisation.
#[inline]
fn spread(mask: u64, value: f32, plane: &mut [f32; 64]) {
    for (squares, byte) in plane.as_chunks_mut::<8>().0.iter_mut().zip(mask.to_le_bytes()) {
        for (bit, square) in squares.iter_mut().enumerate() {
            *square = if byte >> bit & 1 == 1 { value } else { 0.0 };
        }
    }
}
