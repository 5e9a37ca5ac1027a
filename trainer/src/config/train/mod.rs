//! A training run's settings: every key has a default, an unknown key is an error.

mod parts;
mod precision;
mod preset;

use super::layers::{lay_files, place};
use crate::config::model::ModelConfig;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub use parts::{EwcConfig, OptimiserKind, Schedule, SourceConfig, TacticalReplay, TeacherConfig};
pub use precision::Precision;
pub use preset::Preset;

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The network.
    pub model: ModelConfig,

    /// What to learn from; mixed by weight.
    pub sources: Vec<SourceConfig>,
    /// Value target: this share of the game's result, the rest of the recorded evaluation.
    pub value_lambda: f64,
    /// Share of samples that know none, one or two of the three boards before theirs, as positions
    /// that are set up do, lest missing history be the mark of a puzzle.
    pub history_dropout: f64,
    /// Per cent of the games that are held out for validation. One in a hundred always is, another for the test.
    pub validation_percent: u64,
    /// Threads that replay and encode games.
    pub loader_threads: usize,
    /// Seeds the first weights, the shuffle and dropout.
    pub seed: u64,

    /// Samples a step.
    pub batch: usize,
    /// The run ends after this many samples, …
    pub samples: u64,
    /// … or after this many minutes of training; 0 for no such bound.
    pub minutes: f64,
    /// If above 0, `samples` is set to this many epochs, in each of which every source is gone through at least
    /// once, at its weight.
    pub epochs: f64,
    /// The kind to compute in.
    pub precision: Precision,
    /// Threads libtorch computes with on a CPU; 0 for its own choice.
    pub torch_threads: usize,

    /// How the gradient becomes a step.
    pub optimiser: OptimiserKind,
    /// Peak learning rate.
    pub lr: f64,
    /// Last learning rate of a cosine schedule, least of a plateau schedule.
    pub min_lr: f64,
    /// Steps in which the learning rate rises from zero.
    pub warmup_steps: u64,
    /// How the learning rate falls.
    pub schedule: Schedule,
    /// What a plateau schedule multiplies the learning rate by.
    pub plateau_factor: f64,
    /// How many validations without a new best it waits before that.
    pub plateau_patience: u64,
    /// AdamW's decays of first and second moment.
    pub betas: [f64; 2],
    /// AdamW's guard against division by zero.
    pub epsilon: f64,
    /// Momentum of `sgd`.
    pub momentum: f64,
    /// Whether that is Nesterov's, which looks ahead.
    pub nesterov: bool,
    /// Decoupled weight decay of matrices and kernels, times the learning rate a step.
    pub weight_decay: f64,
    /// Bound on the norm of the gradient; 0 for none.
    pub clip: f64,
    /// Batches whose mean gradient makes one step.
    pub accumulation: usize,
    /// Decay a step of the averaged weights that are validated and exported.
    pub ema: f64,
    /// From this share of the run on, those are the plain mean of all weights instead (SWA); 1 for never.
    pub swa_from: f64,
    /// Elastic weight consolidation.
    pub ewc: EwcConfig,
    /// Tactical replay.
    pub tactical_replay: TacticalReplay,
    /// Distillation.
    pub teacher: TeacherConfig,

    /// Weight of the value's loss beside the policy's.
    pub value_weight: f64,
    /// Softmax over legal moves only, as in play; else over all indices of the policy's scheme.
    pub mask_illegal: bool,
    /// Share of the policy target spread evenly over the moves that the softmax is over.
    pub label_smoothing: f64,
    /// Reward for an undecided policy: this times its entropy (nat) is taken from the loss.
    pub entropy_weight: f64,

    /// Steps between lines of `metrics.jsonl`.
    pub report_every: u64,
    /// Steps between validations.
    pub validate_every: u64,
    /// Batches of held-out samples a validation.
    pub validation_batches: usize,
    /// The run ends after this many validations in a row without a new best; 0 for no such end.
    pub early_stop: u64,
    /// Seconds between checkpoints.
    pub checkpoint_every_s: f64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            model: ModelConfig::default(),
            sources: Vec::new(),
            value_lambda: 0.75,
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
            ema: 0.999,
            swa_from: 1.0,
            ewc: EwcConfig::default(),
            tactical_replay: TacticalReplay::default(),
            teacher: TeacherConfig::default(),
            value_weight: 1.0,
            mask_illegal: true,
            label_smoothing: 0.0,
            entropy_weight: 0.0,
            report_every: 50,
            validate_every: 1000,
            validation_batches: 20,
            early_stop: 0,
            checkpoint_every_s: 600.0,
        }
    }
}

impl TrainConfig {
    /// Lays `files` over `preset`, each over the one before it, and applies `overrides`, each `key=value` with dots in
    /// the key for nesting (`model.filters=96`) and a JSON value (or bare text).
    ///
    /// # Errors
    /// One line: what can't be read, or which key is unknown or doesn't fit.
    pub fn load(preset: Preset, files: &[PathBuf], overrides: &[String]) -> Result<TrainConfig, String> {
        let mut json = preset.json();
        lay_files(&mut json, files).map_err(|error| format!("{error:#}"))?;
        preset::resolve(json, overrides).map_err(|error| format!("{}: {error}", place(files)))
    }

    /// [`TrainConfig::load`] of a text over [`Preset::Philidor`].
    ///
    /// # Errors
    /// One line: which key is unknown or doesn't fit.
    pub fn parse(text: &str, overrides: &[String]) -> Result<TrainConfig, String> {
        Preset::Philidor.parse(text, overrides)
    }

