//! The board with its game.
//!
//! [`Game`] wraps shakmaty's [`Chess`] with the positions before it, for repetition, the fifty-move rule
//! and the history planes of the encodings. [`PackedMove`] is a move in
//! sixteen bits, the same in the search tree and in game files.

mod game;
mod packed;

pub(crate) use game::GameMark;
pub use game::{DrawReason, Game, Outcome, PastPosition, PositionError, StartPosition};
pub(crate) use game::{hash_after, hash_of, is_standard_castling, scrambled};
pub use packed::PackedMove;
