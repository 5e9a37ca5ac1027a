use anyhow::{Result, bail};
use engine::search::{Params, Puct};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;

/// Rules of self-play games. Defaults are NeuralMatePlay's unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelfPlayRules {
    /// Visits of a full search, whose policy is a training target.
    pub visits: u64,
    /// Chooses a full or a small search at random for each move.
    pub playout_cap: PlayoutCap,
    pub noise: NoiseRules,
    /// Gumbel search at the root, for few visits. It replaces Dirichlet noise and pruning.
    pub gumbel: GumbelRules,
    /// Policy target pruning: removes visits that only noise caused (Wu 2019).
    pub prune: bool,
    pub temperature: TemperatureRules,
    pub search: SearchRules,
    pub resign: ResignRules,
    /// Opening book (EPD, FEN, or the final positions of a PGN's games). Empty: the initial position.
    pub book: String,
    /// Random plies after the opening.
    pub random_plies: u32,
    /// A game of this many plies is cut off.
    pub max_plies: usize,
    /// Whether a cut-off game is a draw. Otherwise it has no result, lest a weak network learn that everything is
    /// drawn.
    pub cut_is_draw: bool,
    /// Folders of Syzygy tables for adjudication; empty for none.
    pub syzygy: String,

    /// Parallel games per worker. The batch size is `games · leaves`.
    pub games: usize,
    /// Leaves per game and batch. More than one costs a little search quality.
    pub leaves: usize,
    /// Threads, each with its own inference session; 0 for one per core.
    pub workers: usize,
    /// Evaluation cache per worker in MiB; 0 for none.
    pub cache: usize,
}

/// Playout-cap randomisation (Wu 2019, Accelerating Self-Play Learning in Go, section 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlayoutCap {
    /// Share of moves that get a full search, with noise and a policy target; 1 for all.
    pub share: f64,
    /// Visits of a small search.
    pub visits: u64,
}

/// Dirichlet noise on the root priors of full searches (Silver et al. 2017).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoiseRules {
    /// Concentration: larger values give more even noise.
    pub alpha: f32,
    /// Weight of the noise in the priors; 0 for none.
    pub epsilon: f32,
}

/// Gumbel search (Danihelka et al. 2022), also for the move played and the policy target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GumbelRules {
    /// Most moves considered at the root; 0 for PUCT with noise.
    pub considered: usize,
    /// σ(q) = (c_visit + max visits) · c_scale · q.
    pub c_visit: f32,
    /// Weight of Q in σ, see `c_visit`.
    pub c_scale: f32,
}

impl Default for GumbelRules {
    fn default() -> GumbelRules {
        GumbelRules { considered: 0, c_visit: 50.0, c_scale: 1.0 }
    }
}

/// A move is sampled in proportion to visits^(1/temperature). In Gumbel search, temperature scales the Gumbel noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TemperatureRules {
    /// Temperature in the opening.
    pub opening: f32,
    /// Length of the opening in plies.
    pub plies: usize,
    /// Temperature after the opening.
    pub later: f32,
}

/// Search parameters that differ from normal play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRules {
    /// Base PUCT constant; grows with the visits as in normal play.
    pub c_puct: f32,
    /// FPU reduction: an unvisited move's Q is the parent's Q minus this.
    pub fpu: f32,
    /// Softmax temperature of the priors; above 1 flattens them.
    pub policy_temperature: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResignRules {
    /// A position counts as lost if its Q is below minus this. 1 or more disables resignation.
    pub threshold: f32,
    /// Consecutive lost positions after which a side resigns.
    pub moves: usize,
    /// Share of games without resignation, to measure how often resigning is wrong.
    pub played_on: f64,
}

impl Default for SelfPlayRules {
    fn default() -> SelfPlayRules {
        SelfPlayRules {
            visits: 800,
            playout_cap: PlayoutCap::default(),
            noise: NoiseRules::default(),
            gumbel: GumbelRules::default(),
            prune: true,
            temperature: TemperatureRules::default(),
            search: SearchRules::default(),
            resign: ResignRules::default(),
            book: String::new(),
            random_plies: 0,
            max_plies: 400,
            cut_is_draw: true,
            syzygy: String::new(),
            games: 32,
            leaves: 1,
            workers: 0,
            cache: 64,
        }
    }
}

impl Default for PlayoutCap {
    fn default() -> PlayoutCap {
        PlayoutCap { share: 1.0, visits: 100 }
    }
}

impl Default for NoiseRules {
    fn default() -> NoiseRules {
        NoiseRules { alpha: 0.3, epsilon: 0.25 }
    }
}

impl Default for TemperatureRules {
    fn default() -> TemperatureRules {
        TemperatureRules { opening: 1.0, plies: 30, later: 0.1 }
    }
}

impl Default for SearchRules {
    fn default() -> SearchRules {
        SearchRules { c_puct: 1.5, fpu: 0.33, policy_temperature: 1.0 }
    }
}

impl Default for ResignRules {
    fn default() -> ResignRules {
        ResignRules { threshold: 0.95, moves: 3, played_on: 0.1 }
    }
}

