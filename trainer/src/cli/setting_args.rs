use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

use crate::config::train::TrainPreset;
use crate::config::{LearnerConfig, SparseTrainConfig, TrainConfig, is_sparse, layers};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// A CUDA GPU if there is one, else the CPU
    #[default]
    Auto,
    /// The CPU
    Cpu,
    /// A CUDA GPU
    Cuda,
}

#[derive(Args, Debug)]
pub struct SettingArgs {
    /// Defaults of the keys that the configuration omits [default: philidor; `train --resume` takes the run's own configuration]
    #[arg(long, value_enum)]
    pub(super) preset: Option<TrainPreset>,
    /// Override a key of the configuration, e.g. model.filters=96
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Device for training
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    pub(super) device: DeviceChoice,
}

impl SettingArgs {
    pub fn config(&self, files: &[PathBuf]) -> Result<LearnerConfig> {
        let preset = self.preset.unwrap_or_default().json();
        let json = layers::merged(preset, files, &self.set)?;
        if !is_sparse(&json) {
            return Ok(LearnerConfig::Torch(Box::new(TrainConfig::of(json, files)?)));
        }
        let device = self.device;
        ensure!(device != DeviceChoice::Cuda, "--device cuda: the family sparse is trained on the CPU");
        Ok(LearnerConfig::Sparse(Box::new(SparseTrainConfig::of(json, files)?)))
    }
}
