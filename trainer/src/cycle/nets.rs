//! The networks of a run: each as ONNX, to be played with, and as weights, to be trained further.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::eval::Network;
use tch::{Device, Kind};

use super::state::START;
use crate::export::{network, onnx};
use crate::files::{make_folder, stem, write_file};
use crate::learn::TrainConfig;
use crate::learn::checkpoint::{self, Checkpoint, Progress};
use crate::model::{Net, Torch, Weights};

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
        make_folder(&folder)?;
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

    /// Loads a network.
    ///
    /// # Errors
    ///
    /// One line: it can't be used.
    pub fn load(&self, name: &str) -> Result<Network, String> {
        Network::load(&self.onnx(name)).map_err(|error| error.to_string())
    }

    /// Loads a network to be played with in libtorch on `device`.
    ///
    /// # Errors
    ///
    /// One line: its weights can't be read.
    pub fn load_torch(&self, name: &str, device: Device) -> Result<Torch, String> {
        let (net, weights) = network(&Checkpoint::load(&self.weights(name))?, true, None)?;
        Ok(Torch::new(&net, weights, device))
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
        progress: &Progress,
    ) -> Result<(), String> {
        let weights = weights.copy(Device::Cpu, Kind::Float);
        checkpoint::save_weights(&self.weights(name), &weights, config, progress)?;
        write_file(&self.onnx(name), &onnx(name, net, &weights, config))
    }

    /// The iterations whose networks are there, oldest first.
    pub fn iterations(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let onnx =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "onnx"));
        let mut iterations: Vec<u64> = onnx.filter_map(|path| stem(&path).parse().ok()).collect();
        iterations.sort_unstable();
        iterations
    }

    /// Removes all networks but the first one and these.
    pub fn keep(&self, names: &BTreeSet<String>) {
        for name in self.iterations().into_iter().map(Nets::name).filter(|name| !names.contains(name)) {
            debug_assert_ne!(name, START);
            _ = std::fs::remove_file(self.onnx(&name));
            _ = std::fs::remove_file(self.weights(&name));
        }
    }
}
