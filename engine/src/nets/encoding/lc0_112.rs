//! `lc0-112/1`: Leela's classical input, 112 planes of 8 × 8, mover's view.
//!
//! | planes | content |
//! |---|---|
//! | 13·i + 0–5, 6–11 | i plies ago, i = 0–7: own P N B R Q K, the opponent's, from the current mover's view |
//! | 13·i + 12 | that position was a repetition |
//! | 104–107 | castling rights: own queen side, own king side, theirs, theirs |
//! | 108 | Black is to move |
//! | 109 | half-move clock in plies, unscaled |
//! | 110, 111 | zero; all ones |
//!
//! Missing history is zero if the game started from the initial position. Otherwise the oldest board is repeated, as in
//! lc0 with `HistoryFill` at `fen_only` (`src/neural/encoder.cc`), with a pawn that can be captured en passant back on
//! its origin.

use shakmaty::{Bitboard, CastlingSide, Color, Position, Rank};

use super::planes::{self, castling, pieces, whole, write};
use crate::chess::position::Game;

pub const NAME: &str = "lc0-112/1";

pub const PLANES: usize = 112;

pub const INPUT_SIZE: usize = PLANES * 64;

pub const HISTORY: usize = 8;

pub const CLOCK: usize = 109;

const BOARD: usize = 13;

const REPEATED: usize = 12;
const CASTLING: usize = 104;
const BLACK: usize = 108;
const ONES: usize = 111;

#[derive(Clone, Debug, PartialEq)]
pub struct Planes112 {
    /// a1 = bit 0; all ones for a constant plane.
    pub masks: [u64; PLANES],
    pub clock: f32,
}

impl Planes112 {
    /// `[112, 8, 8]`, a1 first.
    pub fn write(&self, out: &mut [f32]) {
        assert_eq!(out.len(), INPUT_SIZE, "one input tensor");
        for (row, plane) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            write(self.masks[row], if row == CLOCK { self.clock } else { 1.0 }, plane);
        }
    }
}

pub fn encode(game: &Game) -> Planes112 {
    let (position, us) = (game.position(), game.turn());
    let mut masks = [0; PLANES];
    let (boards, rest) = masks.split_at_mut(CASTLING);
    let (boards, _) = boards.as_chunks_mut::<BOARD>();

    for (masks, (board, repetitions)) in boards.iter_mut().zip(planes::boards(game)) {
        pieces(board, us, masks);
        masks[REPEATED] = whole(repetitions > 0);
    }
    if game.ply() < HISTORY - 1 && !game.start().initial {
        let (known, missing) = boards.split_at_mut(game.ply() + 1);
        let mut oldest = known[game.ply()];
        if let Some(target) = game.start().en_passant {
            let pusher = Color::from_white(target.rank() == Rank::Third);
            let pawns = if pusher == us { 0 } else { 6 };
            let target = Bitboard::from(target).0;
            oldest[pawns] ^= target << 8 | target >> 8;
        }
        missing.fill(oldest);
    }
    rest[..4].copy_from_slice(&castling(game, [CastlingSide::QueenSide, CastlingSide::KingSide]));
    masks[BLACK] = whole(us.is_black());
    masks[CLOCK] = u64::MAX;
    masks[ONES] = u64::MAX;
    if us.is_black() {
        masks.iter_mut().for_each(|mask| *mask = mask.swap_bytes());
    }
    Planes112 { masks, clock: position.halfmoves() as f32 }
}
