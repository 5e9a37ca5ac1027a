//! A run's settings: every key has a default, an unknown one is an error.

use std::fmt::Display;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arena::{MatchRules, Sprt};
use super::layers;
use super::selfplay::Rules;
use super::train::TrainConfig;

/// A run of self-play and learning. Names and numbers are NeuralMatePlay's where it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnConfig {
    /// The pretrained network's weights, a checkpoint of `train` or of `export --weights`, whose model is taken over;
    /// empty to begin with random weights, from which going away costs nothing.
    pub start: String,
    /// Another seed, another run.
    pub seed: u64,
    /// What evaluates positions in games, of self-play and of the arena.
    pub runtime: Runtime,
    /// How games are played.
    pub play: Rules,
    /// Games an iteration.
    pub games_per_iteration: u64,
    /// The share of games that the network in training plays against itself; the best so far plays the others.
    pub current_share: f64,
    /// Positions that are kept to learn from, the newest.
    pub buffer_size: u64,
    /// How often a recent position is drawn, relative to an older one: the newest quarter of the buffer is recent.
    pub recent_weight: f64,
    /// Samples that are learnt from for each new position.
    pub samples_per_position: f64,
    /// The share of samples from the pretraining games, `train.sources`; 0 without such games.
    pub pretrain_mix_ratio: f64,
    /// How the network learns: model, sources, optimiser; `samples`, `schedule` and what ends a training run are set by
    /// the cycle.
    pub train: TrainConfig,
    /// How far from the pretrained network it may go.
    pub kl: KlRules,
    /// How it is tested.
    pub arena: ArenaRules,
    /// What is done when it has forgotten.
    pub veto: VetoRules,
    /// Games in ONNX Runtime, the arena's too, are played with networks in 8 bits, as soon as there are games to calibrate on: two
    /// to three times as many in the same time on CPUs with VNNI.
    pub quantise: bool,
    /// The networks of every so many iterations are kept.
    pub milestone_every: u64,
    /// MiB that the run's folder may take: beyond, milestones and then the oldest games go; the newest iteration's stay.
    pub disk: u64,
}

/// What runs the networks in games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// libtorch if the run learns on a GPU, ONNX Runtime if on a CPU.
    #[default]
    Auto,
    /// ONNX Runtime, on the CPU.
    Onnx,
    /// libtorch, on the device that the run learns on; on a CPU slower than ONNX Runtime.
    Torch,
}

/// The divergence of the policy from the pretrained network's, nat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KlRules {
    /// What it costs.
    pub cost: ReferenceConfig,
    /// From here on there is a warning, …
    pub warn: f64,
    /// … and from here on an arena at once.
    pub alarm: f64,
}

impl Default for KlRules {
    fn default() -> KlRules {
        KlRules { cost: ReferenceConfig::default(), warn: 0.15, alarm: 0.30 }
    }
}

/// The tests after every few iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArenaRules {
    /// Iterations from one to the next.
    pub every: u64,
    /// Visits of a network's searches.
    pub visits: u64,
    /// How the games are played.
    pub rules: MatchRules,
    /// Against the best so far: what has to be proven for a promotion; elo1 is 55 %, …
    pub promotion: Sprt,
    /// … in at most so many games.
    pub games: u64,
    /// Against an older and the pretrained network: what is a veto if it is proven, elo0 being 35 %, …
    pub veto: Sprt,
    /// … in at most so many games each; if nothing is proven in them, a score below `veto_score` is a veto.
    pub veto_games: u64,
    /// NeuralMatePlay's threshold.
    pub veto_score: f64,
    /// Games against the random mover and UCT each; they say how far it is, and decide nothing.
    pub sanity_games: u64,
    /// Random games a move of UCT; 0 leaves it out.
    pub uct_visits: u64,
}

impl Default for ArenaRules {
    fn default() -> ArenaRules {
        ArenaRules {
            every: 5,
            visits: 100,
            rules: MatchRules::default(),
            promotion: Sprt::default(),
            games: 400,
            veto: Sprt { elo0: -107.5, elo1: 0.0, ..Sprt::default() },
            veto_games: 100,
            veto_score: 0.35,
            sanity_games: 20,
            uct_visits: 200,
        }
    }
}

impl Default for LearnConfig {
    fn default() -> LearnConfig {
        LearnConfig {
            start: String::new(),
            seed: 1,
            runtime: Runtime::default(),
            play: Rules::default(),
            games_per_iteration: 100,
            current_share: 0.0,
            buffer_size: 500_000,
            recent_weight: 2.0,
            samples_per_position: 4.0,
            pretrain_mix_ratio: 0.5,
            train: TrainConfig { lr: 1e-4, min_lr: 0.0, warmup_steps: 100, ..TrainConfig::default() },
            kl: KlRules::default(),
            arena: ArenaRules::default(),
            veto: VetoRules::default(),
            quantise: false,
            milestone_every: 20,
            disk: 4096,
        }
    }
}

