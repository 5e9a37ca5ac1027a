use std::num::NonZero;
use std::time::Duration;

use super::strength::Strength;
use crate::chess::tables::ProbeRules;
use crate::nets::eval::Precision;
use crate::nets::onnx::StepLimits;
use crate::search::players::{Player, UctParams};
use crate::search::time_management::TimeParams;
use crate::search::{ParamSettings, Params};

/// Per cent of `Hash` for the evaluation cache; the rest is the tree's.
const CACHE_SHARE: usize = 12;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Memory of tree and evaluation cache in MiB.
    pub hash: usize,
    pub threads: usize,
    pub move_overhead: Duration,
    pub multipv: usize,
    /// No effect; tells the GUI that `go ponder` works.
    pub ponder: bool,
    pub show_wdl: bool,
    /// Writes castling as king takes rook.
    pub chess960: bool,
    /// No strength limit, no smart pruning, no contempt, no book.
    pub analyse: bool,
    pub limit_strength: bool,
    pub elo: i64,
    /// Below 20, limits the strength unless `limit_strength` does.
    pub skill: i64,
    /// Unused.
    pub opponent: Option<String>,
    /// Temperature of the move choice at full strength; 0 plays the best move.
    pub temperature: f32,
    pub verbose_move_stats: bool,
    pub log_live_stats: bool,
    /// `None` is the embedded network.
    pub weights: Option<String>,
    /// `None` selects the faster precision.
    pub precision: Option<Precision>,
    /// Refinement steps of recurrent networks.
    pub step_limits: StepLimits,
    pub backend: Backend,
    /// `None` is the network search.
    pub player: Option<Player>,
    pub uct: UctParams,
    /// 0 draws a new seed for every game.
    pub seed: u64,
    pub own_book: bool,
    pub book: Option<String>,
    /// In plies from the start of the game.
    pub book_depth: usize,
    pub tables: Option<String>,
    pub table_rules: ProbeRules,
    pub log_file: Option<String>,
    pub params: ParamSettings,
    /// Lower bound of a worker's batch when many searches share the workers.
    pub least_batch: usize,
    /// `smart_pruning` in here is unused; `params.smart_pruning` counts.
    pub time: TimeParams,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// `native` for the family `sparse`, else `onnx-cpu`.
    #[default]
    Auto,
    /// Our integer kernels, for the family `sparse`.
    Native,
    OnnxCpu,
    /// On an NVIDIA GPU.
    OnnxCuda,
    /// No network: equal priors, every position a draw.
    Uniform,
}

impl Backend {
    pub const ALL: [Backend; 5] =
        [Backend::Auto, Backend::Native, Backend::OnnxCpu, Backend::OnnxCuda, Backend::Uniform];
    /// In the order of [`Backend::ALL`].
    pub const NAMES: [&'static str; 5] = ["auto", "native", "onnx-cpu", "onnx-cuda", "uniform"];
}

/// Processors that affinity and control group allow.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// A worker for each core that may be used.
pub fn default_threads(cores: usize, usable: usize) -> usize {
    cores.min(usable).clamp(1, 512)
}

impl Settings {
    /// Bytes of tree and evaluation cache.
    pub fn memory(&self) -> (usize, usize) {
        let all = self.hash.saturating_mul(1 << 20);
        let cache = all / 100 * CACHE_SHARE;
        (all - cache, cache)
    }

    pub fn batch(&self) -> usize {
        self.params.batch.max(self.least_batch)
    }

    /// `None` at full strength, in analysis and for classical players.
    pub fn strength(&self) -> Option<Strength> {
        if self.analyse || self.player.is_some() {
            None
        } else if self.limit_strength {
            Some(Strength::of_elo(self.elo))
        } else {
            Strength::of_skill(self.skill)
        }
    }

    /// `None` in analysis and at limited strength, which has its own random choice.
    pub fn move_temperature(&self) -> Option<f32> {
        (self.temperature > 0.0 && !self.analyse && self.strength().is_none()).then_some(self.temperature)
    }

    /// Applies analysis mode and limited strength.
    pub fn search_params(&self, native: bool) -> Params {
        let params = self.params.resolve(native);
        let mut params = self.strength().map_or_else(|| params.clone(), |strength| strength.limit(&params));
        if self.analyse {
            (params.smart_pruning, params.contempt) = (0.0, 0.0);
        }
        params
    }

    pub fn time_params(&self) -> TimeParams {
        let smart_pruning = if self.analyse { 0.0 } else { self.params.smart_pruning };
        TimeParams { smart_pruning, ..self.time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_limited_by_default() {
        let settings = Settings::default();
        assert_eq!(settings.strength(), None);
        assert_eq!(settings.search_params(true), Params::native());
        assert_eq!(settings.search_params(false), Params::default());
        assert_eq!(settings.time_params(), TimeParams::default());
        assert_eq!(Settings { elo: 900, ..settings }.strength(), None);
    }

    #[test]
    fn a_worker_for_each_core_that_may_be_used() {
        for (cores, usable, threads) in [(8, 16, 8), (8, 3, 3), (2, 2, 2), (0, 1, 1), (2048, 4096, 512)] {
            assert_eq!(default_threads(cores, usable), threads, "{cores} cores, {usable} usable");
        }
        assert!(Settings::default().threads <= processors());
    }

    #[test]
    fn the_temperature_applies_at_full_strength_only() {
        let warm = Settings { temperature: 0.5, ..Settings::default() };
        assert_eq!((Settings::default().move_temperature(), warm.move_temperature()), (None, Some(0.5)));
        assert_eq!(Settings { analyse: true, ..warm.clone() }.move_temperature(), None);
        assert_eq!(Settings { skill: 5, ..warm }.move_temperature(), None);
    }

    #[test]
    fn a_rating_overrides_a_skill_level_and_analysis_both() {
        let skilled = Settings { skill: 3, elo: 2000, ..Settings::default() };
        assert_eq!(skilled.strength(), Strength::of_skill(3));
        let (limited, full) = (skilled.search_params(true), Params::native());
        assert!(limited.policy_temperature > full.policy_temperature);
        assert!(limited.root_policy_temperature > full.root_policy_temperature);
        let rated = Settings { limit_strength: true, ..skilled };
        assert_eq!(rated.strength(), Some(Strength::of_elo(2000)));
        assert_eq!(Settings { player: Some(Player::Minimax), ..rated.clone() }.strength(), None);
        let analysing = Settings { analyse: true, ..rated };
        assert_eq!(analysing.strength(), None);
        assert_eq!(analysing.search_params(true), Params { smart_pruning: 0.0, ..Params::native() });
        assert_eq!(analysing.time_params().smart_pruning, 0.0);
    }
}
