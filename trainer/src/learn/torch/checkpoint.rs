//! Checkpoints: safetensors files of named fp32 tensors.
//!
//! A full checkpoint contains `weights/`, `stats/`, `ema/`, `ema_stats/`, `first/`, `second/`, each followed by a
//! parameter's name, with elastic weight consolidation also `anchor/` and `importance/`, and the learner's counters
//! `totals`, `loss_scale` and `drift`. A small checkpoint, for distribution, contains `weights/` and `stats/` only. The
//! metadata contain the configuration and the progress as JSON.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use safetensors::{SafeTensors, tensor::Dtype, tensor::TensorView};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::learner::Learner;
pub use crate::base::files::write_file;
use crate::config::TrainConfig;
use crate::learn::run::metrics::{ReportedProgress, TrainSummary};
use crate::learn::torch::families::{ParamLayout, Weights};
use crate::learn::torch::regularise::ewc::ElasticPenalty;
use crate::learn::torch::regularise::tactical_replay::HardPositions;

const FORMAT: &str = "philidor-checkpoint/1";

/// The progress of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainProgress {
    /// Optimiser steps.
    pub step: u64,
    /// Training samples.
    pub samples: u64,
    /// Seconds of training.
    pub time_s: f64,
    /// Steps that were skipped because they were not finite.
    pub skipped: u64,
    /// Best validation loss so far: policy loss + value weight · WDL loss.
    pub best: Option<f64>,
    /// Validations since the best one.
    pub since_best: u64,
    /// The step of the last validation.
    pub validated: u64,
    /// State of a plateau schedule.
    pub plateau: Plateau,
    /// Samples at which the part of the run began that [`TrainConfig::swa_from`] is a share of: 0, or where the present
    /// [`Run::train_from`](super::Run::train_from) began.
    pub part: u64,
    /// See [`Learner::swa_steps`].
    pub swa_steps: u64,
    /// Means over the steps since the summary was last cleared.
    pub summary: TrainSummary,
    /// Position of the feed.
    pub loader: serde_json::Value,
    /// Fingerprint of the training games that [`TrainProgress::hard`] refers to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<u64>,
    /// The buffer of tactical replay.
    #[serde(skip_serializing_if = "HardPositions::is_empty")]
    pub hard: HardPositions,
}

impl TrainProgress {
    /// What reports say of it.
    pub fn reported(&self) -> ReportedProgress {
        let TrainProgress { step, samples, time_s, skipped, .. } = *self;
        ReportedProgress { step, samples, time_s, skipped }
    }
}

/// State of a plateau schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plateau {
    /// Factor on the learning rate.
    pub factor: f64,
    /// Validations without improvement since the factor last changed.
    pub waited: u64,
}

impl Default for Plateau {
    fn default() -> Plateau {
        Plateau { factor: 1.0, waited: 0 }
    }
}

impl Plateau {
    /// Updates the state after a validation: too many without improvement lower the factor.
    pub fn update(&mut self, is_best: bool, config: &TrainConfig) {
        self.waited = if is_best { 0 } else { self.waited + 1 };
        if self.waited >= config.plateau_patience {
            let least = config.min_lr / config.lr;
            *self = Plateau { factor: (self.factor * config.plateau_factor).max(least), waited: 0 };
        }
    }
}

/// A checkpoint in memory.
pub struct Checkpoint {
    /// The run's configuration.
    pub config: TrainConfig,
    /// The run's progress.
    pub progress: TrainProgress,
    tensors: HashMap<String, Tensor>,
    path: PathBuf,
}

/// Writes everything that is needed to resume a run.
///
/// # Errors
/// The file cannot be written; an existing file is then unchanged.
pub fn save(path: &Path, learner: &Learner, config: &TrainConfig, progress: &TrainProgress) -> Result<()> {
    let layout = learner.net.layout();
    let mut tensors = Vec::new();
    for (group, flat) in groups(learner) {
        tensors.extend(named(layout, group, flat));
    }
    tensors.extend(counters(learner).map(|(name, tensor)| stored(name.to_owned(), tensor)));
    write(path, tensors, config, progress)
}

/// Writes weights and running statistics only, which suffices for an export or to initialise another run.
///
/// # Errors
/// The file cannot be written.
pub fn save_weights(
    path: &Path,
    weights: &Weights,
    config: &TrainConfig,
    progress: &TrainProgress,
) -> Result<()> {
    let mut tensors = named(weights.layout(), "weights", &weights.flat);
    tensors.extend(named(weights.layout(), "stats", &weights.stats));
    write(path, tensors, &config.without_folders(), progress)
}

/// The flat tensors of a full checkpoint by the names of their groups.
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

