//! Games on disk: the HDF5 schema `games/1`.
//!
//! A [`Chunk`] is one file's games, in memory and on disk column by column. A [`ChunkWriter`] cuts a
//! stream of games into files; [`inspect()`] proves a file and describes it.

mod chunk;
mod selection;
mod file;
mod import;
mod inspect;
mod writer;
mod harvest;
mod mine;
mod annotate;
mod export_pgn;
mod replay;

pub use annotate::AnnotateArgs;
pub use chunk::Chunk;
pub use export_pgn::ExportPgnArgs;
pub use file::{ChunkError, Layout, layouts, read, write};
pub use harvest::{Hand, Harvest, OutArgs, Store, progress};
pub use import::ImportArgs;
pub use inspect::{InspectArgs, Inspection, inspect};
pub use mine::MineArgs;
pub use selection::{Kind, Selection, UnknownElo};
pub use writer::ChunkWriter;

/// `format` of our files.
pub const FORMAT: &str = "games";
/// `version` of our files.
pub const VERSION: u32 = 1;
