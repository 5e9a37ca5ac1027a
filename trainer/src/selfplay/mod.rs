//! A network's games against itself: many at once, their positions evaluated in shared batches.
//!
//! [`SelfPlayRules`](crate::config::SelfPlayRules) say how the games are played. [`play`] starts workers, each of which
//! drives many games at once (see [`drive`](crate::gameplay::drive)), and stores the games as `games/1`: each position
//! with its search's value and, where the search was large enough to learn from, its policy target.

mod policy_target;
mod game;
mod stats;
mod play;
#[cfg(test)]
mod tests;

pub use game::{SelfPlaySetup, check_game, search_again};
pub use play::{SelfPlayNetworks, SelfPlayPlan, SelfPlayReport, is_others, network_of, play};
pub use stats::SelfPlayStats;
