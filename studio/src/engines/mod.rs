//! UCI engines: the list of them, and their child processes.

mod process;
mod roster;

pub use engine::apps::uci_client::{MoveNumbers, OptionSpec};
pub use process::{EngineEvent, EngineHandle, SearchOrder, start};
pub use roster::{EngineSpec, Roster, RosterError};
