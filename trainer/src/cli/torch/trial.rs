//! Arguments that `overfit` and `lr-finder` share: a configuration, without a run's folder.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use tch::Device;

use crate::cli::train::SettingArgs;
use crate::config::TrainConfig;
use crate::train::Sources;

/// The configuration to test and the device.
#[derive(Args, Debug)]
pub struct TrialArgs {
    /// Configuration (JSON), as for `train`
    #[arg(long)]
    config: PathBuf,
    #[command(flatten)]
    settings: SettingArgs,
}

impl TrialArgs {
    /// Reads the configuration and its games, and selects the device.
    ///
    /// # Errors
    /// The configuration is invalid, the games cannot be read, or the device is not available.
    pub fn load(&self) -> Result<(TrainConfig, Sources, Device)> {
        let mut config = self.settings.config(std::slice::from_ref(&self.config))?;
        let device = self.settings.prepare(&mut config)?;
        let sources = Sources::load(&config.sources, config.validation_percent, &std::env::temp_dir())?;
        Ok((config, sources, device))
    }
}
