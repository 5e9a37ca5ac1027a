//! `planes19/1`: 19 planes of 8 × 8, mover's view, after ChessTRM. No history, counters or en-passant square.
//!
//! | planes | content |
//! |---|---|
//! | 0–5, 6–11 | own P N B R Q K, the opponent's |
//! | 12, 13 | at least the second occurrence of the position; the third |
//! | 14–17 | castling rights: own king side, own queen side, theirs, theirs |
//! | 18 | Black is to move |

use shakmaty::{CastlingSide, Position};

use super::planes::{castling, pieces, whole};
use crate::chess::position::Game;

pub const NAME: &str = "planes19/1";

pub const PLANES: usize = 19;

const REPEATED: usize = 12;
const CASTLING: usize = 14;
const BLACK: usize = 18;

/// a1 = bit 0, mover's view.
pub fn encode(game: &Game) -> [u64; PLANES] {
    let (position, us) = (game.position(), game.turn());
    let mut masks = [0; PLANES];
    pieces(position.board(), us, &mut masks[..REPEATED]);
    masks[REPEATED] = whole(game.repetitions() > 0);
    masks[REPEATED + 1] = whole(game.repetitions() > 1);
    masks[CASTLING..BLACK]
        .copy_from_slice(&castling(game, [CastlingSide::KingSide, CastlingSide::QueenSide]));
    masks[BLACK] = whole(us.is_black());
    if us.is_black() {
        masks.iter_mut().for_each(|mask| *mask = mask.swap_bytes());
    }
    masks
}
