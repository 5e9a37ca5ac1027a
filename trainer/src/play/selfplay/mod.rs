//! Self-play: [`play`] starts worker threads, each of which runs many games with shared batches (see
//! [`drive`](crate::play::gameplay::drive)), and stores the games as `games/1`: every position with its search value
//! and, if its search was large enough, its policy target. A [`SelfPlayWorker`] can take games from any other
//! [`GameSource`], such as several units of work. [`SelfPlayRules`](crate::config::SelfPlayRules) are the settings.

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
