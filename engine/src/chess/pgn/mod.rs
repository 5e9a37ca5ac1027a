//! Games in PGN (Portable Game Notation).
//!
//! [`each_game`] reads the games of a text with a visitor of pgn-reader, after repairing common errors; [`read_games`]
//! keeps everything in them: tags, variations, comments and NAGs. [`PgnGame::write`] writes a game back, with
//! [`Additions`] to its moves.

mod split;
mod repair;
mod moves;
mod section;
mod tree;
mod write;

pub use moves::{is_chess960, read_move, san_to_move};
pub use section::{GameVisitor, ReadGame, each_game};
pub use split::{game_starts, last_game_start, without_byte_order_mark};
pub use tree::{BrokenPgn, PgnGame, PgnToken, read_games};
pub use write::{Additions, MoveAdditions};
