use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arena::{MatchRules, Sprt};
use super::bounds;
use super::layers;
use super::layers::uncomment;
use super::selfplay::SelfPlayRules;
use super::sparse::{SparseAdam, SparseSourceConfig, SparseTrainConfig, holds_sparse, is_sparse};
use super::train::TrainConfig;

/// A reinforcement-learning run. Names and defaults follow NeuralMatePlay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RlConfig {
    /// Initial weights: a checkpoint of `train` or of `export --weights`, whose model is used. Empty: random weights
    /// and no KL cost.
    pub start: String,
    /// Seeds random weights, the games and the order of samples.
    pub seed: u64,
    /// Inference in self-play and arena games.
    pub runtime: Runtime,
    pub play: SelfPlayRules,
    /// Self-play games per iteration.
    pub games_per_iteration: u64,
    /// Games per unit of work. A worker plays a unit's games in parallel and stores the unit whole.
    pub games_per_unit: u64,
    /// Iterations by which the playing networks may lag behind. With 1, the next games begin while a network learns (on
    /// other machines) or while an iteration's last games are played (without an inbox).
    pub lag: u64,
    /// Share of games played by the network in training; the best network so far plays the rest.
    pub current_share: f64,
    /// Positions in the replay buffer; the newest are kept.
    pub buffer_size: u64,
    /// Relative sampling frequency of the newest quarter of the buffer.
    pub recent_weight: f64,
    /// Training samples per new position.
    pub samples_per_position: f64,
    /// Share of samples from the pretraining games `train.sources`; 0 if there are none.
    pub pretrain_mix_ratio: f64,
    /// Model, sources and optimiser. Keys that the loop sets (`samples`, `schedule`, `seed`, …) are refused.
    pub train: LearnerConfig,
    pub kl: KlRules,
    pub arena: ArenaRules,
    pub veto: VetoRules,
    /// Self-play and arena use int8 networks in ONNX Runtime once there are games to calibrate on: two to three times
    /// as many games per second on CPUs with VNNI.
    pub quantise: bool,
    /// Iterations between milestones (networks that are kept).
    pub milestone_every: u64,
    /// Maximum size of the run's folder in MiB. Beyond it milestones and then the oldest games are deleted, but never
    /// the newest iteration's games.
    pub disk: u64,
}

/// The key `model.family` selects the variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, try_from = "Value")]
pub enum LearnerConfig {
    Torch(Box<TrainConfig>),
    Sparse(Box<SparseTrainConfig>),
}

impl TryFrom<Value> for LearnerConfig {
    type Error = String;

    fn try_from(json: Value) -> Result<LearnerConfig, String> {
        if is_sparse(&json) {
            let config = SparseTrainConfig::try_from(json).map_err(|error| format!("train: {error:#}"))?;
            return Ok(LearnerConfig::Sparse(Box::new(config)));
        }
        let config = layers::parsed(json).map_err(|error| format!("train: {error}"))?;
        Ok(LearnerConfig::Torch(config))
    }
}

impl LearnerConfig {
    pub fn torch(&self) -> Option<&TrainConfig> {
        match self {
            LearnerConfig::Torch(config) => Some(config),
            LearnerConfig::Sparse(_) => None,
        }
    }

    pub fn torch_mut(&mut self) -> Option<&mut TrainConfig> {
        match self {
            LearnerConfig::Torch(config) => Some(config),
            LearnerConfig::Sparse(_) => None,
        }
    }

    pub fn sparse(&self) -> Option<&SparseTrainConfig> {
        match self {
            LearnerConfig::Torch(_) => None,
            LearnerConfig::Sparse(config) => Some(config),
        }
    }

    pub fn sparse_mut(&mut self) -> Option<&mut SparseTrainConfig> {
        match self {
            LearnerConfig::Torch(_) => None,
            LearnerConfig::Sparse(config) => Some(config),
        }
    }

    pub fn lr(&self) -> f64 {
        match self {
            LearnerConfig::Torch(config) => config.lr,
            LearnerConfig::Sparse(config) => config.lr,
        }
    }

