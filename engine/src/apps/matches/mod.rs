mod results;
mod sprt;

pub use results::{EloEstimate, MatchResults, SCORES, SIGMAS, elo_of_score, score_of_elo};
pub use sprt::{Sprt, SprtBounds, SprtDecision, SprtError};
