//! Games played by networks.

/// Openings, and many concurrent games on one thread: shared by self-play and the arena.
pub mod gameplay;
pub mod selfplay;
pub mod arena;
pub mod units;
pub mod rl;
