use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use engine::nets::sparse::SparseFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::run::{EpochConfig, RunConfig, Schedule, VALUE_LAMBDA};
use super::selection::{check_names, check_source};
use super::{Selection, bounds, layers};

const MAX_BLOCK: usize = 1 << 22;
const MAX_THREADS: usize = 256;
const MAX_WIDTH: usize = 1 << 14;

/// Adam (Kingma and Ba 2015) with decoupled weight decay (Loshchilov and Hutter 2019).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SparseAdam {
    /// Decay of the gradients' mean.
    pub beta1: f32,
    /// Decay of the squared gradients' mean.
    pub beta2: f32,
    /// Added to the root of the squared gradients' mean.
    pub epsilon: f32,
    /// Decay of tables and matrices, multiplied by the learning rate.
    pub weight_decay: f32,
    /// Leaves table rows unchanged that no sample of a batch uses. Otherwise their moments decay and still move them.
    pub lazy: bool,
}

impl Default for SparseAdam {
    fn default() -> SparseAdam {
        SparseAdam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0, lazy: true }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SparseFamily {
    #[default]
    Sparse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SparseModelConfig {
    /// Tables of features and small matrices, for the CPU.
    pub family: SparseFamily,
    /// Width of the policy embedding, a multiple of 128.
    pub policy: usize,
    /// Width of the value embedding, a multiple of 64.
    pub value: usize,
    /// Width of the value's hidden layer, a multiple of 16.
    pub hidden: usize,
}

impl Default for SparseModelConfig {
    fn default() -> SparseModelConfig {
        SparseModelConfig { family: SparseFamily::Sparse, policy: 768, value: 256, hidden: 32 }
    }
}

/// Training games; `name` and `paths` have no default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SparseSourceConfig {
    /// Name of the source in reports.
    pub name: String,
    /// `games/1` files; `*` and `?` are wildcards.
    pub paths: Vec<String>,
    /// Share of the samples, relative to the other sources.
    pub weight: f64,
    pub select: Selection,
    /// Share of the training games that are used, above 0 to 1, chosen by their hash: a larger share has the games of a
    /// smaller. Validation uses all of its games.
    pub fraction: f64,
    /// An epoch uses every `stride`-th position of a game, the next epoch others.
    pub stride: usize,
    /// λ of the value target: λ · game result + (1 − λ) · recorded evaluation.
    pub value_lambda: f64,
    /// λ of the policy target: λ · move played + (1 − λ) · recorded search policy or best move of an engine.
    pub policy_lambda: f64,
    /// Share of the policy target spread evenly over the legal moves; only for targets that are the move played alone.
    pub label_smoothing: f64,
    /// Share of samples that lose their last move and repetitions, like set-up positions.
    pub history_dropout: f64,
    /// Weight of the policy loss.
    pub policy_weight: f64,
    /// Weight of the value loss.
    pub value_weight: f64,
    /// Network whose outputs replace the recorded targets: a file of the family `sparse`, or `embedded`; empty for
    /// none.
    pub teacher: String,
    /// Most random moves made before the teacher labels a position.
    pub random_moves: usize,
}

impl Default for SparseSourceConfig {
    fn default() -> SparseSourceConfig {
        SparseSourceConfig {
            name: String::new(),
            paths: Vec::new(),
            weight: 1.0,
            select: Selection::default(),
            fraction: 1.0,
            stride: 8,
            value_lambda: VALUE_LAMBDA,
            policy_lambda: 0.0,
            label_smoothing: 0.0,
            history_dropout: 0.0,
            policy_weight: 1.0,
            value_weight: 1.0,
            teacher: String::new(),
            random_moves: 0,
        }
    }
}

impl SparseSourceConfig {
    fn check(&self) -> Result<()> {
        ensure!(!self.name.is_empty(), "a source has no name");
        ensure!(!self.paths.is_empty(), "source {} has no paths", self.name);
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<()> {
        let name = &self.name;
        check_source(name, self.weight, self.fraction, &self.select)?;
        let checked = bounds::in_range(&[
            ("stride", 1, self.stride as u64, 1000),
            ("random_moves", 0, self.random_moves as u64, 100),
        ])
        .and_then(|()| {
            bounds::shares(&[
                ("value_lambda", self.value_lambda, 1.0),
                ("policy_lambda", self.policy_lambda, 1.0),
                ("label_smoothing", self.label_smoothing, 1.0),
                ("history_dropout", self.history_dropout, 1.0),
                ("policy_weight", self.policy_weight, 1e6),
                ("value_weight", self.value_weight, 1e6),
            ])
        });
        checked.map_err(|why| anyhow!("source {name}: {why}"))?;
        let random = self.random_moves > 0;
        ensure!(!random || !self.teacher.is_empty(), "source {name}: random_moves needs a teacher");
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SparseTrainConfig {
    pub model: SparseModelConfig,

    /// Games to train on.
    pub sources: Vec<SparseSourceConfig>,
    /// How `rl` learns from its own games: a source without paths, whose `weight` the loop sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_play: Option<SparseSourceConfig>,
    /// Percentage of games held out for validation. Another 1 % is always held out for testing.
    pub validation_percent: u64,
    /// At most 256; 0 for one per processor. Results do not depend on it.
    pub threads: usize,
    /// Seeds the initial weights and shuffling.
    pub seed: u64,

    /// Samples per step.
    pub batch: usize,
    /// Batches that are shuffled together.
    pub block: usize,
    /// The run ends after this many samples.
    pub samples: u64,
    /// The run ends after this many minutes of training; 0 for no limit.
    pub minutes: f64,
    /// If above 0, replaces `samples`. An epoch passes over every source at least once, mixed by weight.
    pub epochs: f64,

    /// Highest learning rate.
    pub lr: f64,
    /// Final learning rate of the cosine schedule, minimum of the plateau schedule.
    pub min_lr: f64,
    /// Linear warm-up from zero.
    pub warmup_samples: u64,
    /// Course of the learning rate.
    pub schedule: Schedule,
    /// See `plateau_patience`.
    pub plateau_factor: f64,
    /// Validations without improvement before the plateau schedule multiplies the learning rate by `plateau_factor`.
    pub plateau_patience: u64,
    pub adam: SparseAdam,
    /// Time constant of the weights' moving average, in samples. In a run from random weights at most a tenth of the
    /// samples so far.
    pub average_samples: u64,

    /// Steps between reports.
    pub report_every: u64,
    /// Steps between validations.
    pub validate_every: u64,
    /// If above 0, replaces `validate_every`.
    pub validate_epochs: f64,
    /// Held-out positions per source.
    pub validation_samples: usize,
    /// Consecutive validations without improvement after which the run ends; 0 for never.
    pub early_stop: u64,
    /// Seconds between checkpoints.
    pub checkpoint_every_s: f64,
}

impl Default for SparseTrainConfig {
    fn default() -> SparseTrainConfig {
        SparseTrainConfig {
            model: SparseModelConfig::default(),
            sources: Vec::new(),
            self_play: None,
            validation_percent: 1,
            threads: 0,
            seed: 1,
            batch: 4096,
            block: 64,
            samples: 20_000_000,
            minutes: 0.0,
            epochs: 0.0,
            lr: 0.006,
            min_lr: 0.0001,
            warmup_samples: 100_000,
            schedule: Schedule::Cosine,
            plateau_factor: 0.5,
            plateau_patience: 5,
            adam: SparseAdam { lazy: false, ..SparseAdam::default() },
            average_samples: 4_000_000,
            report_every: 50,
            validate_every: 500,
            validate_epochs: 0.0,
            validation_samples: 20_000,
            early_stop: 0,
            checkpoint_every_s: 600.0,
        }
    }
}

pub fn is_sparse(config: &Value) -> bool {
    config["model"]["family"] == "sparse"
}

/// A checkpoint, plain weights, or ONNX. False if unreadable.
pub fn holds_sparse(path: &Path) -> bool {
    safetensors_format(path).is_some_and(|format| format.starts_with("sparse-"))
        || std::fs::read(path).is_ok_and(|bytes| SparseFile::recognise(&bytes).is_some())
}

pub fn safetensors_format(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut length = [0; 8];
    file.read_exact(&mut length).ok()?;
    let header: Value = serde_json::from_reader(file.take(u64::from_le_bytes(length))).ok()?;
    header["__metadata__"]["format"].as_str().map(str::to_owned)
}

fn refuse_foreign(json: &Value) -> Result<()> {
    let known = serde_json::to_value(SparseTrainConfig::default()).expect("numbers and text make JSON");
    let others = serde_json::to_value(super::TrainConfig::default()).expect("numbers and text make JSON");
    let keys = json.as_object().into_iter().flat_map(|json| json.keys());
    let foreign: Vec<&str> = keys
        .filter(|key| known.get(key).is_none() && others.get(key).is_some())
        .map(String::as_str)
        .collect();
    let plural = if foreign.len() == 1 { "does" } else { "do" };
    ensure!(foreign.is_empty(), "{} {plural} not apply to the family sparse", foreign.join(", "));
    Ok(())
}

impl TryFrom<Value> for SparseTrainConfig {
    type Error = anyhow::Error;

    fn try_from(mut json: Value) -> Result<SparseTrainConfig> {
        layers::give_defaults(&mut json);
        refuse_foreign(&json)?;
        layers::parsed(json)
    }
}

impl SparseTrainConfig {
    /// `json` is merged from `files`, which are for errors.
    pub fn of(json: Value, files: &[PathBuf]) -> Result<SparseTrainConfig> {
        let config = SparseTrainConfig::try_from(json).with_context(|| layers::place(files))?;
        config.check().with_context(|| layers::place(files))?;
        Ok(config)
    }

    pub fn load(files: &[PathBuf], overrides: &[String]) -> Result<SparseTrainConfig> {
        SparseTrainConfig::of(layers::merged(Value::Object(Map::new()), files, overrides)?, files)
    }

    /// Removes paths of games and folders of teachers, for distribution.
    pub fn without_folders(&self) -> SparseTrainConfig {
        let mut config = self.clone();
        for source in config.sources.iter_mut().chain(&mut config.self_play) {
            source.paths.clear();
            if let Some(name) = Path::new(&source.teacher).file_name() {
                source.teacher = name.to_string_lossy().into_owned();
            }
        }
        config
    }

    pub fn in_epochs(&self) -> EpochConfig {
        EpochConfig { epochs: self.epochs, validate_epochs: self.validate_epochs }
    }

    pub fn run(&self) -> RunConfig {
        RunConfig {
            samples: self.samples,
            minutes: self.minutes,
            lr: self.lr,
            min_lr: self.min_lr,
            warmup_samples: self.warmup_samples,
            step_samples: self.batch as u64,
            average_samples: self.average_samples as f64,
            swa_from: 1.0,
            schedule: self.schedule,
            plateau_factor: self.plateau_factor,
            plateau_patience: self.plateau_patience,
            // The loss already includes the sources' weights.
            value_weight: 1.0,
            report_every: self.report_every,
            validate_every: self.validate_every,
            early_stop: self.early_stop,
            checkpoint_every_s: self.checkpoint_every_s,
        }
    }

    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS)),
            threads => threads,
        }
    }

