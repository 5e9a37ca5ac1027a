//! Training runs, whose folders are read while they are written.

mod thin;
mod series;
mod smooth;
mod rl;
mod live;
mod follow;
mod control;
mod order;
mod load;
mod board;

pub use board::{RunBoard, RunFolders, RunView};
pub use control::{RunCommand, RunControl, Trainers};
pub use follow::{Looked, RunFollower, RunKind};
pub use live::LiveFollower;
pub use load::{LoadView, MachineLoad};
pub use order::{KeysQuery, RunOrder, networks_in, runs_in};
pub use rl::{ArenaIteration, ArenaRow, RatedNetwork, RlBounds, RlFacts, RlView};
pub use series::{Point, RunSeries};
pub use thin::thinned;
