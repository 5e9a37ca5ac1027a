//! What every floor uses.

/// Ctrl-C: the first ends a command cleanly, the second at once.
pub mod interrupt;
/// Large arrays in large pages.
pub(crate) mod memory;
/// Files written aside, then renamed.
pub mod files;
