//! Games on disk: the HDF5 schema `games/1`. A [`Chunk`] is one file, a [`ChunkWriter`] splits a stream of games into
//! files, and a [`Store`] also keeps unfinished games, so that generation can resume.

mod chunk;
mod selection;
mod paths;
mod hdf5_file;
mod inspect;
mod game_text;
mod writer;
mod journal;
mod store;

pub use chunk::Chunk;
pub use game_text::describe as describe_game;
pub use hdf5_file::{ChunkError, DatasetLayout, read, read_described, read_replayed, write};
pub use inspect::{Inspection, describe as describe_file, inspect, replay_game};
pub use paths::matching;
pub use store::{PendingGame, Store, StoreOptions};
pub use writer::ChunkWriter;

pub const VERSION: u32 = 1;