    pub fn check(&self) -> Result<()> {
        ensure!(
            !self.sources.is_empty(),
            "no sources: name files of games under \"sources\" in the configuration"
        );
        ensure!(self.self_play.is_none(), "self_play is for rl");
        self.check_parts()
    }

    /// Like [`SparseTrainConfig::check`], but without requiring sources.
    pub fn check_parts(&self) -> Result<()> {
        self.sources.iter().try_for_each(SparseSourceConfig::check)?;
        check_names(self.sources.iter().map(|source| source.name.as_str()))?;
        self.self_play.iter().try_for_each(SparseSourceConfig::check_numbers)?;
        let taught = self.self_play.as_ref().is_some_and(|own| !own.teacher.is_empty());
        ensure!(!taught, "self_play has no teacher: its searches are its targets");
        let all = self.self_play.as_ref().is_none_or(|own| own.fraction == 1.0);
        ensure!(all, "self_play has no fraction: all of a run's own games are used");
        let model = &self.model;
        for (key, width, unit) in
            [("policy", model.policy, 128), ("value", model.value, 64), ("hidden", model.hidden, 16)]
        {
            let valid = width > 0 && width.is_multiple_of(unit) && width <= MAX_WIDTH;
            ensure!(valid, "model.{key} must be a multiple of {unit}, at most {MAX_WIDTH}");
        }
        ensure!((1..=98).contains(&self.validation_percent), "validation_percent must be 1 to 98");
        ensure!(self.threads <= MAX_THREADS, "threads must be at most {MAX_THREADS}");
        let block = self.batch.checked_mul(self.block);
        let valid = block.is_some_and(|samples| (1..=MAX_BLOCK).contains(&samples));
        ensure!(valid, "batch · block must be 1 to {MAX_BLOCK} samples");
        self.run().check()?;
        self.in_epochs().check()?;
        let SparseAdam { beta1, beta2, epsilon, weight_decay, .. } = self.adam;
        bounds::shares(&[
            ("adam.beta1", beta1, 0.999_999),
            ("adam.beta2", beta2, 0.999_999),
            ("adam.epsilon", epsilon, 1.0),
            ("adam.weight_decay", weight_decay, 1.0),
        ])?;
        bounds::positive(&[("adam.epsilon", epsilon)])?;
        bounds::in_range(&[("average_samples", 1, self.average_samples, u64::MAX)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, overrides: &[&str]) -> Result<SparseTrainConfig> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        SparseTrainConfig::load(&[path], &overrides)
    }

    const GAMES: &str =
        r#"{"model": {"family": "sparse"}, "sources": [{"name": "games", "paths": ["a.h5"], "weight": 2}]}"#;

    #[test]
    fn every_key_but_the_sources_has_a_default() {
        let config = load(GAMES, &["model.policy=128", "lr=0.01"]).unwrap();
        let source = SparseSourceConfig {
            name: "games".into(),
            paths: vec!["a.h5".into()],
            weight: 2.0,
            ..SparseSourceConfig::default()
        };
        let model = SparseModelConfig { policy: 128, ..SparseModelConfig::default() };
        let expected =
            SparseTrainConfig { model, sources: vec![source], lr: 0.01, ..SparseTrainConfig::default() };
        assert_eq!(config, expected);
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<SparseTrainConfig>(&text).unwrap(), config);
    }

