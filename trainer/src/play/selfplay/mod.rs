//! Self-play: each worker thread of [`play()`] runs many games with shared batches (see
//! [`drive`](crate::play::gameplay::drive)). A [`SelfPlayWorker`] takes games from any [`GameSource`], such as several
//! units of work.

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