    /// Checks that the numbers make sense.
    ///
    /// # Errors
    /// One line that names the key at fault.
    pub fn check(&self) -> Result<(), String> {
        self.model.check()?;
        let [first, second] = self.betas;
        let shares = [
            ("value_lambda", self.value_lambda, 1.0),
            ("history_dropout", self.history_dropout, 1.0),
            ("label_smoothing", self.label_smoothing, 1.0),
            ("ema", self.ema, 1.0),
            ("swa_from", self.swa_from, 1.0),
            ("tactical_replay.share", self.tactical_replay.share, 0.9),
            ("teacher.alpha", self.teacher.alpha, 1.0),
            ("plateau_factor", self.plateau_factor, 1.0),
            ("betas", first, 0.999_999),
            ("betas", second, 0.999_999),
            ("momentum", self.momentum, 0.999_999),
            ("min_lr", self.min_lr, self.lr),
        ];
        for (key, value, most) in shares {
            if !(0.0..=most).contains(&value) {
                return Err(format!("{key} is {value}, must be 0 to {most}"));
            }
        }
        let counts = [
            ("batch", self.batch as u64),
            ("accumulation", self.accumulation as u64),
            ("samples", self.samples),
            ("report_every", self.report_every),
            ("validate_every", self.validate_every),
            ("loader_threads", self.loader_threads as u64),
            ("ewc.samples", self.ewc.samples),
            ("plateau_patience", self.plateau_patience),
        ];
        for (key, value) in counts {
            if value == 0 {
                return Err(format!("{key} must be at least 1"));
            }
        }
        if !(1..=98).contains(&self.validation_percent) {
            return Err(format!("validation_percent is {}, must be 1 to 98", self.validation_percent));
        }
        if self.shown_again() >= self.batch {
            return Err(format!(
                "tactical_replay.share leaves no fresh samples in a batch of {}",
                self.batch
            ));
        }
        let amounts = [
            ("lr", self.lr),
            ("minutes", self.minutes),
            ("epochs", self.epochs),
            ("epsilon", self.epsilon),
            ("weight_decay", self.weight_decay),
            ("clip", self.clip),
            ("value_weight", self.value_weight),
            ("entropy_weight", self.entropy_weight),
            ("ewc.weight", self.ewc.weight),
            ("tactical_replay.threshold", self.tactical_replay.threshold),
            ("checkpoint_every_s", self.checkpoint_every_s),
        ];
        for (key, value) in amounts {
            if !value.is_finite() || value < 0.0 {
                return Err(format!("{key} is {value}, must not be negative"));
            }
        }
        if !(self.teacher.temperature.is_finite() && self.teacher.temperature > 0.0) {
            return Err(format!("teacher.temperature is {}, must be positive", self.teacher.temperature));
        }
        for source in self.sources.iter().chain(&self.ewc.sources) {
            if !(source.weight.is_finite() && source.weight > 0.0) {
                return Err(format!("source {}: weight is {}, must be positive", source.name, source.weight));
            }
            source.select.check().map_err(|why| format!("source {}: {why:#}", source.name))?;
        }
        Ok(())
    }

    /// The same without the folders of this machine: what a file that leaves it may say.
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

    /// The learning rate of a step, counted from 0, when `progress` (0 to 1) of the run is done.
    pub fn learning_rate(&self, step: u64, progress: f64) -> f64 {
        let rise = match self.warmup_steps {
            0 => 1.0,
            steps => ((step + 1) as f64 / steps as f64).min(1.0),
        };
        rise * match self.schedule {
            Schedule::Constant | Schedule::Plateau => self.lr,
            Schedule::Cosine => {
                let fall = (1.0 + (std::f64::consts::PI * progress.clamp(0.0, 1.0)).cos()) / 2.0;
                self.min_lr + (self.lr - self.min_lr) * fall
            }
        }
    }

    /// Samples of a batch that are positions shown again.
    pub fn shown_again(&self) -> usize {
        (self.tactical_replay.share * self.batch as f64).round() as usize
    }

    /// How much of the run is done, 0 to 1, after `samples` and `seconds` of training.
    pub fn progress(&self, samples: u64, seconds: f64) -> f64 {
        let by_samples = samples as f64 / self.samples as f64;
        let by_time = if self.minutes > 0.0 { seconds / (60.0 * self.minutes) } else { 0.0 };
        by_samples.max(by_time).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_an_error() {
        for text in [r#"{"batchsize": 1}"#, r#"{"model": {"depth": 3}}"#] {
            assert!(TrainConfig::parse(text, &[]).unwrap_err().contains("unknown field"));
        }
        let error = TrainConfig::parse("{}", &["optimizer.lr=1".to_owned()]).unwrap_err();
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
    fn what_leaves_the_machine_names_no_folder() {
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

    #[test]
    fn the_learning_rate_rises_then_falls_to_its_end() {
        let config = TrainConfig { warmup_steps: 10, lr: 1.0, min_lr: 0.1, ..TrainConfig::default() };
        assert_eq!(config.learning_rate(0, 0.0), 0.1);
        assert_eq!(config.learning_rate(9, 0.0), 1.0);
        assert!((config.learning_rate(50, 0.5) - 0.55).abs() < 1e-12);
        assert!((config.learning_rate(99, 1.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_run_is_done_when_samples_or_minutes_are_used_up() {
        let config = TrainConfig { samples: 100, minutes: 1.0, ..TrainConfig::default() };
        assert_eq!(config.progress(50, 15.0), 0.5);
        assert_eq!(config.progress(50, 45.0), 0.75);
        assert_eq!(config.progress(50, 90.0), 1.0);
    }
}
