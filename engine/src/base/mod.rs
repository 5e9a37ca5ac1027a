//! What every floor uses.

/// Ctrl-C and SIGTERM: the first signal ends a command cleanly, the second at once.
pub mod interrupt;
/// The stdout of a command, whose reader may leave.
pub mod output;
/// Large arrays in large pages.
pub(crate) mod memory;
/// Files written aside, then renamed.
pub mod files;
