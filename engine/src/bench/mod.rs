//! The signature, and how fast the evaluator is.
//!
//! [`signature`] searches fixed positions with evaluators that compute in whole numbers, so every
//! machine finds the same; [`speed`] measures the network; [`perft`] counts moves; [`lesson`] has the classical
//! players do what they do in the lesson.

mod hashed;
pub mod lesson;
pub mod perft;
mod positions;
pub mod signature;
pub mod speed;

pub use hashed::Hashed;
pub use positions::POSITIONS;

use crossbeam_channel::{Sender, bounded};

use crate::position::Game;
use crate::search::{Limits, Pool, SearchControl, SearchObserver, SearchOutcome, SearchView};

/// Lets a search run to its limits and hands over the outcome.
struct Await(Sender<SearchOutcome>);

impl SearchObserver for Await {
    fn round(&mut self, _: &dyn SearchView) -> SearchControl {
        SearchControl::Continue { expected_visits: None }
    }

    fn done(&mut self, outcome: SearchOutcome) {
        // The other end waits for exactly this.
        let _ = self.0.send(outcome);
    }
}

/// Searches `game` for a number of visits.
fn search(pool: &mut Pool, game: &Game, visits: u64) -> SearchOutcome {
    let (sender, receiver) = bounded(1);
    pool.clear();
    let limits = Limits { visits: Some(visits), ..Limits::default() };
    pool.start(game.clone(), limits, Box::new(Await(sender)));
    receiver.recv().expect("a search ends with an outcome")
}
