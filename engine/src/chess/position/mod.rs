//! [`Game`], a shakmaty `Chess` with its history for repetitions and history planes, and [`PackedMove`].

mod game;
mod packed;

use shakmaty::{Chess, Move, Position};

pub(crate) use game::GameMark;
pub use game::{DrawReason, Game, Outcome, PastPosition, PositionError, StartPosition};
pub(crate) use game::{hash_after, hash_of, is_standard_castling, scrambled};
pub use packed::PackedMove;

/// The position after a legal move.
pub(crate) fn played(position: &Chess, m: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}
