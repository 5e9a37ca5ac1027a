//! Everything in which networks play games.

/// Openings, and many concurrent games on one thread: shared by self-play and the arena.
pub mod gameplay;
pub mod selfplay;
/// Matches and their statistics.
pub mod arena;
pub mod units;
pub mod rl;
