//! [`Game`], a shakmaty `Chess` with its history for repetitions and history planes, and [`PackedMove`].

mod game;
mod packed;

pub(crate) use game::GameMark;
pub use game::{DrawReason, Game, Outcome, PastPosition, PositionError, StartPosition};
pub(crate) use game::{hash_after, hash_of, is_standard_castling, scrambled};
pub use packed::PackedMove;
