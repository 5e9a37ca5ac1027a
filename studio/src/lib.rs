//! Philidor's studio: a web server on this machine whose page plays against engines, shows matches
//! between them and follows training runs.
//!
//! The modules are in dependency order: each imports only from those above it.

pub mod files;
/// Boards that are being played on.
pub mod boards;
pub mod engines;
pub mod play;
pub mod reviews;
pub mod matches;
/// Training runs, read while they are written.
pub mod runs;
/// The web server: access, the page's files, events, actions.
pub mod server;
