//! Matches between two engines, and matches of other programs followed through their PGN.

mod order;
mod openings;
mod standing;
mod minds;
mod lane;
mod replay;
mod saved;
mod view;
mod earlier;
mod runner;
mod follow;

pub use earlier::EarlierMatch;
pub use follow::{FollowedMatches, FollowedView};
pub use openings::{OpeningBook, OpeningFileError};
pub use order::{MatchOrder, ThinkingTime};
pub use replay::ReplayView;
pub use runner::{MatchCommand, MatchHandle, start as start_matches};
pub use saved::SavedMatchError;
pub use standing::{LlrView, Standing};
pub use view::{FinishedGame, MatchPhase, MatchView};
