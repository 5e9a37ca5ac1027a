//! How matches are played and when they end.

use engine::search::Params;
use serde::{Deserialize, Serialize};

/// How the games of a match are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchRules {
    /// Positions to begin with (EPD, FEN or the ends of a PGN's games); empty for the initial position.
    pub book: String,
    /// Random moves from there. Searches leave nothing to chance: only openings make games differ.
    pub random_plies: u32,
    /// Most plies of a game: then it is a draw.
    pub max_plies: usize,
    /// Folders of Syzygy tables, which decide a game that comes to them; empty for none.
    pub syzygy: String,
    /// A side gives up below minus this expected result; 1 or more for never.
    pub resign_threshold: f32,
    /// So many of its positions in a row have to be lost.
    pub resign_moves: usize,
    /// Above 1 flattens the networks' policy.
    pub policy_temperature: f32,
    /// Games at once in each worker.
    pub games: usize,
    /// Threads; 0 for one a core.
    pub workers: usize,
}

impl Default for MatchRules {
    fn default() -> MatchRules {
        MatchRules {
            book: String::new(),
            random_plies: 6,
            max_plies: 400,
            syzygy: String::new(),
            resign_threshold: 1.0,
            resign_moves: 4,
            policy_temperature: Params::default().policy_temperature,
            games: 16,
            workers: 0,
        }
    }
}

impl MatchRules {
    /// Play as it is, but for what needs a clock.
    pub fn params(&self) -> Params {
        Params { policy_temperature: self.policy_temperature, reuse: false, batch: 1, ..Params::default() }
    }

    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        let counts =
            [("games", self.games), ("max_plies", self.max_plies), ("resign_moves", self.resign_moves)];
        if let Some((key, _)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{key} must be at least 1"));
        }
        if self.max_plies > usize::from(u16::MAX) {
            return Err(format!("max_plies is {}, must be at most {}", self.max_plies, u16::MAX));
        }
        if !(self.policy_temperature.is_finite() && self.policy_temperature > 0.0) {
            return Err(format!("policy_temperature is {}, must be positive", self.policy_temperature));
        }
        if !(self.resign_threshold.is_finite() && self.resign_threshold >= 0.0) {
            return Err(format!("resign_threshold is {}, must not be negative", self.resign_threshold));
        }
        Ok(())
    }
}

/// What is tested, and how sure the answer has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sprt {
    /// Elo of the hypothesis that is accepted if nothing was gained.
    pub elo0: f64,
    /// Elo of the hypothesis that is accepted if something was.
    pub elo1: f64,
    /// Chance that elo1 is accepted though elo0 is true.
    pub alpha: f64,
    /// Chance that elo0 is accepted though elo1 is true.
    pub beta: f64,
}

impl Default for Sprt {
    fn default() -> Sprt {
        Sprt { elo0: 0.0, elo1: 35.0, alpha: 0.05, beta: 0.05 }
    }
}

impl Sprt {
    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// One line that names what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !(self.elo0.is_finite() && self.elo1.is_finite() && self.elo0 < self.elo1) {
            return Err(format!("sprt.elo0 is {}, must be below sprt.elo1, {}", self.elo0, self.elo1));
        }
        let fits = |share: f64| share > 0.0 && share < 0.5;
        if fits(self.alpha) && fits(self.beta) {
            Ok(())
        } else {
            Err("sprt.alpha and sprt.beta must be between 0 and 0.5".into())
        }
    }
}
