//! Reviews of games, as `philidor review` makes them.

mod view;
mod desk;

pub use desk::{Mistake, ReviewCommand, ReviewDesk};
pub use view::{ReviewView, ReviewedPlayer, ReviewedPly};
