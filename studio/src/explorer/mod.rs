//! The explorer: what was played in a position, in imported games and those of the library, and what a book has there.

mod index;
mod desk;

pub use desk::{Explorer, ExplorerView};
pub use index::{GameIndex, MoveCount, PLIES};
