//! UCI engines: which ones there are, and the child processes that they run in.

mod process;
mod roster;

pub use engine::apps::uci_client::{MoveNumbers, OptionSpec};
pub use process::{EngineEvent, EngineHandle, SearchOrder, start};
pub use roster::{EngineSpec, Roster, RosterError};
