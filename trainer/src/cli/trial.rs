//! Arguments that `overfit` and `lr-finder` share: a configuration, without a run's folder.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::setting_args::SettingArgs;
use crate::config::SparseTrainConfig;

/// The configuration to test and the device.
#[derive(Args, Debug)]
pub struct TrialArgs {
    /// Configuration (JSON), as for `train`
    #[arg(long)]
    pub(super) config: PathBuf,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
}

impl TrialArgs {
    /// The configuration, if it is of the family `sparse`.
    ///
    /// # Errors
    /// It is invalid.
    pub fn sparse(&self) -> Result<Option<SparseTrainConfig>> {
        self.settings.sparse(std::slice::from_ref(&self.config))
    }
}
