//! All that a program needs to start a search.

/// Limited strength: `UCI_Elo` and `Skill Level`.
pub mod strength;
/// The settings behind the options.
pub mod settings;
mod engine_args;
/// The table of options.
pub mod options;
mod table;
mod loaded;
/// The network, its workers, and the classical players.
pub mod engine;
mod knowledge;

pub use self::engine::{WorkerEvaluators, workers};
pub use self::engine_args::EngineArgs;
pub use self::knowledge::Knowledge;
pub use self::loaded::{LoadError, LoadedNetwork};
