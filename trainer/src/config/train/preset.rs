use anyhow::Result;
use clap::ValueEnum;
use serde_json::Value;

use super::TrainConfig;
use crate::config::layers::{give_defaults, lay_over, parsed, set, uncomment};

/// Supplies the keys that a configuration omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TrainPreset {
    /// Philidor's default: a network for training and playing on a CPU
    #[default]
    Philidor,
    /// NeuralMatePlay's pretraining with its numbers: 12.5 million parameters, needs a GPU
    Neuralmateplay,
    /// All parts of NeuralMatePlay's network at a size for two cores, with the network inside the program as teacher
    NeuralmateplayCpu,
    /// The imitation article's multi-layer perceptron: SGD, batches of 4, a fifth of the games held out; takes hours
    Mlp,
    /// A wider, shallower perceptron with a value head, faster in training and play
    MlpWide,
    /// Softmax regression: a single matrix
    Linear,
    /// The linear model's own recipe: plain gradient descent at 0.01
    LinearSgd,
    /// The linear model with a hidden layer of 256 units
    LinearHidden,
    /// The family sparse, made for the CPU: learns 50,000 samples a second and core, plays at 150,000 positions a second
    Cpu,
    /// As `cpu`, on the labels in nets/labels, which a clone has: a first network in two minutes
    First,
    /// ChessTRM: a small transformer applied recursively, 16 steps per position; needs a GPU
    Chesstrm,
}

impl TrainPreset {
    /// Merges `text` over this preset, then applies `overrides`. The key `source_defaults` has defaults for every
    /// source.
    pub fn parse(self, text: &str, overrides: &[String]) -> Result<TrainConfig> {
        let mut json = self.json();
        lay_over(&mut json, serde_json::from_str(text)?);
        set(&mut json, overrides)?;
        resolve(json)
    }

    pub fn json(self) -> Value {
        let text = match self {
            TrainPreset::Philidor => "{}",
            TrainPreset::Neuralmateplay => include_str!("presets/neuralmateplay.json"),
            TrainPreset::NeuralmateplayCpu => include_str!("presets/neuralmateplay-cpu.json"),
            TrainPreset::Mlp => include_str!("presets/mlp.json"),
            TrainPreset::MlpWide => include_str!("presets/mlp-wide.json"),
            TrainPreset::Linear => include_str!("presets/linear.json"),
            TrainPreset::LinearSgd => include_str!("presets/linear-sgd.json"),
            TrainPreset::LinearHidden => include_str!("presets/linear-hidden.json"),
            TrainPreset::Cpu => include_str!("presets/cpu.json"),
            TrainPreset::First => include_str!("presets/first.json"),
            TrainPreset::Chesstrm => include_str!("presets/chesstrm.json"),
        };
        let mut json: Value = serde_json::from_str(text).expect("a preset is valid JSON");
        uncomment(&mut json);
        json
    }
}

pub(super) fn resolve(mut json: Value) -> Result<TrainConfig> {
    give_defaults(&mut json);
    let config: TrainConfig = parsed(json)?;
    config.check()?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::model::Activation;
    use crate::config::train::{OptimiserKind, Precision};
    use crate::config::{ModelConfig, Schedule, UnknownElo};

    #[test]
    fn the_file_overrides_the_preset_and_the_command_line_overrides_the_file() {
        let text = r#"{"batch": 7, "model": {"filters": 96}}"#;
        let overrides = ["model.blocks=3".to_owned()];
        let config = TrainPreset::Neuralmateplay.parse(text, &overrides).unwrap();
        let ModelConfig::Resnet(model) = &config.model else { panic!("{}", config.model.family()) };
        assert_eq!((config.batch, model.filters, model.blocks), (7, 96, 3));
        assert_eq!((config.lr, config.accumulation, model.attention_blocks), (5e-5, 1, 2));
        // From NeuralMatePlay's table.
        let own = TrainPreset::Neuralmateplay.parse("{}", &[]).unwrap();
        assert_eq!((own.batch, own.epochs, own.label_smoothing, own.value_weight), (640, 5.0, 0.05, 1.5));
        assert_eq!((own.value_lambda, model.se_activation), (1.0, Activation::Gelu));
        // Values that the preset's comment calls ours.
        assert_eq!((own.optimiser, own.betas, own.weight_decay), (OptimiserKind::AdamW, [0.9, 0.98], 2e-4));
        assert_eq!((own.clip, own.warmup_steps, own.min_lr, own.ema), (1.0, 500, 2e-5, 0.999));
        assert_eq!(
            (own.schedule, own.mask_illegal, own.precision),
            (Schedule::Cosine, true, Precision::Auto)
        );
        assert_eq!((own.tactical_replay.share, own.tactical_weight, own.history_dropout), (0.2, 1.5, 0.0));
        let text = r#"{"sources": [
            {"name": "games", "paths": ["a"]},
            {"name": "puzzles", "paths": ["b"], "select": {"min_elo": 1500, "max_plies": 9}}
        ]}"#;
        let [games, puzzles] = &TrainPreset::Neuralmateplay.parse(text, &[]).unwrap().sources[..] else {
            panic!()
        };
        assert_eq!((games.select.min_elo, games.select.max_plies), (2200, u16::MAX));
        assert_eq!(games.select.unknown_elo, UnknownElo::Drop);
        assert_eq!((puzzles.select.min_elo, puzzles.select.max_plies), (1500, 9));
    }

    #[test]
    fn chesstrm_has_its_published_settings() {
        let config = TrainPreset::Chesstrm.parse("{}", &[]).unwrap();
        let crate::config::ModelConfig::Trm(model) = &config.model else { panic!("{:?}", config.model) };
        assert_eq!(
            (model.width, model.heads, model.layers, model.steps, model.dropout),
            (256, 8, 2, 16, 0.1)
        );
        assert!((1e-4..=3e-4).contains(&config.lr));
        assert_eq!(config.weight_decay, 0.1);
        let small = TrainPreset::Chesstrm.parse(r#"{"model": {"width": 64, "heads": 2}}"#, &[]).unwrap();
        assert_eq!(small.model.family(), "trm");
    }
}
