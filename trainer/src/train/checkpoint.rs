//! Checkpoints: safetensors files of named fp32 tensors, readable from any language.
//!
//! A full one holds `weights/`, `stats/`, `ema/`, `ema_stats/`, `first/`, `second/`, each followed
//! by a parameter's name, with elastic weight consolidation also `anchor/` and `importance/`, and what the
//! learner counts, `totals`, `loss_scale` and `drift`; a small one, made to be kept, `weights/` and `stats/` alone. The
//! metadata hold the configuration and the progress as JSON.

use super::learner::Learner;
use super::summary::TrainSummary;
use crate::config::TrainConfig;
pub use crate::files::write_file;
use crate::model::{Layout, Weights};
use crate::train::regularise::ewc::Elastic;
use crate::train::regularise::tactical_replay::HardPositions;
use safetensors::{SafeTensors, tensor::Dtype, tensor::TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tch::{Device, Kind, Tensor};

const FORMAT: &str = "philidor-checkpoint/1";

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Optimiser steps.
    pub step: u64,
    /// Samples learnt from.
    pub samples: u64,
    /// Seconds of training.
    pub time_s: f64,
    /// Steps left out because they weren't finite.
    pub skipped: u64,
    /// Best validation so far: policy loss + value weight · WDL loss.
    pub best: Option<f64>,
    /// Validations since then.
    pub since_best: u64,
    /// The step of the last validation.
    pub validated: u64,
    /// Where a plateau schedule stands.
    pub plateau: Plateau,
    /// See [`Learner::swa_steps`].
    pub swa_steps: u64,
    /// What was learnt since the summary was begun.
    pub summary: TrainSummary,
    /// Where the loader stands.
    pub loader: serde_json::Value,
    /// What tactical replay will show again.
    #[serde(skip_serializing_if = "HardPositions::is_empty")]
    pub hard: HardPositions,
}

/// Where a plateau schedule stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plateau {
    /// What the learning rate is multiplied by.
    pub factor: f64,
    /// Validations without a new best since it last changed.
    pub waited: u64,
}

impl Default for Plateau {
    fn default() -> Plateau {
        Plateau { factor: 1.0, waited: 0 }
    }
}

impl Plateau {
    /// Takes note of a validation: too many in a row without a new best lower the factor.
    pub fn take_note(&mut self, is_best: bool, config: &TrainConfig) {
        self.waited = if is_best { 0 } else { self.waited + 1 };
        if self.waited >= config.plateau_patience {
            let least = config.min_lr / config.lr;
            *self = Plateau { factor: (self.factor * config.plateau_factor).max(least), waited: 0 };
        }
    }
}

/// A checkpoint as it was read.
pub struct Checkpoint {
    /// The run's configuration.
    pub config: TrainConfig,
    /// How far it was.
    pub progress: Progress,
    tensors: HashMap<String, Tensor>,
    path: PathBuf,
}

/// Writes everything that a run needs to go on.
///
/// # Errors
/// One line: what can't be written. A file that was there before is then unharmed.
pub fn save(path: &Path, learner: &Learner, config: &TrainConfig, progress: &Progress) -> Result<(), String> {
    let layout = learner.net.layout();
    let mut tensors = Vec::new();
    for (group, flat) in groups(learner) {
        tensors.extend(named(layout, group, flat));
    }
    tensors.extend(counters(learner).map(|(name, tensor)| stored(name.to_owned(), tensor)));
    write(path, tensors, config, progress)
}

/// Writes weights and running statistics alone: enough to export, or to start another run from.
///
/// # Errors
/// One line: what can't be written.
pub fn save_weights(
    path: &Path,
    weights: &Weights,
    config: &TrainConfig,
    progress: &Progress,
) -> Result<(), String> {
    let mut tensors = named(weights.layout(), "weights", &weights.flat);
    tensors.extend(named(weights.layout(), "stats", &weights.stats));
    write(path, tensors, &config.without_folders(), progress)
}

/// The flat tensors of a full checkpoint and what their groups are called.
fn groups(learner: &Learner) -> Vec<(&'static str, &Tensor)> {
    let mut groups = vec![
        ("weights", &learner.weights.flat),
        ("stats", &learner.weights.stats),
        ("ema", &learner.averaged.flat),
        ("ema_stats", &learner.averaged.stats),
        ("first", &learner.optimiser.first),
        ("second", &learner.optimiser.second),
    ];
    if let Some(elastic) = &learner.elastic {
        groups.extend([("anchor", &elastic.anchor), ("importance", &elastic.importance)]);
    }
    groups
}

/// What the learner counts between reports.
fn counters(learner: &Learner) -> [(&'static str, &Tensor); 3] {
    [("totals", &learner.totals), ("loss_scale", &learner.loss_scale.state), (DRIFT, &learner.drift.sums)]
}

/// The counter that checkpoints of earlier programs lack: then there was none to count.
const DRIFT: &str = "drift";

fn views(layout: &Layout, group: &str, flat: &Tensor) -> Vec<(String, Tensor)> {
    let views = if group.ends_with("stats") { layout.named_stats(flat) } else { layout.named_params(flat) };
    views.into_iter().map(|(name, view)| (format!("{group}/{name}"), view)).collect()
}

/// Name, shape and little-endian bytes of a tensor.
type Stored = (String, Vec<usize>, Vec<u8>);

fn named(layout: &Layout, group: &str, flat: &Tensor) -> Vec<Stored> {
    let host = flat.to_device(Device::Cpu);
    views(layout, group, &host).into_iter().map(|(name, view)| stored(name, &view)).collect()
}

fn stored(name: String, tensor: &Tensor) -> Stored {
    let shape = tensor.size().iter().map(|&n| n as usize).collect();
    let numbers = Vec::<f32>::try_from(tensor.to_device(Device::Cpu).contiguous().view([-1]));
    let bytes = numbers.expect("fp32 numbers").iter().flat_map(|number| number.to_le_bytes()).collect();
    (name, shape, bytes)
}

fn write(path: &Path, tensors: Vec<Stored>, config: &TrainConfig, progress: &Progress) -> Result<(), String> {
    let json = |value: serde_json::Result<String>| value.map_err(|error| error.to_string());
    let metadata = HashMap::from([
        ("format".to_owned(), FORMAT.to_owned()),
        ("config".to_owned(), json(serde_json::to_string(config))?),
        ("progress".to_owned(), json(serde_json::to_string(progress))?),
    ]);
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view =
            TensorView::new(Dtype::F32, shape.clone(), bytes).expect("as many bytes as the shape says");
        (name.as_str(), view)
    });
    let bytes = safetensors::serialize(views, &Some(metadata)).map_err(|error| error.to_string())?;
    write_file(path, &bytes)
}