    fn has_sources(&self) -> bool {
        match self {
            LearnerConfig::Torch(config) => !config.sources.is_empty(),
            LearnerConfig::Sparse(config) => !config.sources.is_empty(),
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            LearnerConfig::Torch(config) => config.check(),
            LearnerConfig::Sparse(config) => config.check_parts(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// libtorch if the run trains on a GPU, otherwise ONNX Runtime.
    #[default]
    Auto,
    Onnx,
    /// libtorch on the training device; slower than ONNX Runtime on a CPU.
    Torch,
}

/// Limits on the policy's KL divergence from the pretrained network, in nats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KlRules {
    /// Term of the loss.
    pub cost: ReferenceConfig,
    /// Logs a warning from this divergence.
    pub warn: f64,
    /// Tests the network at once from this divergence.
    pub alarm: f64,
}

impl Default for KlRules {
    fn default() -> KlRules {
        KlRules { cost: ReferenceConfig::default(), warn: 0.15, alarm: 0.30 }
    }
}

/// Gives meanings to the keys of [`Sprt`], which the engine defines.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct SprtKeys {
    /// H0: the new network is stronger by this, in Elo.
    elo0: f64,
    /// H1: it is stronger by this, in Elo.
    elo1: f64,
    /// Probability of accepting H1 if H0 is true.
    alpha: f64,
    /// Probability of accepting H0 if H1 is true.
    beta: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArenaRules {
    /// Iterations between arenas.
    pub every: u64,
    /// Visits per move.
    pub visits: u64,
    pub rules: MatchRules,
    /// Promotion test against the best network so far, passed at elo1 (a score of 55 %).
    #[schemars(with = "SprtKeys")]
    pub promotion: Sprt,
    /// Most games of the promotion test.
    pub games: u64,
    /// Veto test against an older and the pretrained network. Accepting elo0 (a score of 35 %) is a veto.
    #[schemars(with = "SprtKeys")]
    pub veto: Sprt,
    /// Most games of the veto test, per opponent.
    pub veto_games: u64,
    /// If the veto test stays undecided, a score below this is a veto (NeuralMatePlay's threshold).
    pub veto_score: f64,
    /// Games against each of the random mover and UCT; only logged.
    pub sanity_games: u64,
    /// UCT rollouts per move; 0 for no UCT opponent.
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

impl Default for RlConfig {
    fn default() -> RlConfig {
        RlConfig {
            start: String::new(),
            seed: 1,
            runtime: Runtime::default(),
            play: SelfPlayRules::default(),
            games_per_iteration: 100,
            games_per_unit: 16,
            lag: 0,
            current_share: 0.0,
            buffer_size: 500_000,
            recent_weight: 2.0,
            samples_per_position: 4.0,
            pretrain_mix_ratio: 0.5,
            train: LearnerConfig::Torch(Box::new(TrainConfig {
                lr: 1e-4,
                min_lr: 0.0,
                warmup_steps: 100,
                ..TrainConfig::default()
            })),
            kl: KlRules::default(),
            arena: ArenaRules::default(),
            veto: VetoRules::default(),
            quantise: false,
            milestone_every: 20,
            disk: 4096,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RlPreset {
    /// Two CPU cores: Gumbel search with few visits, int8 networks, small batches
    #[default]
    Cpu,
    /// One GPU: NeuralMatePlay's 800 visits and batches of 1024, 256 games at once
    Gpu,
    /// NeuralMatePlay's self-play with its numbers: 800 visits, 100 games, batches of 1024; needs a GPU
    Neuralmateplay,
    /// From random weights: a tiny network that learns to beat the random mover within an hour on a CPU
    Tiny,
}

impl RlPreset {
    /// The configuration before it is complete: its sources may be missing.
    pub fn unchecked(self, overrides: &[String]) -> Result<RlConfig> {
        let settings = RlSettings { preset: self, overrides: overrides.to_owned(), ..RlSettings::default() };
        Ok(serde_json::from_value(settings.json()?)?)
    }

    /// The preset's key `sparse` holds the keys of that family.
    fn json(self, sparse: bool) -> Value {
        let text = match self {
            RlPreset::Cpu => include_str!("rl/presets/cpu.json"),
            RlPreset::Gpu => include_str!("rl/presets/gpu.json"),
            RlPreset::Neuralmateplay => include_str!("rl/presets/neuralmateplay.json"),
            RlPreset::Tiny => include_str!("rl/presets/tiny.json"),
        };
        let mut json: Value = serde_json::from_str(text).expect("presets are valid JSON");
        uncomment(&mut json);
        let own = json.as_object_mut().and_then(|json| json.remove("sparse"));
        if let (true, Some(own)) = (sparse, own) {
            json["train"] = Value::Null;
            layers::lay_over(&mut json, own);
        }
        json
    }
}

/// Keys of `train` that the loop sets, each with what to set instead.
const SET_BY_THE_LOOP: [(&str, &str); 8] = [
    ("samples", "set samples_per_position"),
    ("minutes", "set samples_per_position, or --hours for the whole run"),
    ("epochs", "set samples_per_position"),
    ("early_stop", "set samples_per_position; the arena judges the network"),
    ("validate_every", "each iteration validates at its end; set train.validation_batches for how much"),
    ("validate_epochs", "each iteration validates at its end; set train.validation_batches for how much"),
    (
        "schedule",
        "the learning rate is constant within an iteration; set train.lr, and veto.lr_factor for vetoes",
    ),
    ("seed", "set seed"),
];

/// Layers of settings, in ascending order: preset, a resumed run's `config.json`, files, overrides (`play.visits=100`).
#[derive(Clone, Debug, Default)]
pub struct RlSettings {
    pub preset: RlPreset,
    pub own: Option<PathBuf>,
    pub files: Vec<PathBuf>,
    pub overrides: Vec<String>,
}

impl RlSettings {
    fn lay_over(&self, json: &mut Value) -> Result<()> {
        for file in &self.files {
            let layer = layers::read(file)?;
            refuse_overwritten(&layer).with_context(|| file.display().to_string())?;
            layers::lay_over(json, layer);
        }
        let mut keys = json!({});
        layers::set(&mut keys, &self.overrides)?;
        refuse_overwritten(&keys).context("--set")?;
        layers::set(json, &self.overrides)
    }

    fn json(&self) -> Result<Value> {
        let sparse = self.is_sparse()?;
        let below = if sparse { RlConfig::sparse() } else { RlConfig::default() };
        let mut json = serde_json::to_value(below).expect("numbers and text make JSON");
        layers::lay_over(&mut json, self.preset.json(sparse));
        if let Some(own) = &self.own {
            let mut own = layers::read(own)?;
            remove_overwritten(&mut own);
            layers::lay_over(&mut json, own);
        }
        self.lay_over(&mut json)?;
        Ok(json)
    }

    pub fn config(&self) -> Result<RlConfig> {
        let config = layers::parsed(self.json()?);
        let config = config.and_then(|config: RlConfig| config.check().map(|()| config));
        let files: Vec<PathBuf> = self.own.iter().chain(&self.files).cloned().collect();
        config.with_context(|| layers::place(&files))
    }

    /// The key `train.model.family` decides, without it the initial network.
    fn is_sparse(&self) -> Result<bool> {
        let mut asked = json!({});
        // `config` reports an unreadable `config.json`.
        if let Some(own) = self.own.as_ref().and_then(|own| layers::read(own).ok()) {
            layers::lay_over(&mut asked, own);
        }
        self.lay_over(&mut asked)?;
        match (&asked["train"]["model"]["family"], asked["start"].as_str()) {
            (Value::Null, Some(start)) => Ok(holds_sparse(Path::new(start))),
            (family, _) => Ok(family == "sparse"),
        }
    }

    /// Returns the keys of `train.model` that the user or the preset sets.
    pub fn model_keys(&self) -> Result<Value> {
        // Naming a family drops the keys of other families, so the default is removed again below.
        let sparse = self.is_sparse()?;
        let usual = json!({ "family": if sparse { "sparse" } else { "resnet" } });
        let mut json = json!({ "train": { "model": usual } });
        if self.own.is_none() {
            layers::lay_over(&mut json, self.preset.json(sparse));
        }
        self.lay_over(&mut json)?;
        let mut model = json["train"]["model"].take();
        if model["family"] == usual["family"] {
            model.as_object_mut().map(|model| model.remove("family"));
        }
        Ok(model)
    }
}

fn refuse_overwritten(layer: &Value) -> Result<()> {
    let Some(train) = layer.get("train") else { return Ok(()) };
    let named = SET_BY_THE_LOOP.iter().filter(|(key, _)| train.get(key).is_some());
    let refused: Vec<String> = named.map(|(key, instead)| format!("train.{key} ({instead})")).collect();
    let them = if refused.len() == 1 { "it" } else { "them" };
    ensure!(refused.is_empty(), "rl would overwrite {}: remove {them}", refused.join(", "));
    Ok(())
}

fn remove_overwritten(json: &mut Value) {
    if let Some(train) = json.get_mut("train").and_then(Value::as_object_mut) {
        SET_BY_THE_LOOP.iter().for_each(|(key, _)| _ = train.remove(*key));
    }
}

impl RlConfig {
    pub fn sparse() -> RlConfig {
        let own = SparseSourceConfig {
            name: "self-play".to_owned(),
            stride: 1,
            value_lambda: 0.5,
            history_dropout: 0.1,
            ..SparseSourceConfig::default()
        };
        let train = SparseTrainConfig {
            batch: 1024,
            block: 32,
            lr: 5e-4,
            min_lr: 1e-6,
            warmup_samples: 20_000,
            adam: SparseAdam { weight_decay: 0.01, ..SparseAdam::default() },
            average_samples: 500_000,
            validation_samples: 4000,
            self_play: Some(own),
            ..SparseTrainConfig::default()
        };
        let cost = ReferenceConfig { weight: 0.0, ..ReferenceConfig::default() };
        RlConfig {
            train: LearnerConfig::Sparse(Box::new(train)),
            kl: KlRules { cost, ..KlRules::default() },
            ..RlConfig::default()
        }
    }

    fn check_sparse(&self) -> Result<()> {
        let refused = [
            (
                self.runtime == Runtime::Torch,
                "runtime = torch",
                "its networks play in the engine's own integers",
            ),
            (self.quantise, "quantise", "its networks play in integers always"),
            (
                self.kl.cost.weight > 0.0,
                "kl.cost.weight",
                "mix the pretraining games in instead, pretrain_mix_ratio",
            ),
        ];
        let named = refused.into_iter().find(|(given, ..)| *given);
        if let (true, Some((_, key, instead))) = (self.train.sparse().is_some(), named) {
            bail!("{key} does not apply to the family sparse: {instead}");
        }
        Ok(())
    }

    pub fn load(preset: RlPreset, files: &[PathBuf], overrides: &[String]) -> Result<RlConfig> {
        RlSettings { preset, own: None, files: files.to_owned(), overrides: overrides.to_owned() }.config()
    }

    /// Leaves out the keys that the loop sets.
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::to_value(self).expect("numbers and text make JSON");
        remove_overwritten(&mut json);
        json
    }

    pub fn check(&self) -> Result<()> {
        self.play.check().map_err(|why| anyhow!("play.{why:#}"))?;
        self.train.check().map_err(|why| anyhow!("train.{why:#}"))?;
        self.check_sparse()?;
        self.arena.rules.check().map_err(|why| anyhow!("arena.rules.{why:#}"))?;
        self.arena.promotion.check().context("arena.promotion")?;
        self.arena.veto.check().context("arena.veto")?;
        bounds::shares(&[
            ("current_share", self.current_share, 1.0),
            ("pretrain_mix_ratio", self.pretrain_mix_ratio, 1.0),
            ("arena.veto_score", self.arena.veto_score, 1.0),
            ("veto.purge", self.veto.purge, 1.0),
            ("veto.critical_purge", self.veto.critical_purge, 1.0),
            ("veto.mix_step", self.veto.mix_step, 1.0),
            ("veto.critical_mix", self.veto.critical_mix, 1.0),
            ("veto.lr_factor", self.veto.lr_factor, 1.0),
            ("veto.explore", self.veto.explore, 1.0),
        ])?;
        let most_mebibytes = u64::MAX >> 20;
        bounds::in_range(&[
            ("games_per_iteration", 1, self.games_per_iteration, bounds::MAX_GAMES),
            ("games_per_unit", 1, self.games_per_unit, bounds::MAX_GAMES),
            ("lag", 0, self.lag, 1),
            ("buffer_size", 1, self.buffer_size, u64::MAX),
            ("arena.every", 1, self.arena.every, u64::MAX),
            ("arena.visits", 1, self.arena.visits, bounds::MAX_VISITS),
            ("arena.games", 1, self.arena.games, bounds::MAX_GAMES),
            ("arena.veto_games", 1, self.arena.veto_games, bounds::MAX_GAMES),
            ("arena.sanity_games", 0, self.arena.sanity_games, bounds::MAX_GAMES),
            ("arena.uct_visits", 0, self.arena.uct_visits, bounds::MAX_VISITS),
            ("veto.recovery", 1, self.veto.recovery, u64::MAX),
            ("milestone_every", 1, self.milestone_every, u64::MAX),
            ("disk", 1, self.disk, most_mebibytes),
        ])?;
        self.arena.rules.check_visits(self.arena.visits).map_err(|why| anyhow!("arena.rules.{why:#}"))?;
        let (pairs, least) = (self.arena.games.div_ceil(2), self.arena.promotion.least_pairs());
        if pairs < least {
            bail!(
                "arena.games is {}, must be at least {}: in fewer games arena.promotion promotes no network, not even one \
                 that wins all of them",
                self.arena.games,
                2 * least
            );
        }
        bounds::not_negative(&[
            ("recent_weight", self.recent_weight),
            ("samples_per_position", self.samples_per_position),
            ("kl.cost.weight", self.kl.cost.weight),
            ("kl.cost.target", self.kl.cost.target),
            ("kl.cost.factor", self.kl.cost.factor),
            ("kl.cost.most", self.kl.cost.most),
            ("kl.warn", self.kl.warn),
            ("kl.alarm", self.kl.alarm),
        ])?;
        if let LearnerConfig::Torch(train) = &self.train
            && train.ewc.weight > 0.0
            && (self.start.is_empty() || train.ewc.sources.is_empty())
        {
            bail!(
                "train.ewc.weight keeps what the first network has learnt: name that network under start and its games \
                 under train.ewc.sources"
            );
        }
        if self.pretrain_mix_ratio > 0.0 && !self.train.has_sources() {
            bail!("pretrain_mix_ratio needs games: name files under train.sources, or set it to 0");
        }
        Ok(())
    }
}

/// What consecutive vetoes change, in four levels. The defaults are NeuralMatePlay's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VetoRules {
    /// Level 1: deletes this share of the buffer, the newest positions.
    pub purge: f64,
    /// Level 1: adds this to the share of pretraining games.
    pub mix_step: f64,
    /// Level 2: multiplies the learning rate at every veto.
    pub lr_factor: f64,
    /// Level 3: the current network plays this share of the games instead of the best network.
    pub explore: f64,
    /// Level 4: replaces `purge`.
    pub critical_purge: f64,
    /// Level 4: share of pretraining games.
    pub critical_mix: f64,
    /// Iterations after the last veto until training is normal again; at least 1.
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

/// Weight of the policy's KL divergence in the loss, adaptive as in NeuralMatePlay: `weight` up to the target, above it
/// `weight · (1 + factor · excess)`, at most `most`, with `excess = divergence / target − 1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReferenceConfig {
    /// Relative to the policy loss; 0 for none.
    pub weight: f64,
    /// In nats.
    pub target: f64,
    /// How fast the weight grows with the excess over the target.
    pub factor: f64,
    /// Largest weight that it grows to.
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
    use crate::config::train::{OptimiserKind, Precision};

    #[test]
    fn presets_are_valid_and_keys_are_known() {
        let no_games = ["pretrain_mix_ratio=0".to_owned()];
        for preset in [RlPreset::Cpu, RlPreset::Gpu, RlPreset::Neuralmateplay, RlPreset::Tiny] {
            let config = RlConfig::load(preset, &[], &no_games).unwrap();
            let text = serde_json::to_value(&config).unwrap();
            assert_eq!(serde_json::from_value::<RlConfig>(text).unwrap(), config);
        }
        let fails = |preset, overrides: &[String]| {
            format!("{:#}", RlConfig::load(preset, &[], overrides).unwrap_err())
        };
        let error = fails(RlPreset::Tiny, &["play.visit=3".to_owned()]);
        assert!(error.contains("unknown field `visit`"), "{error}");
        let error = fails(RlPreset::Cpu, &[]);
        assert!(error.contains("train.sources"), "{error}");
        for (bad, key) in
            [("arena.rules.resign_moves=0", "arena.rules.resign_moves"), ("veto.recovery=0", "veto.recovery")]
        {
            let error = fails(RlPreset::Tiny, &[bad.to_owned()]);
            assert!(error.contains(&format!("{key} is 0, must be at least 1")), "{error}");
        }
    }

    #[test]
    fn keys_that_take_all_memory_or_time_are_refused_with_their_bound() {
        for (key, bound) in [
            ("play.visits", 1_000_000),
            ("play.games", 16_384),
            ("play.leaves", 256),
            ("play.workers", 256),
            ("games_per_iteration", 1_000_000_000),
            ("arena.visits", 1_000_000),
            ("arena.games", 1_000_000_000),
            ("arena.uct_visits", 1_000_000),
            ("arena.rules.games", 16_384),
            ("arena.rules.workers", 256),
        ] {
            let huge = [format!("{key}=9000000000000000000")];
            let error = format!("{:#}", RlConfig::load(RlPreset::Tiny, &[], &huge).unwrap_err());
            let expected =
                format!("the configuration: {key} is 9000000000000000000, must be at most {bound}");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn the_family_sparse_has_its_own_defaults_and_refuses_what_is_not_for_it() {
        let load = |overrides: &[&str]| {
            let family = ["train.model.family=sparse", "pretrain_mix_ratio=0"];
            let all = family.iter().chain(overrides).map(|text| (*text).to_owned());
            [RlPreset::Cpu, RlPreset::Gpu, RlPreset::Tiny]
                .map(|preset| RlConfig::load(preset, &[], &all.clone().collect::<Vec<_>>()))
        };
        for config in load(&["train.lr=0.25", "train.self_play.value_lambda=1"]) {
            let config = config.unwrap();
            let train = config.train.sparse().unwrap();
            let own = train.self_play.as_ref().unwrap();
            assert_eq!((train.lr, own.value_lambda, own.stride), (0.25, 1.0, 1));
            assert_eq!(
                serde_json::from_value::<RlConfig>(config.to_json()).unwrap().train.sparse().unwrap().lr,
                0.25
            );
        }
        for (bad, expected) in [
            ("quantise=true", "quantise does not apply to the family sparse"),
            ("runtime=torch", "runtime = torch does not apply"),
            ("kl.cost.weight=0.1", "kl.cost.weight does not apply"),
            ("train.ewc.weight=1", "train: ewc does not apply to the family sparse"),
            ("train.swa_from=0.5", "train: swa_from does not apply"),
            ("train.samples=5", "train.samples (set samples_per_position)"),
            ("train.batch=0", "train.batch · block must be"),
            ("train.self_play.fraction=0.5", "self_play has no fraction"),
        ] {
            for error in load(&[bad]) {
                let error = format!("{:#}", error.unwrap_err());
                assert!(error.contains(expected), "{bad}: {error}");
            }
        }
    }

    #[test]
    fn an_arena_has_enough_games_for_a_promotion() {
        let load = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
            let config = RlConfig::load(RlPreset::Tiny, &[], &overrides);
            config.map(|config| config.arena.games).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(load(&["arena.games=62"]), Ok(62));
        // An odd number of games is rounded up to pairs.
        assert_eq!(load(&["arena.games=61"]), Ok(61));
        let error = load(&["arena.games=60"]).unwrap_err();
        assert!(error.contains("arena.games is 60, must be at least 62"), "{error}");
        assert_eq!(load(&["arena.games=60", "arena.promotion.elo1=50"]), Ok(60));
        assert_eq!(load(&["arena.veto_games=2"]), Ok(200), "a veto has a threshold as well");
    }

    #[test]
    fn a_configuration_with_another_family_reads_back_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        let text = r#"{"pretrain_mix_ratio": 0, "train": {"model": {"family": "mlp", "hidden": [7]}}}"#;
        std::fs::write(&file, text).unwrap();
        let read = || RlConfig::load(RlPreset::Cpu, std::slice::from_ref(&file), &[]).unwrap();
        let config = read();
        assert_eq!(config.train.torch().unwrap().model.family(), "mlp");
        std::fs::write(&file, config.to_json().to_string()).unwrap();
        assert_eq!(read(), config, "as another run reads it");
        let own = RlSettings { own: Some(file.clone()), ..RlSettings::default() };
        assert_eq!(own.config().unwrap(), config, "as a resumed run reads its own");
        // Older versions wrote every key.
        std::fs::write(&file, serde_json::to_string(&config).unwrap()).unwrap();
        assert_eq!(own.config().unwrap(), config);
    }

    #[test]
    fn keys_that_the_loop_sets_are_refused_wherever_they_are() {
        for preset in [RlPreset::Cpu, RlPreset::Gpu, RlPreset::Tiny] {
            assert!([true, false].into_iter().all(|sparse| refuse_overwritten(&preset.json(sparse)).is_ok()));
        }
        for (key, instead) in SET_BY_THE_LOOP {
            let error = RlConfig::load(RlPreset::Tiny, &[], &[format!("train.{key}=1")]).unwrap_err();
            let error = format!("{error:#}");
            assert!(
                error.contains(&format!("train.{key} ({instead})")) && error.starts_with("--set: "),
                "{error}"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rl.json");
        std::fs::write(&file, r#"{"train": {"seed": 3, "epochs": 2, "batch": 8}}"#).unwrap();
        let error = format!("{:#}", RlConfig::load(RlPreset::Tiny, &[file], &[]).unwrap_err());
        assert!(error.contains("rl.json: rl would overwrite train.epochs ("), "{error}");
        assert!(error.contains("train.seed (set seed)"), "{error}");
        // In a new run the preset's keys count too.
        let settings = |overrides: &[&str]| RlSettings {
            preset: RlPreset::Tiny,
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            ..RlSettings::default()
        };
        assert_eq!(settings(&["train.model.filters=7"]).model_keys().unwrap()["filters"], 7);
        assert_eq!(settings(&[]).model_keys().unwrap()["blocks"], 2);
        let resumed = RlSettings { own: Some("config.json".into()), ..settings(&["train.lr=1"]) };
        assert_eq!(resumed.model_keys().unwrap(), json!({}));
        let other = settings(&["train.model={\"family\": \"linear\"}"]).model_keys().unwrap();
        assert_eq!(other, json!({ "family": "linear" }));
    }

    #[test]
    fn neuralmateplays_preset_has_the_documents_numbers() {
        let no_games = ["pretrain_mix_ratio=0".to_owned()];
        let config = RlConfig::load(RlPreset::Neuralmateplay, &[], &no_games).unwrap();
        let train = config.train.torch().unwrap();
        assert_eq!((config.play.visits, config.games_per_iteration, config.buffer_size), (800, 100, 500_000));
        assert_eq!((train.batch, train.lr), (1024, 5e-6));
        assert_eq!((config.arena.every, config.arena.games, config.arena.veto_games), (5, 20, 20));
        assert_eq!((config.kl.cost.weight, config.play.search.c_puct), (0.1, 1.5));
        // Thirty moves per side.
        let temperature = &config.play.temperature;
        assert_eq!((temperature.opening, temperature.plies, temperature.later), (1.0, 60, 0.1));
        let pretraining = crate::config::train::TrainPreset::Neuralmateplay.parse("{}", &[]).unwrap();
        assert_eq!(train.model, pretraining.model);
        // Settings that NeuralMatePlay's description does not mention.
        assert!(!config.play.prune && config.play.resign.threshold >= 1.0);
        assert_eq!((config.recent_weight, train.history_dropout, train.value_lambda), (1.0, 0.0, 1.0));
        let json = RlPreset::Neuralmateplay.json(false);
        assert_eq!(json["pretrain_mix_ratio"], 0.5);
        // Settings that the description leaves open follow the preset's comment.
        assert_eq!(
            (config.play.max_plies, config.play.cut_is_draw, config.play.search.fpu),
            (400, true, 0.33)
        );
        assert_eq!((config.play.noise.alpha, config.play.noise.epsilon), (0.3, 0.25));
        assert_eq!((config.samples_per_position, config.veto.recovery), (4.0, 15));
        assert_eq!((config.kl.cost.target, config.kl.cost.factor, config.kl.cost.most), (0.1, 2.0, 1.0));
        let arena = &config.arena;
        assert_eq!((arena.visits, arena.rules.random_plies, arena.uct_visits), (100, 6, 200));
        assert_eq!((train.optimiser, train.betas), (OptimiserKind::AdamW, [0.9, 0.98]));
        assert_eq!((train.weight_decay, train.clip, train.warmup_steps), (2e-4, 1.0, 100));
        assert_eq!((train.ema, train.mask_illegal, train.precision), (0.999, true, Precision::Auto));
    }

    #[test]
    fn the_gpu_preset_is_neuralmateplays() {
        let config = RlConfig::load(RlPreset::Gpu, &[], &["pretrain_mix_ratio=0".to_owned()]).unwrap();
        assert_eq!((config.play.visits, config.train.torch().unwrap().batch), (800, 1024));
        assert_eq!((config.buffer_size, config.arena.every, config.kl.cost.weight), (500_000, 5, 0.1));
        assert_eq!((config.play.search.c_puct, config.play.temperature.plies), (1.5, 30));
        // NeuralMatePlay's hundred games would not fill the batch.
        assert!(config.play.games * config.play.leaves >= 256 && config.games_per_iteration >= 2 * 256);
        assert_eq!((config.play.workers, config.arena.rules.games), (0, 256));
    }
}
