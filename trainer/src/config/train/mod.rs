//! Every family other than `sparse`.

mod parts;
mod precision;
mod preset;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::{self, MAX_THREADS};
use super::layers::place;
use super::model::ModelConfig;
use super::run::{EpochConfig, RunConfig, Schedule, VALUE_LAMBDA};
use super::selection::{check_names, check_source};

pub use parts::{EwcConfig, OptimiserKind, SourceConfig, TacticalReplay, TeacherConfig};
pub use precision::Precision;
pub use preset::TrainPreset;

/// Also bounds the number of accumulated batches.
const MAX_BATCH: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    pub model: ModelConfig,

    /// Games to train on.
    pub sources: Vec<SourceConfig>,
    /// λ of the value target: λ · game result + (1 − λ) · recorded evaluation.
    pub value_lambda: f64,
    /// Share of samples whose history is cut from three previous boards to zero, one or two. Otherwise the network
    /// could tell puzzles and other set-up positions by their missing history.
    pub history_dropout: f64,
    /// Percentage of games held out for validation. Another 1 % is always held out for testing.
    pub validation_percent: u64,
    /// Threads that replay and encode games, at most 256.
    pub loader_threads: usize,
    /// Seeds the initial weights, shuffling and dropout.
    pub seed: u64,

    /// Samples per batch.
    pub batch: usize,
    /// The run ends after this many samples.
    pub samples: u64,
    /// The run ends after this many minutes of training; 0 for no limit.
    pub minutes: f64,
    /// If above 0, replaces `samples`. An epoch passes over every source at least once, mixed by weight.
    pub epochs: f64,
    /// Of the network's arithmetic; `auto` is bf16 where that is faster.
    pub precision: Precision,
    /// 0 for libtorch's default.
    pub torch_threads: usize,

    /// Rule of the updates; `sgd` needs learning rates about a hundred times those of `adamw`.
    pub optimiser: OptimiserKind,
    /// Highest learning rate.
    pub lr: f64,
    /// Final learning rate of the cosine schedule, minimum of the plateau schedule.
    pub min_lr: f64,
    /// Linear warm-up from zero.
    pub warmup_steps: u64,
    /// Course of the learning rate.
    pub schedule: Schedule,
    /// See `plateau_patience`.
    pub plateau_factor: f64,
    /// Validations without improvement before the plateau schedule multiplies the learning rate by `plateau_factor`.
    pub plateau_patience: u64,
    /// Of `adamw`: decays of the gradients' mean and of the squared gradients' mean.
    pub betas: [f64; 2],
    /// Of `adamw`: added to the root of the squared gradients' mean.
    pub epsilon: f64,
    /// Of `sgd`.
    pub momentum: f64,
    /// For `sgd`.
    pub nesterov: bool,
    /// Decoupled decay of matrices and kernels, multiplied by the learning rate.
    pub weight_decay: f64,
    /// Gradients with a larger L2 norm are clipped to it; 0 for never.
    pub clip: f64,
    /// Batches per optimiser step.
    pub accumulation: usize,
    /// Time constant in samples of the averaged weights, which are validated and exported. A run from random weights
    /// uses a tenth of the samples seen where that is less. 0: `ema` sets it.
    pub average_samples: u64,
    /// Decay per step of the average: the time constant is the samples of a step, divided by 1 − `ema`.
    pub ema: f64,
    /// Share of the run after which the average is an arithmetic mean (stochastic weight averaging); 1 for never.
    pub swa_from: f64,
    pub ewc: EwcConfig,
    pub tactical_replay: TacticalReplay,
    /// Weight in the policy loss of positions whose target move captures, checks or promotes; others have 1.
    pub tactical_weight: f64,
    pub teacher: TeacherConfig,

    /// Relative to the policy loss.
    pub value_weight: f64,
    /// Whether the softmax is over legal moves only, as at inference. Otherwise it is over the whole policy scheme.
    pub mask_illegal: bool,
    /// Share of the policy target spread evenly over the softmax's moves; only for targets that are the move played
    /// alone.
    pub label_smoothing: f64,
    /// Weight of the policy's entropy in nats, which the loss subtracts.
    pub entropy_weight: f64,

    /// Steps between reports.
    pub report_every: u64,
    /// Steps between validations.
    pub validate_every: u64,
    /// If above 0, replaces `validate_every`.
    pub validate_epochs: f64,
    /// Held-out batches per validation.
    pub validation_batches: usize,
    /// Consecutive validations without improvement after which the run ends; 0 for never.
    pub early_stop: u64,
    /// Seconds between checkpoints.
    pub checkpoint_every_s: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            model: ModelConfig::default(),
            sources: Vec::new(),
            value_lambda: VALUE_LAMBDA,
            history_dropout: 0.1,
            validation_percent: 1,
            loader_threads: 1,
            seed: 1,
            batch: 1024,
            samples: 10_000_000,
            minutes: 0.0,
            epochs: 0.0,
            precision: Precision::Auto,
            torch_threads: 0,
            optimiser: OptimiserKind::default(),
            lr: 2e-3,
            min_lr: 2e-5,
            warmup_steps: 500,
            schedule: Schedule::Cosine,
            plateau_factor: 0.5,
            plateau_patience: 5,
            betas: [0.9, 0.98],
            epsilon: 1e-8,
            momentum: 0.9,
            nesterov: true,
            weight_decay: 0.02,
            clip: 1.0,
            accumulation: 1,
            average_samples: 0,
            ema: 0.999,
            swa_from: 1.0,
            ewc: EwcConfig::default(),
            tactical_replay: TacticalReplay::default(),
            tactical_weight: 1.0,
            teacher: TeacherConfig::default(),
            value_weight: 1.0,
            mask_illegal: true,
            label_smoothing: 0.0,
            entropy_weight: 0.0,
            report_every: 50,
            validate_every: 1000,
            validate_epochs: 0.0,
            validation_batches: 20,
            early_stop: 0,
            checkpoint_every_s: 600.0,
        }
    }
}

