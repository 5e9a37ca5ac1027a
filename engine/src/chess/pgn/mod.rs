//! PGN (Portable Game Notation): one reader and one writer for all programs.
//!
//! A text is [split](game_starts) into games and these into words, comments and brackets; every move is played on the
//! board. A [`GameVisitor`] sees all of it; [`read_games`] keeps it as a [`MoveTree`], and [`PgnGame::write`] writes it
//! back.
//!
//! Moves are read as by python-chess and pgn-extract: standard and long algebraic notation, `O-O`, `0-0` and `o-o`,
//! promotions without `=`, `e.p.`, `++`, figurines, and German piece letters unless mixed with English ones. A word of
//! the main line that is no move is an error, and nothing of that game is kept.

mod lines;
mod split;
mod moves;
mod lexer;
mod tags;
mod comments;
mod reader;
mod tree;
mod game;
mod write;
#[cfg(test)]
mod tests;

pub use comments::{Shape, seconds, without_commands};
pub use game::{BrokenPgn, PgnGame, read_games};
pub use lines::{TEXT_HEAD, convert_lines, unix_lines, why_no_text, without_byte_order_mark};
pub use moves::{is_chess960, read_move, san_to_move};
pub use reader::{GameVisitor, PgnError, ReadGame, Token, each_game};
pub use split::{ends_with_result, game_starts, last_game_start};
pub use tags::{Tags, decoded, encoded};
pub use tree::{MoveTree, NodeId, Notes, Step};
