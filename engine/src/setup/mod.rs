//! An [`Engine`] for programs that search, built by an [`EngineBuilder`] or changed option by option.

pub mod strength;
pub mod settings;
mod engine_args;
mod uci_option;
pub mod options;
mod loaded;
mod evaluators;
mod book_and_tables;
mod traffic_log;
mod engine;
mod legal;

pub use self::book_and_tables::{BookAndTables, RootMoves};
pub use self::engine::{Engine, EngineBuilder, SearchRequest, SetupError};
pub use self::engine_args::EngineArgs;
pub use self::evaluators::workers;
pub use self::legal::{first_legal, legal_part};
pub use self::loaded::{LoadError, locate};
pub use self::traffic_log::TrafficLog;
