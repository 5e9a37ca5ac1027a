//! PGN (Portable Game Notation): one reader and one writer for all programs.
//!
//! A text is [split](game_starts) into games and these into words, comments and brackets; every move is played on the
//! board. A [`GameVisitor`] sees all of it; [`read_games`] keeps it, and [`PgnGame::write`] writes a game back, with
//! [`Additions`] to its moves.
//!
//! Moves are read as by python-chess and pgn-extract: standard and long algebraic notation, `O-O`, `0-0` and `o-o`,
//! promotions without `=`, `e.p.`, `++`, figurines, and German piece letters unless mixed with English ones. A word of
//! the main line that is no move is an error, and nothing of that game is kept.

mod lines;
mod split;
mod moves;
mod lexer;
mod tags;
mod reader;
mod tree;
mod write;
#[cfg(test)]
mod tests;

pub use lines::{convert_lines, unix_lines, without_byte_order_mark};
pub use moves::{is_chess960, read_move, san_to_move};
pub use reader::{GameVisitor, PgnError, ReadGame, Token, each_game};
pub use split::{game_starts, last_game_start};
pub use tags::{Tags, decoded, encoded};
pub use tree::{BrokenPgn, PgnGame, PgnToken, read_games};
pub use write::{Additions, MoveAdditions};
