//! Matches on paired openings, and their statistics. [`play_match`] plays two [`Contender`]s, every opening with both
//! colours; [`rate`] puts many players on one scale; [`Tournament`] collects results from PGN files.

mod rating;
mod pgn;
mod tournament;
mod contender;
mod game;
mod play;

pub use contender::Contender;
pub use engine::apps::matches::{
    EloEstimate, MatchResults, SprtBounds, SprtDecision, elo_of_score, score_of_elo,
};
pub use game::{MatchSetup, Side, check_match_game, halves_of, search_match_again};
pub use pgn::{PgnGame, read_pgn};
pub use play::{MatchPlan, MatchReport, match_setup, play_match};
pub use rating::{HeadToHead, Rating, rate};
pub use tournament::{PlayerRecord, Tournament};