impl SelfPlayRules {
    /// An error begins with the key.
    pub fn check(&self) -> Result<()> {
        bounds::shares(&[
            ("playout_cap.share", self.playout_cap.share, 1.0),
            ("noise.epsilon", f64::from(self.noise.epsilon), 1.0),
            ("resign.played_on", self.resign.played_on, 1.0),
        ])?;
        if self.playout_cap.share == 0.0 {
            bail!("playout_cap.share is 0: no move would have a policy target");
        }
        let counts = [
            ("visits", 2, self.visits, bounds::MAX_VISITS),
            ("playout_cap.visits", 2, self.playout_cap.visits, bounds::MAX_VISITS),
            ("games", 1, self.games as u64, bounds::MAX_AT_ONCE),
            ("leaves", 1, self.leaves as u64, bounds::MAX_LEAVES),
            ("workers", 0, self.workers as u64, bounds::MAX_THREADS),
            ("cache", 0, self.cache as u64, bounds::MAX_CACHE),
            ("random_plies", 0, u64::from(self.random_plies), bounds::MAX_RANDOM_PLIES),
            ("max_plies", 1, self.max_plies as u64, bounds::MAX_PLIES),
            ("resign.moves", 1, self.resign.moves as u64, bounds::MAX_PLIES),
            ("gumbel.considered", 0, self.gumbel.considered as u64, 256),
        ];
        bounds::in_range(&counts)?;
        bounds::not_negative(&[
            ("temperature.opening", self.temperature.opening),
            ("temperature.later", self.temperature.later),
            ("search.c_puct", self.search.c_puct),
            ("search.fpu", self.search.fpu),
            ("gumbel.c_visit", self.gumbel.c_visit),
            ("gumbel.c_scale", self.gumbel.c_scale),
            ("resign.threshold", self.resign.threshold),
        ])?;
        bounds::positive(&[
            ("noise.alpha", self.noise.alpha),
            ("search.policy_temperature", self.search.policy_temperature),
        ])?;
        bounds::fit_together(self.games, self.leaves, self.workers, self.tree_memory())
    }

    /// Without smart pruning and tree reuse, so that every target comes from exactly `visits` visits.
    pub fn params(&self) -> Params {
        let SearchRules { c_puct, fpu, policy_temperature } = self.search;
        Params {
            puct: Puct { c: c_puct, ..Puct::default() },
            fpu,
            policy_temperature,
            root_policy_temperature: policy_temperature,
            reply_policy_temperature: policy_temperature,
            reuse: false,
            smart_pruning: 0.0,
            batch: self.leaves,
            ..Params::default()
        }
    }

    pub fn tree_memory(&self) -> usize {
        tree_memory(self.visits.max(self.playout_cap.visits))
    }
}

/// 1 KiB a visit (the node and its moves) and 256 KiB of spare.
pub fn tree_memory(visits: u64) -> usize {
    (1 << 18) + 1024 * visits as usize
}

/// 0 is one per core.
pub fn worker_count(workers: usize) -> usize {
    if workers > 0 { workers } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_rules_are_refused() {
        assert!(SelfPlayRules::default().check().is_ok());
        let error = |change: &dyn Fn(&mut SelfPlayRules)| {
            let mut rules = SelfPlayRules::default();
            change(&mut rules);
            rules.check().unwrap_err().to_string()
        };
        assert!(error(&|rules| rules.playout_cap.share = 0.0).contains("playout_cap.share"));
        assert!(error(&|rules| rules.visits = 1).starts_with("visits is 1"));
        assert!(error(&|rules| rules.playout_cap.visits = 1).starts_with("playout_cap.visits"));
        assert!(error(&|rules| rules.search.policy_temperature = 0.0).contains("policy_temperature"));
        // Values that would take all memory or run forever.
        let huge = usize::MAX;
        assert_eq!(
            error(&|rules| rules.visits = 1 << 60),
            "visits is 1152921504606846976, must be at most 1000000"
        );
        assert!(error(&|rules| rules.playout_cap.visits = u64::MAX).starts_with("playout_cap.visits is "));
        assert!(error(&|rules| rules.games = huge).ends_with("must be at most 16384"));
        assert!(error(&|rules| rules.leaves = huge).starts_with("leaves is "));
        assert_eq!(error(&|rules| rules.workers = 100_000), "workers is 100000, must be at most 256");
        assert!(error(&|rules| rules.cache = huge).starts_with("cache is "));
        assert!(error(&|rules| rules.random_plies = u32::MAX).starts_with("random_plies is "));
        assert_eq!(error(&|rules| rules.max_plies = 0), "max_plies is 0, must be at least 1");
        assert!(
            error(&|rules| (rules.games, rules.leaves) = (1 << 14, 8)).starts_with("games times leaves is ")
        );
        let together = error(&|rules| (rules.games, rules.workers, rules.visits) = (256, 8, 1_000_000));
        assert!(together.contains("games times workers times visits take 1953 GiB"), "{together}");
    }
}
