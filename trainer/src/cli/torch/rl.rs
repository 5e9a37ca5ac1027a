use anyhow::Result;

use crate::cli::DeviceChoice;
use crate::config::TrainConfig;
use crate::play::rl::{LoopLearner, TorchLoop};

pub fn learner(device: DeviceChoice, config: &mut TrainConfig) -> Result<Box<dyn LoopLearner>> {
    Ok(Box::new(TorchLoop::new(device.prepare(config)?)))
}
