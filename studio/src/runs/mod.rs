//! Training runs: their folders are read while they are written.

mod series;
mod thin;
mod follow;
mod board;

pub use board::{RunBoard, RunView};
pub use follow::{RunFollower, RunKind};
pub use series::{Point, RunSeries};
pub use thin::thinned;