/// Ready-made settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Two CPU cores: Gumbel's search with few visits, networks in 8 bits, small batches
    #[default]
    Cpu,
    /// One GPU: NeuralMatePlay's 800 visits and batches of 1024, 256 games at once
    Gpu,
    /// From random weights: a tiny network that learns to beat the random mover within an hour of a CPU
    Tiny,
}

impl Preset {
    fn json(self) -> Value {
        let text = match self {
            Preset::Cpu => include_str!("rl/presets/cpu.json"),
            Preset::Gpu => include_str!("rl/presets/gpu.json"),
            Preset::Tiny => include_str!("rl/presets/tiny.json"),
        };
        serde_json::from_str(text).expect("a preset of ours is JSON")
    }
}

impl LearnConfig {
    /// Lays `files` over the preset, each over the one before it, and applies `overrides` (`play.visits=100`).
    ///
    /// # Errors
    ///
    /// One line: what can't be read, or which key is unknown or doesn't fit.
    pub fn load(preset: Preset, files: &[PathBuf], overrides: &[String]) -> Result<LearnConfig, String> {
        // Defaults of this room, not of the ones that it is made of, lie below.
        let mut json = serde_json::to_value(LearnConfig::default()).expect("numbers and text make JSON");
        layers::lay_over(&mut json, preset.json());
        layers::lay_files(&mut json, files)?;
        layers::set(&mut json, overrides)?;
        let at = |error: &dyn Display| format!("{}: {error}", layers::place(files));
        let config: LearnConfig = serde_json::from_value(json).map_err(|error| at(&error))?;
        config.check().map_err(|error| at(&error))?;
        Ok(config)
    }

    /// Checks that the numbers make sense.
    ///
    /// # Errors
    ///
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        self.play.check().map_err(|why| format!("play.{why}"))?;
        self.train.check().map_err(|why| format!("train.{why}"))?;
        self.arena.rules.check().map_err(|why| format!("arena.rules.{why}"))?;
        self.arena.promotion.check().map_err(|why| format!("arena.promotion: {why}"))?;
        self.arena.veto.check().map_err(|why| format!("arena.veto: {why}"))?;
        let shares = [
            ("current_share", self.current_share),
            ("pretrain_mix_ratio", self.pretrain_mix_ratio),
            ("arena.veto_score", self.arena.veto_score),
            ("veto.purge", self.veto.purge),
            ("veto.critical_purge", self.veto.critical_purge),
            ("veto.mix_step", self.veto.mix_step),
            ("veto.critical_mix", self.veto.critical_mix),
            ("veto.lr_factor", self.veto.lr_factor),
            ("veto.explore", self.veto.explore),
        ];
        if let Some((key, value)) = shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return Err(format!("{key} is {value}, must be 0 to 1"));
        }
        let counts = [
            ("games_per_iteration", self.games_per_iteration),
            ("buffer_size", self.buffer_size),
            ("arena.every", self.arena.every),
            ("arena.visits", self.arena.visits),
            ("arena.games", self.arena.games),
            ("arena.veto_games", self.arena.veto_games),
            ("veto.recovery", self.veto.recovery),
            ("milestone_every", self.milestone_every),
            ("disk", self.disk),
        ];
        if let Some((key, _)) = counts.into_iter().find(|(_, value)| *value == 0) {
            return Err(format!("{key} must be at least 1"));
        }
        let (pairs, least) = (self.arena.games.div_ceil(2), self.arena.promotion.least_pairs());
        if pairs < least {
            return Err(format!(
                "arena.games is {}, must be at least {}: in fewer arena.promotion accepts nobody, not even who wins all",
                self.arena.games,
                2 * least
            ));
        }
        let amounts = [
            ("recent_weight", self.recent_weight),
            ("samples_per_position", self.samples_per_position),
            ("kl.cost.weight", self.kl.cost.weight),
            ("kl.cost.target", self.kl.cost.target),
            ("kl.cost.factor", self.kl.cost.factor),
            ("kl.cost.most", self.kl.cost.most),
            ("kl.warn", self.kl.warn),
            ("kl.alarm", self.kl.alarm),
        ];
        if let Some((key, value)) =
            amounts.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return Err(format!("{key} is {value}, must not be negative"));
        }
        if self.pretrain_mix_ratio > 0.0 && self.train.sources.is_empty() {
            return Err(
                "pretrain_mix_ratio wants games: name files under train.sources, or set it to 0".into()
            );
        }
        Ok(())
    }
}

