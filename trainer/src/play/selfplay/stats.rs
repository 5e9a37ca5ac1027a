use engine::base::words::counted;
use serde::{Deserialize, Serialize};

use super::game::FinishedGame;
use crate::config::SelfPlayRules;
use crate::data::record::{FLAG_ADJUDICATED, GameRecord, GameResult};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SelfPlayStats {
    pub games: u64,
    pub plies: u64,
    /// Plies with a policy target.
    pub recorded: u64,
    /// White's wins, draws (including games cut off at `max_plies`) and losses.
    pub results: [u64; 3],
    pub resigned: u64,
    /// Adjudicated for another reason than resignation.
    pub adjudicated: u64,
    /// Played on although a side would have resigned.
    pub would_resign: u64,
    /// Of `would_resign`: games that this side did not lose.
    pub wrong_resigns: u64,
}

impl SelfPlayStats {
    pub fn of(games: impl IntoIterator<Item = GameRecord>, rules: &SelfPlayRules) -> SelfPlayStats {
        let mut stats = SelfPlayStats::default();
        let finished = (0..).zip(games).map(|(number, game)| FinishedGame::stored(number, game, rules));
        finished.for_each(|finished| stats.add(&finished));
        stats
    }

    pub fn add(&mut self, finished: &FinishedGame) {
        let FinishedGame { game, resigned, would_resign, .. } = finished;
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

impl std::fmt::Display for SelfPlayStats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [white, draws, black] = self.results;
        let (games, plies) = (counted(self.games, "game"), counted(self.plies, "ply"));
        write!(f, "{games}, White +{white} ={draws} -{black}, {plies}")?;
        write!(f, ", {} with a policy target; {} resigned", self.recorded, self.resigned)?;
        write!(f, ", {} adjudicated", self.adjudicated)?;
        if self.would_resign > 0 {
            write!(
                f,
                "; resigning would have been wrong in {} of {}",
                self.wrong_resigns, self.would_resign
            )?;
        }
        Ok(())
    }
}
