//! A run of libtorch that goes on from its newest checkpoint.

use anyhow::Result;
use tch::Device;

use super::checkpoint::Checkpoint;
use super::learner::Learner;
use super::run::TorchRun;
use super::sources::rescaled;
use crate::config::TrainConfig;
use crate::learn::run::{self, Run, RunFolder};

impl TorchRun {
    pub fn resume(folder: RunFolder, config: &TrainConfig, device: Device) -> Result<TorchRun> {
        let checkpoint = folder.resumed(Checkpoint::load)?;
        run::same_model(&checkpoint.config.model, &config.model)?;
        run::same_split(checkpoint.config.validation_percent, config.validation_percent)?;
        let mut learner = Learner::new(config, device)?;
        checkpoint.restore(&mut learner)?;
        let [before, now] = [&checkpoint.config, config].map(|config| config.new_samples() as u64);
        if before != now {
            learner.position = rescaled(&learner.position, before, now);
        }
        Run::open(folder, config, config.run(), learner, checkpoint.progress)
    }
}
