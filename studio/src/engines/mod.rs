//! UCI engines: which ones there are, what they write, and the child processes that they run in.

mod line;
mod process;
mod roster;

pub use line::{EngineLine, MoveNumbers, OptionSpec};
pub use process::{EngineEvent, EngineHandle, SearchOrder, start};
pub use roster::{EngineSpec, Roster, RosterError};
