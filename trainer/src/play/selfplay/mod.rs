//! A network's games against itself: many at once, their positions evaluated in shared batches.
//!
//! [`SelfPlayRules`](crate::config::SelfPlayRules) say how the games are played. [`play`] starts workers, each of which
//! drives many games at once (see [`drive`](crate::play::gameplay::drive)), and stores the games as `games/1`: each position
//! with its search's value and, where the search was large enough to learn from, its policy target. A
//! [`SelfPlayWorker`] takes its games from any [`GameSource`] instead, as the threads of a process do that play many units
//! of work together.

mod policy_target;
mod game;
mod stats;
mod play;
#[cfg(test)]
mod tests;

pub use game::{FinishedGame, SelfPlaySetup, check_game, search_again};
pub use play::{
    GameQueue, GameSource, SelfPlayContext, SelfPlayNetworks, SelfPlayPlan, SelfPlayReport, SelfPlayWorker,
    is_others, network_of, play,
};
pub use stats::SelfPlayStats;
