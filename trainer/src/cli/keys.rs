use anyhow::{Result, anyhow};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::config::RlPreset;
use crate::config::keys::{KeyRow, rl_keys, train_keys};
use crate::config::train::TrainPreset;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Configured {
    Train,
    Rl,
}

/// List the keys of a configuration: value, meaning
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  philidor-trainer keys train --preset first\n  \
    philidor-trainer keys rl --preset tiny --set train.model.family=sparse --json")]
pub struct KeysArgs {
    /// The command that is configured
    #[arg(value_enum)]
    command: Configured,
    /// A preset of that command, whose values are listed [default: that of the command]
    #[arg(long)]
    preset: Option<String>,
    /// Override a key: model.family=mlp lists the keys of that family
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print JSON, with the presets
    #[arg(long)]
    json: bool,
}

impl KeysArgs {
    pub fn run(&self) -> Result<()> {
        let (rows, presets) = match self.command {
            Configured::Train => (train_keys(self.chosen()?, &self.set)?, presets::<TrainPreset>()),
            Configured::Rl => (rl_keys(self.chosen()?, &self.set)?, presets::<RlPreset>()),
        };
        if self.json {
            let help = |preset: &PossibleValue| preset.get_help().map(ToString::to_string);
            let presets: Vec<_> =
                presets.iter().map(|one| json!({ "name": one.get_name(), "meaning": help(one) })).collect();
            say!("{}", json!({ "presets": presets, "keys": rows }));
        } else {
            rows.iter().for_each(say_row);
        }
        Ok(())
    }

    fn chosen<P: ValueEnum + Default>(&self) -> Result<P> {
        let Some(name) = &self.preset else { return Ok(P::default()) };
        P::from_str(name, false).map_err(|_| {
            let known: Vec<String> = presets::<P>().iter().map(|one| one.get_name().to_owned()).collect();
            anyhow!("--preset {name}: must be one of {}", known.join(", "))
        })
    }
}

fn presets<P: ValueEnum>() -> Vec<PossibleValue> {
    P::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect()
}

fn say_row(KeyRow { key, value, meaning, choices }: &KeyRow) {
    let one_of = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
    say!("{:50} {meaning}{one_of}", format!("{key}={value}"));
}
