//! `planes119/1`: gym-chess's whole input, 119 planes of 8 × 8 in its order, but as `[119, 8, 8]` instead of `[8, 8,
//! 119]`. For Black the boards are rotated by 180°.
//!
//! | planes | content |
//! |---|---|
//! | 14·i + 0–5, 6–11 | i plies ago, i = 0–7: own P N B R Q K, the opponent's, from the current mover's view |
//! | 14·i + 12, 13 | at least the second occurrence of that position; the third |
//! | 112 | White is to move |
//! | 113 | full-move number, unscaled |
//! | 114–117 | castling rights: own king side, own queen side, theirs, theirs |
//! | 118 | half-move clock in plies, unscaled |
//!
//! Missing history is zero.

use shakmaty::{CastlingSide, Position};

use super::planes::{boards, castling, pieces, whole, write};
use crate::chess::position::Game;

pub const NAME: &str = "planes119/1";

pub const PLANES: usize = 119;

pub const INPUT_SIZE: usize = PLANES * 64;

const BOARD: usize = 14;

const REPEATED: usize = 12;
const WHITE: usize = 112;
const MOVE_NUMBER: usize = 113;
const CASTLING: usize = 114;
const CLOCK: usize = 118;

#[derive(Clone, Debug, PartialEq)]
pub struct Planes119 {
    /// a1 = bit 0, rotated for Black; all ones for a constant plane.
    pub masks: [u64; PLANES],
    /// Planes 113 and 118: full-move number, half-move clock in plies.
    pub scalars: [f32; 2],
}

impl Planes119 {
    /// `[119, 8, 8]`, a1 first.
    pub fn write(&self, out: &mut [f32]) {
        assert_eq!(out.len(), INPUT_SIZE, "one input tensor");
        for (row, plane) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            let value = match row {
                MOVE_NUMBER => self.scalars[0],
                CLOCK => self.scalars[1],
                _ => 1.0,
            };
            write(self.masks[row], value, plane);
        }
    }
}

pub fn encode(game: &Game) -> Planes119 {
    let (position, us) = (game.position(), game.turn());
    let mut masks = [0; PLANES];
    for (masks, (board, repetitions)) in
        masks[..WHITE].as_chunks_mut::<BOARD>().0.iter_mut().zip(boards(game))
    {
        pieces(board, us, masks);
        masks[REPEATED] = whole(repetitions > 0);
        masks[REPEATED + 1] = whole(repetitions > 1);
    }
    masks[WHITE] = whole(us.is_white());
    masks[MOVE_NUMBER] = u64::MAX;
    masks[CASTLING..CLOCK]
        .copy_from_slice(&castling(game, [CastlingSide::KingSide, CastlingSide::QueenSide]));
    masks[CLOCK] = u64::MAX;
    if us.is_black() {
        masks.iter_mut().for_each(|mask| *mask = mask.reverse_bits());
    }
    let scalars = [position.fullmoves().get() as f32, position.halfmoves() as f32];
    Planes119 { masks, scalars }
}
