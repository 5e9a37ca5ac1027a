//! What games of self-play have come to.

use serde::{Deserialize, Serialize};

use super::game::Finished;
use crate::config::Rules;
use crate::record::{FLAG_ADJUDICATED, GameRecord, GameResult};

/// Sums over games.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Games that are over, …
    pub games: u64,
    /// … their moves, …
    pub plies: u64,
    /// … and of these the ones whose search is to be learnt.
    pub recorded: u64,
    /// White's wins, draws (with games that were cut short), and losses.
    pub results: [u64; 3],
    /// Games that ended by giving up, …
    pub resigned: u64,
    /// … and by other decisions.
    pub adjudicated: u64,
    /// Games that were played on although a side would have given up, …
    pub would_resign: u64,
    /// … of which it did not lose so many.
    pub wrong_resigns: u64,
}

impl Tally {
    /// Counts stored games, which were played by these rules.
    pub fn of(games: impl IntoIterator<Item = GameRecord>, rules: &Rules) -> Tally {
        let mut tally = Tally::default();
        let finished = (0..).zip(games).map(|(number, game)| Finished::stored(number, game, rules));
        finished.for_each(|finished| tally.add(&finished));
        tally
    }

    /// Counts a game.
    pub fn add(&mut self, finished: &Finished) {
        let Finished { game, resigned, would_resign, .. } = finished;
        self.games += 1;
        self.plies += game.moves.len() as u64;
        self.recorded += game.searches.iter().filter(|searched| !searched.shares.is_empty()).count() as u64;
        match game.result {
            GameResult::White => self.results[0] += 1,
            GameResult::Draw | GameResult::Unknown => self.results[1] += 1,
            GameResult::Black => self.results[2] += 1,
        }
        self.resigned += u64::from(resigned.is_some());
        self.adjudicated += u64::from(resigned.is_none() && game.flags & FLAG_ADJUDICATED != 0);
        if let Some(loser) = would_resign {
            self.would_resign += 1;
            self.wrong_resigns += u64::from(game.result != GameResult::won_by(!*loser));
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [white, draws, black] = self.results;
        write!(f, "{} games, White +{white} ={draws} -{black}, {} plies", self.games, self.plies)?;
        write!(f, ", {} to learn from; {} given up", self.recorded, self.resigned)?;
        write!(f, ", {} adjudicated", self.adjudicated)?;
        if self.would_resign > 0 {
            write!(
                f,
                "; giving up would have been wrong in {} of {}",
                self.wrong_resigns, self.would_resign
            )?;
        }
        Ok(())
    }
}
