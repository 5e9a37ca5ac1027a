//! Games of networks.

/// Shared by self-play and the arena: openings, many games at once on one thread.
pub mod gameplay;
/// Games of a network against itself.
pub mod selfplay;
/// Matches of networks and classical players, and their statistics.
pub mod arena;
/// Units of work as values, done by this process or on other machines.
pub mod units;
/// Reinforcement learning: self-play, training and gates in a loop.
pub mod rl;
