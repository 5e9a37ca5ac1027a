//! Statistics of matches: pairs of games, the Elo difference that they show, and the sequential test.

mod results;
mod sprt;

pub use results::{EloEstimate, MatchResults, SCORES, SIGMAS, elo_of_score, score_of_elo};
pub use sprt::{Sprt, SprtBounds, SprtDecision, SprtError};
