//! `planes14/1`: 14 planes of 8 × 8, the current board as in gym-chess's input. For Black the board is rotated by 180°.
//! No castling rights, counters or side to move.
//!
//! | planes | content |
//! |---|---|
//! | 0–5, 6–11 | own P N B R Q K, the opponent's |
//! | 12, 13 | at least the second occurrence of the position; the third |

use shakmaty::Position;

use super::planes::{pieces, whole};
use crate::chess::position::Game;

pub const NAME: &str = "planes14/1";

/// Networks flatten the tensor to 896 numbers.
pub const PLANES: usize = 14;

const REPEATED: usize = 12;

/// a1 = bit 0, rotated for Black.
pub fn encode(game: &Game) -> [u64; PLANES] {
    let us = game.turn();
    let mut masks = [0; PLANES];
    pieces(game.position().board(), us, &mut masks[..REPEATED]);
    masks[REPEATED] = whole(game.repetitions() > 0);
    masks[REPEATED + 1] = whole(game.repetitions() > 1);
    if us.is_black() {
        masks.iter_mut().for_each(|mask| *mask = mask.reverse_bits());
    }
    masks
}
