//! Runs with networks that libtorch trains.

mod runtime;
mod networks;
mod train;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::Value;
use tch::Device;

use super::learner::{LearntPlayer, LoopContext, LoopGames, LoopLearner, TrainOutcome, TrainTask};
use super::networks::RunNetworks;
use super::state::START;
use crate::config::{RlConfig, TrainConfig};
use crate::judge::evaluate::JudgedNetwork;
use crate::judge::export::network;
use crate::learn::run;
use crate::learn::run::metrics::Validations;
use crate::learn::torch::{Checkpoint, Learner, Sources, validate};

#[cfg(test)]
pub(super) use train::add_to;

/// Held-out samples on which two networks are compared at least, if available.
const COMPARED: usize = 8192;

pub struct TorchLoop {
    device: Device,
    pretraining: Sources,
}

fn training(config: &RlConfig) -> Result<&TrainConfig> {
    config.train.torch().context("the run is of the family sparse")
}

impl TorchLoop {
    pub fn new(device: Device) -> TorchLoop {
        TorchLoop { device, pretraining: Sources::default() }
    }
}

impl LoopLearner for TorchLoop {
    fn describe(&self, config: &RlConfig) -> String {
        let device = self.device;
        let runtime = if config.runtime.is_torch(device) {
            format!("libtorch on {device:?}")
        } else {
            "ONNX Runtime on the CPU".into()
        };
        format!("networks are trained on {device:?} and play in {runtime}")
    }

    fn model(&self, path: &Path, config: &RlConfig) -> Result<Value> {
        let network = Checkpoint::load(path)?.config.model;
        Ok(serde_json::to_value(network.trained_as(&training(config)?.model))?)
    }

    fn begin(&self, config: &RlConfig, nets: &RunNetworks) -> Result<()> {
        let none = run::TrainProgress::default();
        if config.start.is_empty() {
            let train = TrainConfig { seed: config.seed, ..training(config)?.clone() };
            let learner = Learner::new(&train, Device::Cpu)?;
            nets.write(START, &learner.net, &learner.averaged, training(config)?, &none)?;
        } else {
            let loaded = Checkpoint::load(Path::new(&config.start))?;
            let (net, weights) = network(&loaded, true, None)?;
            nets.write(START, &net, &weights, &loaded.config, &none)?;
        }
        nets.load(START).map(drop)
    }

    fn open(&mut self, config: &mut RlConfig, nets: &RunNetworks, folder: &Path) -> Result<()> {
        // The existing networks determine the structure; contradicting keys were refused (see `check_model_keys`).
        let first = Checkpoint::load(&nets.weights(START))?.config.model;
        let mix = config.pretrain_mix_ratio;
        let train = config.train.torch_mut().context("the run is of the family sparse")?;
        train.model = first.trained_as(&train.model);
        if mix > 0.0 {
            self.pretraining = Sources::load(&train.sources, train.validation_percent, folder)?;
        }
        Ok(())
    }

    fn player(&self, context: &LoopContext<'_>, name: &str, games: &[PathBuf]) -> Result<LearntPlayer> {
        let (config, nets) = (context.config, context.nets);
        if config.runtime.is_torch(self.device) {
            let network = Arc::new(nets.load_torch(name, self.device)?);
            return Ok(LearntPlayer { network, file: nets.weights(name), news: None });
        }
        if !config.quantise || games.is_empty() {
            let network = Arc::new(nets.load(name)?);
            return Ok(LearntPlayer { network, file: nets.onnx(name), news: None });
        }
        let (network, news) = nets.load_int8(name, games)?;
        // A network that int8 would change too much stays in fp32.
        let int8 = nets.int8(name);
        let file = if int8.exists() { int8 } else { nets.onnx(name) };
        Ok(LearntPlayer { network: Arc::new(network), file, news })
    }

    fn judged(&self, nets: &RunNetworks, name: &str) -> Result<JudgedNetwork> {
        nets.load(name)?;
        JudgedNetwork::load(&nets.onnx(name), 0)
    }

    fn workers(&self, config: &RlConfig, workers: usize) -> usize {
        config.runtime.workers(self.device, workers)
    }

    fn has_checkpoint(&self, folder: &Path) -> bool {
        !run::folder::list(folder).is_empty()
    }

    fn train(
        &self,
        context: &LoopContext<'_>,
        task: &TrainTask<'_>,
        begun: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<TrainOutcome> {
        self.learn(context, task, begun)
    }

    fn validated(
        &self,
        context: &LoopContext<'_>,
        games: &LoopGames<'_>,
        names: [&str; 2],
    ) -> Result<[Validations; 2]> {
        let mut config = training(context.config)?.clone();
        let pretrained = context.config.pretrain_mix_ratio > 0.0;
        let sources = if pretrained { self.pretraining.clone() } else { self.sources(context, games)? };
        // Repeated samples would make the comparison look more certain than it is.
        let available = usize::try_from(sources.held_out_samples()).unwrap_or(usize::MAX);
        let wanted = COMPARED.max(config.validation_batches * config.batch);
        config.validation_batches = wanted.min(available).div_ceil(config.batch);
        let held_out = sources.held_out(&config)?;
        let validated = |name: &str| -> Result<Validations> {
            let (net, weights, _) = context.nets.restored(name)?;
            Ok(validate(&net, &weights, &held_out, &config))
        };
        let [before, now] = names;
        Ok([validated(before)?, validated(now)?])
    }
}
