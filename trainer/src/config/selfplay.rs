//! How a network plays against itself.

use engine::search::{Fpu, Params, Puct};
use serde::{Deserialize, Serialize};

/// How games of self-play are played. The defaults are NeuralMatePlay's unless said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Visits of a search whose policy is to be learnt.
    pub visits: u64,
    /// Few visits for most moves, many for those that are to be learnt.
    pub playout_cap: PlayoutCap,
    /// Noise on the root's priors in searches that are to be learnt.
    pub noise: NoiseRules,
    /// Gumbel's search at the root, for few visits; instead of noise and pruning.
    pub gumbel: GumbelRules,
    /// Visits that only noise has brought are left out of the policy to be learnt (Wu 2019).
    pub prune: bool,
    /// How much chance has in the choice of the move.
    pub temperature: TemperatureRules,
    /// How the tree grows.
    pub search: SearchRules,
    /// When a lost game is given up.
    pub resign: ResignRules,
    /// Positions to begin with (EPD, FEN or the ends of a PGN's games); empty for the initial position.
    pub book: String,
    /// Random moves from there.
    pub random_plies: u32,
    /// Most plies of a game, …
    pub max_plies: usize,
    /// … which is a draw then, or else has no result: networks that know little would learn that everything is drawn.
    pub cut_is_draw: bool,
    /// Folders of Syzygy tables, which decide a game that comes to them; empty for none.
    pub syzygy: String,

    /// Games at once in each worker: as many positions fill a batch.
    pub games: usize,
    /// Positions that a game gives to a batch; more than one costs a little of a search's quality.
    pub leaves: usize,
    /// Threads, each with a session of its own; 0 for one a core.
    pub workers: usize,
    /// MiB in which each worker keeps evaluations; 0 for none.
    pub cache: usize,
}

/// Playout-cap randomisation (Wu 2019, Accelerating Self-Play Learning in Go, section 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlayoutCap {
    /// The share of moves that are searched with all visits and noise, and are to be learnt; 1 for all.
    pub share: f64,
    /// Visits of the others.
    pub visits: u64,
}

/// Dirichlet noise (Silver et al. 2017).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoiseRules {
    /// How even it is.
    pub alpha: f32,
    /// Its share of the priors; 0 for none.
    pub epsilon: f32,
}

/// Gumbel's search (Danihelka et al. 2022): the move that it finds is played, the improved policy learnt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GumbelRules {
    /// Moves that are looked at, at most; 0 for PUCT with noise.
    pub considered: usize,
    /// The values' weight grows with the visits from this.
    pub c_visit: f32,
    /// What it is multiplied by.
    pub c_scale: f32,
}

impl Default for GumbelRules {
    fn default() -> GumbelRules {
        GumbelRules { considered: 0, c_visit: 50.0, c_scale: 1.0 }
    }
}

/// A move's chance is its visits to the power of one over this; Gumbel's random numbers are multiplied by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TemperatureRules {
    /// In the first plies, …
    pub opening: f32,
    /// … so many of them, …
    pub plies: usize,
    /// … and later.
    pub later: f32,
}

/// The search's parameters that differ from play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRules {
    /// How much is explored; grows with the visits as in play.
    pub c_puct: f32,
    /// How much worse than its parent an unvisited move is taken to be.
    pub fpu: f32,
    /// Above 1 flattens the network's policy.
    pub policy_temperature: f32,
}

/// Giving up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResignRules {
    /// Below minus this expected result a position is lost; 1 or more for never.
    pub threshold: f32,
    /// So many of a side's positions in a row have to be lost.
    pub moves: usize,
    /// The share of games that are played to their end all the same, to measure how often giving up would be wrong.
    pub played_on: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
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

impl Rules {
    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("playout_cap.share", self.playout_cap.share),
            ("noise.epsilon", f64::from(self.noise.epsilon)),
            ("resign.played_on", self.resign.played_on),
        ];
        if let Some((key, value)) = shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Err(format!("{key} is {value}, must be 0 to 1"));
        }
        if self.playout_cap.share == 0.0 {
            return Err("playout_cap.share is 0: there would be nothing to learn from".into());
        }
        for (key, visits) in [("visits", self.visits), ("playout_cap.visits", self.playout_cap.visits)] {
            if visits < 2 {
                return Err(format!(
                    "{key} is {visits}, must be at least 2: the first is the position's own"
                ));
            }
        }
        let counts = [
            ("games", self.games as u64),
            ("leaves", self.leaves as u64),
            ("max_plies", self.max_plies as u64),
            ("resign.moves", self.resign.moves as u64),
        ];
        if let Some((key, _)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{key} must be at least 1"));
        }
        let amounts = [
            ("temperature.opening", self.temperature.opening),
            ("temperature.later", self.temperature.later),
            ("search.c_puct", self.search.c_puct),
            ("search.fpu", self.search.fpu),
            ("gumbel.c_visit", self.gumbel.c_visit),
            ("gumbel.c_scale", self.gumbel.c_scale),
            ("resign.threshold", self.resign.threshold),
        ];
        if let Some((key, value)) =
            amounts.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return Err(format!("{key} is {value}, must not be negative"));
        }
        for (key, value) in
            [("noise.alpha", self.noise.alpha), ("search.policy_temperature", self.search.policy_temperature)]
        {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{key} is {value}, must be positive"));
            }
        }
        if self.max_plies > usize::from(u16::MAX) {
            return Err(format!("max_plies is {}, must be at most {}", self.max_plies, u16::MAX));
        }
        Ok(())
    }

    /// How the trees grow: every visit counts as one, no move is left out, and every search begins anew, so that what
    /// is learnt is what these visits have found.
    pub fn params(&self) -> Params {
        let SearchRules { c_puct, fpu, policy_temperature } = self.search;
        Params {
            puct: Puct { c: c_puct, ..Puct::default() },
            fpu: Fpu { value: fpu, ..Fpu::default() },
            policy_temperature,
            reuse: false,
            smart_pruning: 0.0,
            batch: self.leaves,
            ..Params::default()
        }
    }

    /// Bytes for a tree: what a visit may take, with its moves, and some room.
    pub fn tree_memory(&self) -> usize {
        (1 << 18) + 1024 * self.visits.max(self.playout_cap.visits) as usize
    }
}

/// Threads to play on: as many as are wished, or for 0 one a core.
pub fn worker_count(workers: usize) -> usize {
    if workers > 0 { workers } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_teach_nothing_is_refused() {
        assert_eq!(Rules::default().check(), Ok(()));
        let error = |change: &dyn Fn(&mut Rules)| {
            let mut rules = Rules::default();
            change(&mut rules);
            rules.check().unwrap_err()
        };
        assert!(error(&|rules| rules.playout_cap.share = 0.0).contains("playout_cap.share"));
        assert!(error(&|rules| rules.visits = 1).starts_with("visits is 1"));
        assert!(error(&|rules| rules.playout_cap.visits = 1).starts_with("playout_cap.visits"));
        assert!(error(&|rules| rules.search.policy_temperature = 0.0).contains("policy_temperature"));
    }
}
