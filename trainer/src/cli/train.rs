use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;

use super::setting_args::SettingArgs;
use super::{sparse, stop_file, torch};
use crate::config::layers;
use crate::learn::run::{RunFolder, TrainEnd};

pub struct Trained {
    pub end: TrainEnd,
    pub checkpoint: Option<PathBuf>,
}

/// Train a network on files of games
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  philidor-trainer train --config config.json --run runs/first\n  \
    philidor-trainer train --run runs/first --resume\n\n\
    A configuration must name its sources; every other key has a default. The resolved configuration is \
    written to RUN/config.json:\n  \
    {\"sources\": [{\"name\": \"engine\", \"paths\": [\"data/engine-*.h5\"], \"weight\": 1}], \"samples\": 10000000}\n\
    With --preset cpu it is a network of the family sparse, made for the CPU, which needs no libtorch.")]
pub struct TrainArgs {
    /// Configuration (JSON); with --resume it is merged over RUN/config.json
    #[arg(long)]
    pub(super) config: Option<PathBuf>,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
    /// Folder of the run
    #[arg(long, default_value = "runs/default")]
    pub(super) run: PathBuf,
    /// Folder for a temporary copy of the games, 2 to 4 bytes per position [default: RUN]
    #[arg(long)]
    pub(super) cache: Option<PathBuf>,
    /// Resume from the run's last checkpoint
    #[arg(long, conflicts_with = "init")]
    pub(super) resume: bool,
    /// Initialise the weights from this checkpoint
    #[arg(long)]
    pub(super) init: Option<PathBuf>,
    /// End after this many minutes, which the learning-rate schedule spans (sets `minutes`)
    #[arg(long)]
    pub(super) minutes: Option<f64>,
}

impl TrainArgs {
    /// Ctrl-C, SIGTERM or a file `stop` in the run's folder writes a checkpoint and ends the run. A second signal
    /// kills.
    pub fn run(&self) -> Result<()> {
        let Trained { end, checkpoint } = match self.settings.sparse(&self.files()?)? {
            Some(config) => sparse::train(self, config)?,
            None => torch::train(self)?,
        };
        let how = if end == TrainEnd::Finished { "finished:" } else { "stopped:" };
        say!("{how} {}", checkpoint.unwrap_or_default().display());
        Ok(())
    }

    /// Also watches for the folder's file `stop`.
    pub(super) fn folder(&self, stop: &Arc<AtomicBool>) -> Result<RunFolder> {
        let folder = RunFolder::open(&self.run)?;
        stop_file::watch(&self.run, stop);
        Ok(folder)
    }

    /// A resumed run keeps its configuration, except for what the command line overrides.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let of_run = self.resume.then_some(&*self.run);
        layers::files(of_run, self.settings.preset.is_some(), self.config.as_deref())
    }
}