/// The learner's counters between reports.
fn counters(learner: &Learner) -> [(&'static str, &Tensor); 3] {
    [("totals", &learner.totals), ("loss_scale", &learner.loss_scale.state), (DRIFT, &learner.drift.sums)]
}

/// A counter that older checkpoints lack; it is then left at zero.
const DRIFT: &str = "drift";

fn views(layout: &ParamLayout, group: &str, flat: &Tensor) -> Vec<(String, Tensor)> {
    let views = if group.ends_with("stats") { layout.named_stats(flat) } else { layout.named_params(flat) };
    views.into_iter().map(|(name, view)| (format!("{group}/{name}"), view)).collect()
}

/// Name, shape and little-endian bytes of a tensor.
type Stored = (String, Vec<usize>, Vec<u8>);

fn named(layout: &ParamLayout, group: &str, flat: &Tensor) -> Vec<Stored> {
    let host = flat.to_device(Device::Cpu);
    views(layout, group, &host).into_iter().map(|(name, view)| stored(name, &view)).collect()
}

fn stored(name: String, tensor: &Tensor) -> Stored {
    let shape = tensor.size().iter().map(|&n| n as usize).collect();
    let numbers = Vec::<f32>::try_from(tensor.to_device(Device::Cpu).contiguous().view([-1]));
    let bytes = numbers.expect("fp32 numbers").iter().flat_map(|number| number.to_le_bytes()).collect();
    (name, shape, bytes)
}

fn write(path: &Path, tensors: Vec<Stored>, config: &TrainConfig, progress: &TrainProgress) -> Result<()> {
    let metadata = HashMap::from([
        ("format".to_owned(), FORMAT.to_owned()),
        ("config".to_owned(), serde_json::to_string(config)?),
        ("progress".to_owned(), serde_json::to_string(progress)?),
    ]);
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("the size matches the shape");
        (name.as_str(), view)
    });
    let bytes = safetensors::serialize(views, &Some(metadata))?;
    write_file(path, &bytes)
}

impl Checkpoint {
    /// Reads a full or small checkpoint.
    ///
    /// # Errors
    /// The file cannot be read, is truncated, or is not a checkpoint of this version.
    pub fn load(path: &Path) -> Result<Checkpoint> {
        Checkpoint::read(path).with_context(|| path.display().to_string())
    }

    fn read(path: &Path) -> Result<Checkpoint> {
        let bytes = std::fs::read(path)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes)
            .map_err(|error| anyhow!("not a checkpoint, or truncated ({error:?})"))?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        let format = metadata.get("format").map_or("none", String::as_str);
        ensure!(format == FORMAT, "format is {format}, expected {FORMAT}");
        let entry = |key: &str| metadata.get(key).ok_or_else(|| anyhow!("the metadata lack \"{key}\""));
        let config: TrainConfig = serde_json::from_str(entry("config")?).context("config")?;
        let progress = serde_json::from_str(entry("progress")?).context("progress")?;
        let file = SafeTensors::deserialize(&bytes)?;
        let mut tensors = HashMap::new();
        for (name, view) in file.tensors() {
            ensure!(view.dtype() == Dtype::F32, "{name} is {:?}, expected F32", view.dtype());
            let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
            tensors.insert(name, Tensor::from_data_size(view.data(), &shape, Kind::Float));
        }
        Ok(Checkpoint { config, progress, tensors, path: path.to_owned() })
    }

    /// Restores the whole state of `learner`: weights, averages, the optimiser's moments, counters.
    ///
    /// # Errors
    /// A tensor is missing or has another shape.
    pub fn restore(&self, learner: &mut Learner) -> Result<()> {
        let weight = learner.config().ewc.weight;
        if weight > 0.0 {
            if self.config.ewc.weight == 0.0 {
                bail!(
                    "{}: the run began without ewc.weight: set it to 0, or start a new run",
                    self.path.display()
                );
            }
            let flat = || learner.weights.flat.zeros_like();
            learner.elastic = Some(ElasticPenalty::new(flat(), flat(), weight));
        }
        if self.progress.swa_steps > 0 {
            learner.own_average();
        }
        let shared = |group: &str| group.starts_with("ema") && !learner.averages();
        for (group, flat) in groups(learner).into_iter().filter(|(group, _)| !shared(group)) {
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

    /// Restores weights and running statistics: the averaged ones with `averaged`, if the checkpoint has any.
    ///
    /// # Errors
    /// A tensor is missing or has another shape.
    pub fn restore_weights(&self, weights: &mut Weights, averaged: bool) -> Result<()> {
        let has_average = self.tensors.keys().any(|name| name.starts_with("ema/"));
        let [group, stats] =
            if averaged && has_average { ["ema", "ema_stats"] } else { ["weights", "stats"] };
        self.fill(weights.layout(), group, &weights.flat)?;
        self.fill(weights.layout(), stats, &weights.stats)?;
        weights.refresh();
        Ok(())
    }

    fn fill(&self, layout: &ParamLayout, group: &str, flat: &Tensor) -> Result<()> {
        for (name, mut view) in views(layout, group, flat) {
            self.fill_one(&name, &mut view)?;
        }
        Ok(())
    }

    fn fill_one(&self, name: &str, tensor: &mut Tensor) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let path = self.path.display();
        let found = self.tensors.get(name).ok_or_else(|| anyhow!("{path}: {name} is missing"))?;
        let (got, expected) = (found.size(), tensor.size());
        ensure!(got == expected, "{path}: {name} is {got:?}, expected {expected:?}");
        tensor.copy_(found);
        Ok(())
    }
}

/// The paths of a run's checkpoints in order of steps, without `best`.
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

/// Removes incomplete files of a run that was killed while writing.
pub fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "tmp") {
            _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The best checkpoint of a run if there is one, otherwise the last.
pub fn best_or_last(folder: &Path) -> Option<PathBuf> {
    Some(best_path(folder)).filter(|path| path.exists()).or_else(|| list(folder).pop())
}

/// The path of a step's checkpoint.
pub fn step_path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:010}.safetensors"))
}

/// The path of the checkpoint with the best validation loss.
pub fn best_path(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}
