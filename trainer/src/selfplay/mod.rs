//! A network's games against itself: many at once, their positions evaluated in shared batches.
//!
//! [`Rules`] say how they are played. A [`Sitting`] is a game in progress that says which evaluator it waits for;
//! [`drive`] plays as many of them at once as fill a batch. [`play`] has workers do that and stores the games as
//! `games/1`, each position with its search's value and, where the search was large enough, what is to be learnt of it.

mod target;
mod game;
mod tally;
mod play;
#[cfg(test)]
mod tests;

pub use play::{Plan, Seats, Session, play};
pub use tally::Tally;
