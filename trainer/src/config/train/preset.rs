//! Ready-made settings, and how others are laid over them.

use crate::config::layers::{lay_over, set};
use crate::config::train::TrainConfig;
use clap::ValueEnum;
use serde_json::Value;

/// Where a configuration's unsaid keys come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// Philidor's own: a network that a CPU trains and plays fast
    #[default]
    Philidor,
    /// NeuralMatePlay's pretraining: 12.4 million parameters, wants a GPU
    Neuralmateplay,
    /// The lesson's fully connected layers: SGD, batches of 4, a fifth of the games held out; takes days
    Mlp,
    /// Wider and less deep fully connected layers with a value, which learn and play faster
    MlpWide,
    /// A single matrix
    Linear,
    /// ChessTRM: one small transformer used again and again, 16 steps a position; wants a GPU
    Chesstrm,
}

impl Preset {
    /// Lays `text` over this preset and applies `overrides`, as [`TrainConfig::load`] does. Sources are laid over
    /// the key `source_defaults`.
    ///
    /// # Errors
    /// One line: which key is unknown or doesn't fit.
    pub fn parse(self, text: &str, overrides: &[String]) -> Result<TrainConfig, String> {
        let mut json = self.json();
        lay_over(&mut json, serde_json::from_str(text).map_err(|error| error.to_string())?);
        resolve(json, overrides)
    }

    pub(super) fn json(self) -> Value {
        let text = match self {
            Preset::Philidor => "{}",
            Preset::Neuralmateplay => include_str!("presets/neuralmateplay.json"),
            Preset::Mlp => include_str!("presets/mlp.json"),
            Preset::MlpWide => include_str!("presets/mlp-wide.json"),
            Preset::Linear => include_str!("presets/linear.json"),
            Preset::Chesstrm => include_str!("presets/chesstrm.json"),
        };
        serde_json::from_str(text).expect("a preset of ours is JSON")
    }
}

/// Applies `overrides` and reads what the JSON then says.
pub(super) fn resolve(mut json: Value, overrides: &[String]) -> Result<TrainConfig, String> {
    set(&mut json, overrides).map_err(|error| format!("{error:#}"))?;
    give_defaults(&mut json);
    let config: TrainConfig = serde_json::from_value(json).map_err(|error| error.to_string())?;
    config.check()?;
    Ok(config)
}

/// Lays every source over `source_defaults`, which then is gone.
fn give_defaults(json: &mut Value) {
    let Some(defaults) = json.as_object_mut().and_then(|json| json.remove("source_defaults")) else { return };
    for list in ["/sources", "/ewc/sources"] {
        for source in json.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let own = std::mem::replace(source, defaults.clone());
            lay_over(source, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;

    #[test]
    fn a_preset_lies_below_the_file_and_the_file_below_the_command_line() {
        let text = r#"{"batch": 7, "model": {"filters": 96}}"#;
        let overrides = ["model.blocks=3".to_owned()];
        let config = Preset::Neuralmateplay.parse(text, &overrides).unwrap();
        let ModelConfig::Resnet(model) = &config.model else { panic!("{}", config.model.family()) };
        assert_eq!((config.batch, model.filters, model.blocks), (7, 96, 3));
        assert_eq!((config.lr, config.accumulation, model.attention_blocks), (5e-5, 2, 2));
        let text = r#"{"sources": [
            {"name": "games", "paths": ["a"]},
            {"name": "puzzles", "paths": ["b"], "select": {"min_elo": 1500, "max_plies": 9}}
        ]}"#;
        let [games, puzzles] = &Preset::Neuralmateplay.parse(text, &[]).unwrap().sources[..] else {
            panic!()
        };
        assert_eq!((games.select.min_elo, games.select.max_plies), (2200, u16::MAX));
        assert_eq!((puzzles.select.min_elo, puzzles.select.max_plies), (1500, 9));
    }

    fn parameters(preset: Preset) -> i64 {
        let config = preset.parse("{}", &[]).unwrap();
        crate::model::Net::new(&config.model).unwrap().layout().len()
    }

    #[test]
    fn chesstrm_is_the_documents() {
        let config = Preset::Chesstrm.parse("{}", &[]).unwrap();
        let crate::config::ModelConfig::Trm(model) = &config.model else { panic!("{:?}", config.model) };
        assert_eq!(
            (model.width, model.heads, model.layers, model.steps, model.dropout),
            (256, 8, 2, 16, 0.1)
        );
        assert!((1e-4..=3e-4).contains(&config.lr));
        assert_eq!(config.weight_decay, 0.1);
        let small = Preset::Chesstrm.parse(r#"{"model": {"width": 64, "heads": 2}}"#, &[]).unwrap();
        assert_eq!(small.model.family(), "trm");
    }

    #[test]
    fn neuralmateplays_network_has_its_size() {
        let size = parameters(Preset::Neuralmateplay);
        assert!((12_300_000..12_500_000).contains(&size), "{size}");
    }

    #[test]
    fn the_lessons_networks_have_their_sizes_and_settings() {
        assert_eq!(parameters(Preset::Linear), 1_639_344);
        let layers = [(896, 1000), (1000, 1000), (1000, 1000), (1000, 200), (200, 4672)];
        assert_eq!(parameters(Preset::Mlp), layers.map(|(from, to)| (from + 1) * to).iter().sum::<i64>());
        let config = Preset::Mlp.parse("{}", &[]).unwrap();
        assert_eq!((config.lr, config.momentum, config.nesterov), (1e-3, 0.9, false));
        assert_eq!((config.validation_percent, config.batch, config.epochs), (20, 4, 60.0));
        assert!(parameters(Preset::MlpWide) < 3_000_000);
    }
}
