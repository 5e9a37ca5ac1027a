//! What `overfit` and `lr-finder` share: a configuration tried out, without a run's folder.

use super::train::SettingArgs;
use crate::config::TrainConfig;
use crate::train::Sources;
use clap::Args;
use std::path::PathBuf;
use tch::Device;

/// What to try, and where.
#[derive(Args, Debug)]
pub struct TrialArgs {
    /// Configuration (JSON), as for `train`
    #[arg(long)]
    config: PathBuf,
    #[command(flatten)]
    settings: SettingArgs,
}

impl TrialArgs {
    /// The configuration, its games, and the device.
    ///
    /// # Errors
    /// One line: the configuration doesn't fit, the games can't be read, or there is no such device.
    pub fn ready(&self) -> Result<(TrainConfig, Sources, Device), String> {
        let mut config = self.settings.config(std::slice::from_ref(&self.config))?;
        let device = self.settings.prepare(&mut config)?;
        let sources = Sources::load(&config.sources, config.validation_percent, &std::env::temp_dir())?;
        Ok((config, sources, device))
    }
}