impl Checkpoint {
    /// Reads a full or small checkpoint.
    ///
    /// # Errors
    /// One line: the file can't be read, is cut short, or isn't a checkpoint of this version.
    pub fn load(path: &Path) -> Result<Checkpoint, String> {
        let at = |error: String| format!("{}: {error}", path.display());
        let bytes = std::fs::read(path).map_err(|error| at(error.to_string()))?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes)
            .map_err(|error| at(format!("not a checkpoint, or cut short ({error:?})")))?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        let format = metadata.get("format").map_or("none", String::as_str);
        if format != FORMAT {
            return Err(at(format!("format is {format}, expected {FORMAT}")));
        }
        let entry = |key: &str| metadata.get(key).ok_or_else(|| at(format!("has no {key}")));
        let config: TrainConfig =
            serde_json::from_str(entry("config")?).map_err(|error| at(format!("config: {error}")))?;
        let progress =
            serde_json::from_str(entry("progress")?).map_err(|error| at(format!("progress: {error}")))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|error| at(format!("{error:?}")))?;
        let mut tensors = HashMap::new();
        for (name, view) in file.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(at(format!("{name} is {:?}, expected F32", view.dtype())));
            }
            let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
            tensors.insert(name, Tensor::from_data_size(view.data(), &shape, Kind::Float));
        }
        Ok(Checkpoint { config, progress, tensors, path: path.to_owned() })
    }

    /// Takes over everything: weights, averages, the optimiser's moments.
    ///
    /// # Errors
    /// One line: which tensor is missing or of another shape.
    pub fn restore(&self, learner: &mut Learner) -> Result<(), String> {
        let weight = learner.config().ewc.weight;
        if weight > 0.0 {
            if self.config.ewc.weight == 0.0 {
                return Err(format!(
                    "{}: the run began without ewc: begin a new one, with --init",
                    self.path.display()
                ));
            }
            let flat = || learner.weights.flat.zeros_like();
            learner.elastic = Some(Elastic::new(flat(), flat(), weight));
        }
        for (group, flat) in groups(learner) {
            self.fill(learner.net.layout(), group, flat)?;
        }
        let known = |(name, _): &(&str, &Tensor)| *name != DRIFT || self.tensors.contains_key(DRIFT);
        for (name, tensor) in counters(learner).into_iter().filter(known) {
            self.fill_one(name, &mut tensor.shallow_clone())?;
        }
        learner.optimiser.steps = self.progress.step;
        learner.swa_steps = self.progress.swa_steps;
        learner.weights.refresh();
        learner.averaged.refresh();
        Ok(())
    }

    /// Takes over the weights alone: the averaged ones if `averaged` and there are any.
    ///
    /// # Errors
    /// One line: which tensor is missing or of another shape.
    pub fn restore_weights(&self, weights: &mut Weights, averaged: bool) -> Result<(), String> {
        let has_average = self.tensors.keys().any(|name| name.starts_with("ema/"));
        let [group, stats] =
            if averaged && has_average { ["ema", "ema_stats"] } else { ["weights", "stats"] };
        self.fill(weights.layout(), group, &weights.flat)?;
        self.fill(weights.layout(), stats, &weights.stats)?;
        weights.refresh();
        Ok(())
    }

    fn fill(&self, layout: &Layout, group: &str, flat: &Tensor) -> Result<(), String> {
        for (name, mut view) in views(layout, group, flat) {
            self.fill_one(&name, &mut view)?;
        }
        Ok(())
    }

    fn fill_one(&self, name: &str, tensor: &mut Tensor) -> Result<(), String> {
        let _guard = tch::no_grad_guard();
        let at = |what: String| format!("{}: {name} {what}", self.path.display());
        let found = self.tensors.get(name).ok_or_else(|| at("is missing".to_owned()))?;
        if found.size() != tensor.size() {
            return Err(at(format!("is {:?}, expected {:?}", found.size(), tensor.size())));
        }
        tensor.copy_(found);
        Ok(())
    }
}

/// The checkpoints of a run, oldest first; not the best one.
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("step-") && name.ends_with(".safetensors")
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(named).collect();
    paths.sort();
    paths
}

/// Removes what a run left that was killed while it wrote.
pub fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "tmp") {
            _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The last checkpoint of a run, or the best if there is one.
pub fn best_or_last(folder: &Path) -> Option<PathBuf> {
    Some(best_path(folder)).filter(|path| path.exists()).or_else(|| list(folder).pop())
}

/// The name of a step's checkpoint.
pub fn step_path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:010}.safetensors"))
}

/// The name of the checkpoint with the best validation.
pub fn best_path(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}