    #[test]
    fn the_preset_is_how_the_shipped_network_was_trained() {
        let files = [PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/philidor.json"))];
        let shipped = SparseTrainConfig::load(&files, &[]).unwrap();
        let preset = crate::config::train::TrainPreset::Cpu.json();
        let both = layers::merged(preset.clone(), &files, &[]).unwrap();
        assert_eq!(SparseTrainConfig::of(both, &files).unwrap().adam, shipped.adam);
        let mut json = preset;
        layers::lay_over(
            &mut json,
            serde_json::json!({ "sources": [{ "name": "games", "paths": ["a.h5"] }] }),
        );
        assert!(is_sparse(&json));
        let config = SparseTrainConfig::of(json, &[]).unwrap();
        let learns = |config: &SparseTrainConfig| {
            let SparseTrainConfig { model, batch, lr, min_lr, warmup_samples, average_samples, .. } = config;
            (*model, *batch, *lr, *min_lr, *warmup_samples, *average_samples)
        };
        assert_eq!(learns(&config), learns(&shipped));
        assert_eq!(config.sources[0].history_dropout, 0.1);
        let run = config.run();
        assert_eq!((run.progress(config.samples / 2, 1e9), run.progress(0, 0.0)), (0.5, 0.0));
        let timed = SparseTrainConfig { minutes: 1.0, ..config }.run();
        assert_eq!((timed.progress(0, 45.0), timed.progress(0, 90.0)), (0.75, 1.0));
    }

    #[test]
    fn distributed_files_name_no_folders() {
        let config = load(GAMES, &["source_defaults.teacher=/home/me/net.onnx"]).unwrap().without_folders();
        assert_eq!((config.sources[0].paths.len(), config.sources[0].teacher.as_str()), (0, "net.onnx"));
    }

    #[test]
    fn what_is_invalid_is_named() {
        let error = |overrides: &str| format!("{:#}", load(GAMES, &[overrides]).unwrap_err());
        for (setting, expected) in [
            ("modle=1", "unknown field `modle`"),
            ("ewc.weight=1", "ewc does not apply to the family sparse"),
            ("model.policy=100", "model.policy must be a multiple of 128"),
            ("lr=-1", "lr is -1, must be positive"),
            ("min_lr=0.5", "min_lr is 0.5, must be 0 to 0.006"),
            ("report_every=0", "report_every must be at least 1"),
            ("batch=100000000000", "batch · block must be"),
            ("threads=1000000", "threads must be at most 256"),
            ("sources=[]", "no sources"),
            (r#"sources=[{"name": "a"}]"#, "source a has no paths"),
            (
                r#"sources=[{"name": "games", "paths": ["a.h5"], "weight": -1}]"#,
                "source games: weight is -1, must not be negative",
            ),
            ("source_defaults.fraction=0", "source games: fraction is 0, must be above 0 and at most 1"),
            (
                r#"source_defaults.select={"min_elo": 9, "max_elo": 8}"#,
                "source games: select: min_elo is 9, beyond max_elo, 8",
            ),
            ("source_defaults.stride=0", "source games: stride is 0, must be at least 1"),
            ("source_defaults.policy_lambda=2", "source games: policy_lambda is 2, must be 0 to 1"),
            ("adam.beta2=1", "adam.beta2 is 1, must be 0 to 0.999999"),
            ("adam.epsilon=0", "adam.epsilon is 0, must be positive"),
            ("average_samples=0", "average_samples is 0, must be at least 1"),
            ("source_defaults.random_moves=3", "source games: random_moves needs a teacher"),
        ] {
            assert!(error(setting).contains(expected), "{setting}: {}", error(setting));
        }
    }
}
