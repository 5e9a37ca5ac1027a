//! The networks of a run: each as ONNX, to be played with, and as weights, to be trained further.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::eval::Network;
use tch::{Device, Kind};

use super::state::START;
use crate::config::TrainConfig;
use crate::export::{network, onnx, quantise_and_compare};
use crate::files::{make_folder, write_file};
use crate::model::{Net, Torch, Weights};
use crate::train::{Checkpoint, TrainProgress, checkpoint};

/// The divergence of the policy beyond which a network in 8 bits isn't played with, nat; `quantise` refuses at a fifth.
const WORST_KL: f64 = 0.05;

/// A folder of networks.
#[derive(Clone, Debug)]
pub struct Nets {
    folder: PathBuf,
}

impl Nets {
    /// The networks of a run.
    ///
    /// # Errors
    ///
    /// One line: the folder can't be made.
    pub fn of(run: &Path) -> Result<Nets, String> {
        let folder = run.join("nets");
        make_folder(&folder).map_err(|error| format!("{error:#}"))?;
        Ok(Nets { folder })
    }

    /// The name of an iteration's network.
    pub fn name(iteration: u64) -> String {
        format!("{iteration:05}")
    }

    /// A network's ONNX file.
    pub fn onnx(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.onnx"))
    }

    /// Its weights.
    pub fn weights(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }

    /// The same in 8 bits, if it was put into them.
    fn int8(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.int8.onnx"))
    }

    /// Loads a network; a file to play with that is gone or damaged is made again of its weights.
    ///
    /// # Errors
    ///
    /// One line: it can't be used.
    pub fn load(&self, name: &str) -> Result<Network, String> {
        let path = self.onnx(name);
        Network::load(&path).or_else(|error| {
            if !self.weights(name).exists() {
                return Err(error.to_string());
            }
            let (net, weights, config) = self.restored(name)?;
            write_file(&path, &onnx(name, &net, &weights, &config)).map_err(|error| format!("{error:#}"))?;
            Network::load(&path).map_err(|error| error.to_string())
        })
    }

    /// Loads a network in 8 bits; if it isn't in them yet, it is put into them now, by these games, and what that has
    /// cost comes with it, in words. One that would be another network in 8 bits stays in fp32.
    ///
    /// # Errors
    ///
    /// One line: it can't be used, a file of games can't, or it can't be written.
    pub fn load_int8(&self, name: &str, games: &[PathBuf]) -> Result<(Network, Option<String>), String> {
        let path = self.int8(name);
        if let Ok(int8) = Network::load(&path) {
            return Ok((int8, None));
        }
        let fp32 = self.load(name)?;
        let file = self.onnx(name);
        let bytes =
            std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let (int8, quality) = match quantise_and_compare(&bytes, games) {
            Ok(done) => done,
            Err(why) => return Ok((fp32, Some(format!("network {name} plays in fp32: {why:#}")))),
        };
        let wdl = quality.wdl_error.map_or(String::new(), |error| format!("WDL error {error:.4}, "));
        let cost = format!(
            "network {name} in 8 bits: policy KL {:.4}, {wdl}same best move {:.1} % of {}",
            quality.policy_kl,
            100.0 * quality.same_move,
            quality.positions
        );
        // Not `>`: a number that isn't one is too much as well.
        if !matches!(quality.policy_kl.partial_cmp(&WORST_KL), Some(Ordering::Less | Ordering::Equal)) {
            return Ok((fp32, Some(format!("{cost}; above {WORST_KL}, so it plays in fp32"))));
        }
        write_file(&path, &int8).map_err(|error| format!("{error:#}"))?;
        Ok((Network::load(&path).map_err(|error| error.to_string())?, Some(cost)))
    }

    /// Loads a network to be played with in libtorch on `device`.
    ///
    /// # Errors
    ///
    /// One line: its weights can't be read.
    pub fn load_torch(&self, name: &str, device: Device) -> Result<Torch, String> {
        let (net, weights, _) = self.restored(name)?;
        Ok(Torch::new(&net, weights, device))
    }

    /// A network as it was trained, and how.
    ///
    /// # Errors
    ///
    /// One line: its weights can't be read.
    pub fn restored(&self, name: &str) -> Result<(Net, Weights, TrainConfig), String> {
        let loaded = Checkpoint::load(&self.weights(name))?;
        let (net, weights) = network(&loaded, true, None).map_err(|error| format!("{error:#}"))?;
        Ok((net, weights, loaded.config))
    }

    /// Writes a network; one that can be played with has its weights as well.
    ///
    /// # Errors
    ///
    /// One line: a file can't be written.
    pub fn write(
        &self,
        name: &str,
        net: &Net,
        weights: &Weights,
        config: &TrainConfig,
        progress: &TrainProgress,
    ) -> Result<(), String> {
        // One of the same name, which a run had before it was put back, isn't this one.
        _ = std::fs::remove_file(self.int8(name));
        let weights = weights.copy(Device::Cpu, Kind::Float);
        checkpoint::save_weights(&self.weights(name), &weights, config, progress)
            .map_err(|error| format!("{error:#}"))?;
        write_file(&self.onnx(name), &onnx(name, net, &weights, config))
    }

    /// The iterations whose networks are there, oldest first.
    pub fn iterations(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let weights = paths.filter(|path| path.extension().is_some_and(|e| e == "safetensors"));
        let mut iterations: Vec<u64> =
            weights.filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect();
        iterations.sort_unstable();
        iterations
    }

    /// Removes all networks but the first one and these.
    pub fn keep(&self, names: &BTreeSet<String>) {
        for name in self.iterations().into_iter().map(Nets::name).filter(|name| !names.contains(name)) {
            debug_assert_ne!(name, START);
            for path in [self.onnx(&name), self.int8(&name), self.weights(&name)] {
                _ = std::fs::remove_file(path);
            }
        }
    }
}
