//! Self-play: many games at once, with positions evaluated in shared batches.
//!
//! [`SelfPlayRules`](crate::config::SelfPlayRules) are the settings. [`play`] starts worker threads, each of
//! which runs many games (see [`drive`](crate::play::gameplay::drive)), and stores the games as `games/1`:
//! every position with its search value and, where the search was large enough, its policy target. A
//! [`SelfPlayWorker`] can take its games from any other [`GameSource`], as the threads do that play many
//! units of work together.

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
