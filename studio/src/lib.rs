//! Philidor's studio: a local web server whose page plays against engines, shows matches and follows training runs.
//! Each module imports only from those listed before it.

pub mod files;
pub mod boards;
pub mod engines;
pub mod play;
pub mod explorer;
pub mod reviews;
pub mod puzzles;
pub mod matches;
pub mod runs;
pub mod server;
