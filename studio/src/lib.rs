//! Philidor's studio: a local web server whose page plays against engines, shows matches and follows training runs.
//! Each module imports only from those listed before it.

pub mod files;
/// Live boards.
pub mod boards;
pub mod engines;
pub mod play;
pub mod reviews;
pub mod matches;
/// Training runs, read while they are written.
pub mod runs;
/// The web server: access control, the page's files, events, actions.
pub mod server;
