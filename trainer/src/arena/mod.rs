//! Matches: players against one another on paired openings, and what their results prove.
//!
//! A [`Contender`] is a network that searches, or one of the engine's classical players. [`contest`] plays two of them
//! against each other, every opening with both colours, many games at once; [`Tally`] counts pairs of games,
//! [`Sprt`] says when they prove enough, [`rate`] puts many players on one scale.

mod tally;
mod sprt;
mod rating;
mod contender;
mod duel;
mod contest;

pub use contender::Contender;
pub use contest::{Contest, Report, contest};
pub use rating::{Meeting, Rating, rate};
pub use sprt::{Bounds, Decision};
pub use tally::{Estimate, Tally, elo_of_score, score_of_elo};
