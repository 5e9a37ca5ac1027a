//! `gauge`: how good networks are, side by side.
//!
//! A [`Player`] is a network as it is judged, alone and searching; `accuracy` asks it for the moves of
//! held-out games, [`Question`]s ask it about single positions: those of tactics suites (`suite`) and the
//! canaries, our own positions by category with their weights (`canary`). `judge` asks them all, `report` lays
//! the answers out as a table. `heatmap` draws what a linear network has learnt.

mod player;
mod tsv;
mod question;
pub(crate) mod suite;
mod canary;
mod judge;
mod report;
mod tally;
pub(crate) mod accuracy;

pub use canary::{CATEGORIES, Category, canaries, weight};
pub use judge::{Item, Verdict, judge};
pub use player::{Found, Opinion, Player};
pub use question::Question;
pub use report::Report;
