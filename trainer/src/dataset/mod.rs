//! Games on disk: the HDF5 schema `games/1`.
//!
//! A [`Chunk`] is one file's games, in memory and on disk column by column. A [`ChunkWriter`] cuts a
//! stream of games into files; [`inspect()`] checks a file and describes it; a [`Store`] keeps unfinished games beside
//! the finished ones, so that whatever makes games can be interrupted and resumed.

mod chunk;
mod selection;
mod file;
mod inspect;
mod game_text;
mod writer;
mod store;

pub use chunk::Chunk;
pub use file::{ChunkError, DatasetLayout, layouts, read, write};
pub use game_text::describe as describe_game;
pub use inspect::{Inspection, describe as describe_file, inspect, replay_game};
pub use store::{PendingGame, Store, StoreOptions};
pub use writer::ChunkWriter;

/// `format` of our files.
pub const FORMAT: &str = "games";
/// `version` of our files.
pub const VERSION: u32 = 1;