impl TrainConfig {
    /// From [merged](super::layers::merged) `files`, which errors name.
    pub fn of(json: Value, files: &[PathBuf]) -> Result<TrainConfig> {
        preset::resolve(json).with_context(|| place(files))
    }

    pub fn parse(text: &str, overrides: &[String]) -> Result<TrainConfig> {
        TrainPreset::Philidor.parse(text, overrides)
    }

    /// An error names the key.
    pub fn check(&self) -> Result<()> {
        self.model.check()?;
        self.run().check()?;
        self.in_epochs().check()?;
        let [first, second] = self.betas;
        bounds::shares(&[
            ("value_lambda", self.value_lambda, 1.0),
            ("history_dropout", self.history_dropout, 1.0),
            ("label_smoothing", self.label_smoothing, 1.0),
            ("ema", self.ema, 1.0),
            ("swa_from", self.swa_from, 1.0),
            ("tactical_replay.share", self.tactical_replay.share, 0.9),
            ("teacher.alpha", self.teacher.alpha, 1.0),
            ("betas", first, 0.999_999),
            ("betas", second, 0.999_999),
            ("momentum", self.momentum, 0.999_999),
        ])?;
        let counts = [
            ("batch", self.batch as u64, MAX_BATCH),
            ("accumulation", self.accumulation as u64, MAX_BATCH),
            ("loader_threads", self.loader_threads as u64, MAX_THREADS),
            ("ewc.samples", self.ewc.samples, u64::MAX),
        ];
        for (key, value, most) in counts {
            if value == 0 {
                bail!("{key} must be at least 1");
            }
            if value > most {
                bail!("{key} is {value}, must be at most {most}");
            }
        }
        if self.torch_threads as u64 > MAX_THREADS {
            bail!("torch_threads is {}, must be at most {MAX_THREADS}", self.torch_threads);
        }
        if !(1..=98).contains(&self.validation_percent) {
            bail!("validation_percent is {}, must be 1 to 98", self.validation_percent);
        }
        if self.replayed_samples() >= self.batch {
            bail!("tactical_replay.share leaves no new samples in a batch of {}", self.batch);
        }
        bounds::not_negative(&[
            ("epsilon", self.epsilon),
            ("weight_decay", self.weight_decay),
            ("clip", self.clip),
            ("tactical_weight", self.tactical_weight),
            ("entropy_weight", self.entropy_weight),
            ("ewc.weight", self.ewc.weight),
            ("tactical_replay.threshold", self.tactical_replay.threshold),
        ])?;
        bounds::positive(&[("teacher.temperature", self.teacher.temperature)])?;
        for source in self.sources.iter().chain(&self.ewc.sources) {
            check_source(&source.name, source.weight, source.fraction, &source.select)?;
        }
        check_names(self.sources.iter().map(|source| source.name.as_str()))?;
        Ok(())
    }

    /// Reduces paths to file names, for distribution.
    pub fn without_folders(&self) -> TrainConfig {
        let mut config = self.clone();
        let sources = config.sources.iter_mut().chain(&mut config.ewc.sources);
        let paths = sources.flat_map(|source| &mut source.paths).chain([&mut config.teacher.net]);
        for path in paths {
            if let Some(name) = Path::new(path).file_name() {
                *path = name.to_string_lossy().into_owned();
            }
        }
        config
    }

    pub fn in_epochs(&self) -> EpochConfig {
        EpochConfig { epochs: self.epochs, validate_epochs: self.validate_epochs }
    }

