use std::cmp::Ordering;
use std::path::PathBuf;

use anyhow::{Context, Result};
use engine::nets::onnx::Network;
use tch::{Device, Kind};

use crate::base::files::write_file;
use crate::config::TrainConfig;
use crate::judge::export::{network, onnx, quantise_and_compare};
use crate::learn::run::TrainProgress;
use crate::learn::torch::families::{Net, Torch, Weights};
use crate::learn::torch::{Checkpoint, checkpoint};
use crate::play::rl::networks::RunNetworks;

/// Mean policy divergence, in nats, above which an int8 network is not used: five times the limit of the command
/// `quantise`.
const WORST_KL: f64 = 0.05;

impl RunNetworks {
    /// A missing or damaged ONNX file is exported again from the weights.
    pub fn load(&self, name: &str) -> Result<Network> {
        let path = self.onnx(name);
        Network::load(&path).or_else(|error| {
            if !self.weights(name).exists() {
                return Err(error.into());
            }
            let (net, weights, config) = self.restored(name)?;
            write_file(&path, &onnx(name, &net, &weights, &config))?;
            Ok(Network::load(&path)?)
        })
    }

    /// If missing, quantises the network, calibrated on `games`, and returns a line on its accuracy. A network that
    /// int8 would change too much stays in fp32.
    pub fn load_int8(&self, name: &str, games: &[PathBuf]) -> Result<(Network, Option<String>)> {
        let path = self.int8(name);
        if let Ok(int8) = Network::load(&path) {
            return Ok((int8, None));
        }
        let fp32 = self.load(name)?;
        let file = self.onnx(name);
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let (int8, quality) = match quantise_and_compare(&bytes, games) {
            Ok(done) => done,
            Err(why) => return Ok((fp32, Some(format!("network {name} plays in fp32: {why:#}")))),
        };
        let wdl = quality.wdl_error.map_or(String::new(), |error| format!("WDL error {:.4}, ", error.mean));
        let cost = format!(
            "network {name} in 8 bits: policy KL {:.4}, {wdl}same best move {:.1} % of {}",
            quality.policy_kl.mean,
            100.0 * quality.same_move,
            quality.positions
        );
        // Unlike `>`, this counts NaN as too much.
        if !matches!(quality.policy_kl.mean.partial_cmp(&WORST_KL), Some(Ordering::Less | Ordering::Equal)) {
            return Ok((fp32, Some(format!("{cost}; above {WORST_KL}, so it plays in fp32"))));
        }
        write_file(&path, &int8)?;
        Ok((Network::load(&path)?, Some(cost)))
    }

    pub fn load_torch(&self, name: &str, device: Device) -> Result<Torch> {
        let (net, weights, _) = self.restored(name)?;
        Ok(Torch::new(&net, weights, device))
    }

    pub fn restored(&self, name: &str) -> Result<(Net, Weights, TrainConfig)> {
        let loaded = Checkpoint::load(&self.weights(name))?;
        let (net, weights) = network(&loaded, true, None)?;
        Ok((net, weights, loaded.config))
    }

    /// Writes the weights first, so that no ONNX file lacks its weights.
    pub fn write(
        &self,
        name: &str,
        net: &Net,
        weights: &Weights,
        config: &TrainConfig,
        progress: &TrainProgress,
    ) -> Result<()> {
        // An int8 file of this name belongs to an older network, from before the run was set back.
        _ = std::fs::remove_file(self.int8(name));
        let weights = weights.copy(Device::Cpu, Kind::Float);
        checkpoint::save_weights(&self.weights(name), &weights, config, progress)?;
        write_file(&self.onnx(name), &onnx(name, net, &weights, config))
    }
}
