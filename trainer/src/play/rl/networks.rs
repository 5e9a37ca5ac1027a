//! The networks of a run, each as ONNX for play and as weights for training.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::state::START;
use crate::base::files::make_folder;

#[derive(Clone, Debug)]
pub struct RunNetworks {
    folder: PathBuf,
}

impl RunNetworks {
    pub fn of(run: &Path) -> Result<RunNetworks> {
        let folder = run.join("nets");
        make_folder(&folder)?;
        Ok(RunNetworks { folder })
    }

    pub fn name(iteration: u64) -> String {
        format!("{iteration:05}")
    }

    pub fn onnx(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.onnx"))
    }

    pub fn weights(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.safetensors"))
    }

    /// The quantised network; the file may be missing.
    pub fn int8(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.int8.onnx"))
    }

    pub fn iterations(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let weights = paths.filter(|path| path.extension().is_some_and(|e| e == "safetensors"));
        let mut iterations: Vec<u64> =
            weights.filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).collect();
        iterations.sort_unstable();
        iterations
    }

    /// Removes all networks except the first and `names`.
    pub fn keep(&self, names: &BTreeSet<String>) {
        for name in self.iterations().into_iter().map(RunNetworks::name).filter(|name| !names.contains(name))
        {
            debug_assert_ne!(name, START);
            for path in [self.onnx(&name), self.int8(&name), self.weights(&name)] {
                _ = std::fs::remove_file(path);
            }
        }
    }
}