    pub fn run(&self) -> RunConfig {
        let step_samples = (self.batch as u64).saturating_mul(self.accumulation as u64);
        RunConfig {
            samples: self.samples,
            minutes: self.minutes,
            lr: self.lr,
            min_lr: self.min_lr,
            warmup_samples: self.warmup_steps.saturating_mul(step_samples),
            step_samples,
            average_samples: match self.average_samples {
                0 => step_samples as f64 / (1.0 - self.ema),
                samples => samples as f64,
            },
            swa_from: self.swa_from,
            schedule: self.schedule,
            plateau_factor: self.plateau_factor,
            plateau_patience: self.plateau_patience,
            value_weight: self.value_weight,
            report_every: self.report_every,
            validate_every: self.validate_every,
            early_stop: self.early_stop,
            checkpoint_every_s: self.checkpoint_every_s,
        }
    }

    /// `step` counts from 0; `progress` is 0 to 1.
    pub fn learning_rate(&self, step: u64, progress: f64) -> f64 {
        let run = self.run();
        run.learning_rate(step * run.step_samples, progress)
    }

    pub fn replayed_samples(&self) -> usize {
        (self.tactical_replay.share * self.batch as f64).round() as usize
    }

    pub fn new_samples(&self) -> usize {
        self.batch - self.replayed_samples()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for (text, expected) in [
            ("lr=-1", "lr is -1, must be positive"),
            ("lr=0", "lr is 0, must be positive"),
            ("min_lr=1", "min_lr is 1, must be 0 to 0.002"),
            ("batch=1000000000000", "batch is 1000000000000, must be at most 1048576"),
            ("accumulation=100000000", "accumulation is 100000000, must be at most 1048576"),
            ("loader_threads=1000000", "loader_threads is 1000000, must be at most 256"),
            ("loader_threads=0", "loader_threads must be at least 1"),
            ("torch_threads=5000000000", "torch_threads is 5000000000, must be at most 256"),
            ("weight_decay=-0.1", "weight_decay is -0.1, must not be negative"),
            (
                r#"sources=[{"name": "a", "paths": [], "weight": -1}]"#,
                "source a: weight is -1, must not be negative",
            ),
            (
                r#"sources=[{"name": "a", "paths": [], "fraction": 0}]"#,
                "source a: fraction is 0, must be above 0 and at most 1",
            ),
            (
                r#"sources=[{"name": "a", "paths": [], "fraction": 1.5}]"#,
                "source a: fraction is 1.5, must be above 0 and at most 1",
            ),
            (
                r#"sources=[{"name": "a", "paths": [], "select": {"min_elo": 9, "max_elo": 8}}]"#,
                "source a: select: min_elo is 9, beyond max_elo, 8",
            ),
            (
                r#"sources=[{"name": "a", "paths": [], "select": {"since": 2018}}]"#,
                "source a: select: since is 2018: a date is yyyymmdd, such as 20180101",
            ),
            (
                r#"sources=[{"name": "a", "paths": []}, {"name": "a", "paths": ["x"]}]"#,
                "two sources are called a",
            ),
        ] {
            let error = TrainConfig::parse("{}", &[text.to_owned()]).unwrap_err().to_string();
            assert_eq!(error, expected, "{text}");
        }
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        for text in [r#"{"batchsize": 1}"#, r#"{"model": {"depth": 3}}"#] {
            assert!(TrainConfig::parse(text, &[]).unwrap_err().to_string().contains("unknown field"));
        }
        let error = TrainConfig::parse("{}", &["optimizer.lr=1".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("unknown field `optimizer`"), "{error}");
    }

    #[test]
    fn the_resolved_configuration_reads_back_the_same() {
        let overrides = ["model.filters=96".to_owned(), "model.norm=group".to_owned(), "lr=0.001".to_owned()];
        let config = TrainConfig::parse(r#"{"batch": 7}"#, &overrides).unwrap();
        let ModelConfig::Resnet(model) = &config.model else { panic!("{}", config.model.family()) };
        assert_eq!((config.batch, model.filters, config.lr), (7, 96, 0.001));
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(TrainConfig::parse(&text, &[]).unwrap(), config);
    }

    #[test]
    fn a_distributed_configuration_contains_no_folders() {
        let text = r#"{
            "sources": [{"name": "a", "paths": ["/home/me/a-*.h5", "b.h5"]}],
            "ewc": {"sources": [{"name": "c", "paths": ["/home/me/c.h5"]}]},
            "teacher": {"net": "/home/me/big.onnx"}
        }"#;
        let config = TrainConfig::parse(text, &[]).unwrap().without_folders();
        assert_eq!(config.sources[0].paths, ["a-*.h5", "b.h5"]);
        assert_eq!(
            (config.ewc.sources[0].paths[0].as_str(), config.teacher.net.as_str()),
            ("c.h5", "big.onnx")
        );
    }
}
