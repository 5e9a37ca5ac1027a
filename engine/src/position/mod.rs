//! The board and what a game adds to it.
//!
//! [`Game`] wraps shakmaty's [`Chess`] with the positions before it, so that repetition, the
//! fifty-move rule and the history planes of the encodings are known. [`PackedMove`] is a move in
//! sixteen bits, the same in the search tree and in game files.

mod game;
mod packed;

pub(crate) use game::is_standard_castling;
pub use game::{DrawReason, Game, Outcome, Past, PositionError, Start};
pub use packed::PackedMove;
