use anyhow::Result;
pub use engine::apps::matches::Sprt;
use engine::search::Params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;
use super::selfplay::tree_memory;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MatchRules {
    /// Opening book (EPD, FEN, or the final positions of a PGN's games). Empty: the initial position.
    pub book: String,
    /// Random plies after the opening. Searches are deterministic, so only openings make games differ.
    pub random_plies: u32,
    /// A game of this many plies is a draw.
    pub max_plies: usize,
    /// Folders of Syzygy tables for adjudication; empty for none.
    pub syzygy: String,
    /// A position counts as lost if its Q is below minus this. 1 or more disables resignation.
    pub resign_threshold: f32,
    /// Consecutive lost positions after which a side resigns.
    pub resign_moves: usize,
    /// Softmax temperature of the priors; above 1 flattens them.
    pub policy_temperature: f32,
    /// Parallel games per worker.
    pub games: usize,
    /// Threads; 0 for one per core.
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
    /// Parameters of normal play, without tree reuse and with batches of one.
    pub fn params(&self) -> Params {
        Params {
            policy_temperature: self.policy_temperature,
            root_policy_temperature: self.policy_temperature,
            reply_policy_temperature: self.policy_temperature,
            reuse: false,
            batch: 1,
            ..Params::default()
        }
    }

    /// Also checks that searches of `visits` visits fit into memory.
    pub fn check_visits(&self, visits: u64) -> Result<()> {
        self.check()?;
        bounds::in_range(&[("visits", 1, visits, bounds::MAX_VISITS)])?;
        bounds::fit_together(self.games, 1, self.workers, tree_memory(visits))
    }

    pub fn check(&self) -> Result<()> {
        bounds::in_range(&[
            ("games", 1, self.games as u64, bounds::MAX_AT_ONCE),
            ("workers", 0, self.workers as u64, bounds::MAX_THREADS),
            ("random_plies", 0, u64::from(self.random_plies), bounds::MAX_RANDOM_PLIES),
            ("max_plies", 1, self.max_plies as u64, bounds::MAX_PLIES),
            ("resign_moves", 1, self.resign_moves as u64, bounds::MAX_PLIES),
        ])?;
        bounds::positive(&[("policy_temperature", self.policy_temperature)])?;
        bounds::not_negative(&[("resign_threshold", self.resign_threshold)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_take_all_memory_are_refused() {
        let error = |change: &dyn Fn(&mut MatchRules), visits| {
            let mut rules = MatchRules { workers: 1, ..MatchRules::default() };
            change(&mut rules);
            rules.check_visits(visits).unwrap_err().to_string()
        };
        assert!(error(&|rules| rules.games = usize::MAX, 1).starts_with("games is "));
        assert_eq!(error(&|rules| rules.workers = 1 << 20, 1), "workers is 1048576, must be at most 256");
        assert_eq!(error(&|_| (), 1 << 40), "visits is 1099511627776, must be at most 1000000");
        assert!(error(&|rules| rules.games = 1024, 1_000_000).contains("games times workers times visits"));
        assert!(MatchRules::default().check_visits(10_000).is_ok());
    }
}
