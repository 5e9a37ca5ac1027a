//! Matches between two engines: openings, games with colours reversed, the score.

mod openings;
mod score;
mod runner;

pub use openings::{MatchOpening, openings};
pub use runner::{MatchCommand, MatchHandle, MatchOrder, start as start_matches};
pub use score::{MatchScore, Rated};