/// How forgetting is answered. The defaults are NeuralMatePlay's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VetoRules {
    /// Level 1: this share of the buffer's positions is thrown away, the newest, …
    pub purge: f64,
    /// … and so much is added to the share of the pretraining games.
    pub mix_step: f64,
    /// Level 2: the learning rate is multiplied by this, at every veto.
    pub lr_factor: f64,
    /// Level 3: this share of games is played by the current network instead of the best.
    pub explore: f64,
    /// Level 4: this share of the buffer is thrown away instead, …
    pub critical_purge: f64,
    /// … and this is the share of the pretraining games.
    pub critical_mix: f64,
    /// Iterations after the last veto until mix, learning rate and games are as before; at least 1.
    pub recovery: u64,
}

impl Default for VetoRules {
    fn default() -> VetoRules {
        VetoRules {
            purge: 0.25,
            mix_step: 0.2,
            lr_factor: 0.5,
            explore: 0.3,
            critical_purge: 0.5,
            critical_mix: 0.8,
            recovery: 15,
        }
    }
}

/// What the divergence of the policy costs, adaptive as in NeuralMatePlay: `weight` below the target,
/// `weight · (1 + factor · excess)` above, at most `most`, with `excess = divergence / target − 1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReferenceConfig {
    /// What a nat costs, beside the policy's loss; 0 for nothing.
    pub weight: f64,
    /// The divergence from which on it costs more, nat.
    pub target: f64,
    /// How much more.
    pub factor: f64,
    /// The most that a nat costs.
    pub most: f64,
}

impl Default for ReferenceConfig {
    fn default() -> ReferenceConfig {
        ReferenceConfig { weight: 0.1, target: 0.10, factor: 2.0, most: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_sound_and_keys_are_known() {
        let no_games = ["pretrain_mix_ratio=0".to_owned()];
        for preset in [Preset::Cpu, Preset::Gpu, Preset::Tiny] {
            let config = LearnConfig::load(preset, &[], &no_games).unwrap();
            let text = serde_json::to_value(&config).unwrap();
            assert_eq!(serde_json::from_value::<LearnConfig>(text).unwrap(), config);
        }
        let error = LearnConfig::load(Preset::Tiny, &[], &["play.visit=3".to_owned()]).unwrap_err();
        assert!(error.contains("unknown field `visit`"), "{error}");
        let error = LearnConfig::load(Preset::Cpu, &[], &[]).unwrap_err();
        assert!(error.contains("train.sources"), "{error}");
        for (bad, key) in
            [("arena.rules.resign_moves=0", "arena.rules.resign_moves"), ("veto.recovery=0", "veto.recovery")]
        {
            let error = LearnConfig::load(Preset::Tiny, &[], &[bad.to_owned()]).unwrap_err();
            assert!(error.contains(&format!("{key} must be at least 1")), "{error}");
        }
    }

    #[test]
    fn an_arena_has_games_enough_for_a_promotion() {
        let load = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
            LearnConfig::load(Preset::Tiny, &[], &overrides).map(|config| config.arena.games)
        };
        assert_eq!(load(&["arena.games=62"]), Ok(62));
        // Pairs are played to their end.
        assert_eq!(load(&["arena.games=61"]), Ok(61));
        let error = load(&["arena.games=60"]).unwrap_err();
        assert!(error.contains("arena.games is 60, must be at least 62"), "{error}");
        assert_eq!(load(&["arena.games=60", "arena.promotion.elo1=50"]), Ok(60));
        assert_eq!(load(&["arena.veto_games=2"]), Ok(200), "a veto has a threshold besides");
    }

    #[test]
    fn a_configuration_with_another_family_reads_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        let text = r#"{"pretrain_mix_ratio": 0, "train": {"model": {"family": "mlp", "hidden": [7]}}}"#;
        std::fs::write(&file, text).unwrap();
        let read = || LearnConfig::load(Preset::Cpu, std::slice::from_ref(&file), &[]).unwrap();
        let config = read();
        assert_eq!(config.train.model.family(), "mlp");
        std::fs::write(&file, serde_json::to_string(&config).unwrap()).unwrap();
        assert_eq!(read(), config, "as a run that goes on reads its own");
    }

    #[test]
    fn the_gpu_preset_is_neuralmateplays() {
        let config = LearnConfig::load(Preset::Gpu, &[], &["pretrain_mix_ratio=0".to_owned()]).unwrap();
        assert_eq!((config.play.visits, config.train.batch), (800, 1024));
        assert_eq!((config.buffer_size, config.arena.every, config.kl.cost.weight), (500_000, 5, 0.1));
        assert_eq!((config.play.search.c_puct, config.play.temperature.plies), (1.5, 30));
        // But for more games: its hundred would leave boards empty.
        assert!(config.play.games * config.play.leaves >= 256 && config.games_per_iteration >= 2 * 256);
        assert_eq!((config.play.workers, config.arena.rules.games), (0, 256));
    }
}
