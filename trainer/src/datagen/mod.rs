//! Games and evaluations from UCI engines, and games from the web.
//!
//! A [`UciEngine`] is an engine as a child process. A [`Miner`] has it play against itself, [`annotate`] has it evaluate
//! games that exist; [`harvest`] runs several of them at once. [`fetch`] downloads a player's games.

mod uci_engine;
mod choice;
mod starts;
mod mine;
mod workers;
/// A player's games of a month, from the public interfaces of Chess.com and Lichess.
pub mod fetch;

pub use choice::Choice;
pub use mine::{Miner, annotate};
pub use starts::{StartError, StartRules, Starts};
pub use uci_engine::{Course, EngineCommand, EngineError, Limit, Line, UciEngine};
pub use workers::{Harvest, Work, harvest};
