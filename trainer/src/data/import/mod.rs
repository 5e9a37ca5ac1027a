//! Games from PGN, puzzle tables and arrays. [`read_games`] reads files in parallel.

mod blocks;
mod pgn;
mod puzzles;
mod arrays;
mod reader;

pub use blocks::Compression;
pub(crate) use blocks::{is_regular, is_stream, read_text};
pub(crate) use pgn::start_position;
pub use pgn::{BrokenGame, Exclusion, GameError};
pub(crate) use reader::games_of_text;
pub use reader::{Filters, ImportError, ReadEvent, ReadOptions, ReadReport, read_games};
