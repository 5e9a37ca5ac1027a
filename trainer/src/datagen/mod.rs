//! Games and evaluations from UCI engines, and games from the web.
//!
//! A [`UciEngine`] is an engine as a child process. A [`Miner`] has it play against itself, [`annotate`] has it evaluate
//! games that exist; [`harvest`] runs several of them at once. [`fetch`] downloads a player's games.

mod uci_engine;
mod move_choice;
mod start_positions;
mod mine;
mod engine_pool;
/// A player's games of a month, from the public interfaces of Chess.com and Lichess.
pub mod fetch;

pub use engine_pool::{DatagenSummary, EngineTask, run_tasks};
pub use mine::{Miner, annotate};
pub use move_choice::MoveChoice;
pub use start_positions::{StartError, StartPositions, StartRules};
pub use uci_engine::{EngineCommand, EngineError, Limit, ScoredMove, UciEngine, UciPosition};
