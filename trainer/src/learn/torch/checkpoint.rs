//! Checkpoints: safetensors files of named fp32 tensors.
//!
//! A full checkpoint has the groups `weights/`, `stats/`, `ema/`, `ema_stats/`, `first/`, `second/` and, with elastic
//! weight consolidation, `anchor/` and `importance/`, each with a tensor per parameter, and the counters `totals`,
//! `loss_scale` and `drift`. A small checkpoint has `weights/` and `stats/` only. The metadata hold configuration and
//! progress as JSON.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use safetensors::{SafeTensors, tensor::Dtype, tensor::TensorView};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::learner::Learner;
use crate::base::files::write_file;
use crate::config::TrainConfig;
use crate::learn::run::TrainProgress;
use crate::learn::torch::families::{ParamLayout, Weights};
use crate::learn::torch::regularise::ewc::ElasticPenalty;
use crate::learn::torch::regularise::tactical_replay::HardPositions;

const FORMAT: &str = "philidor-checkpoint/1";

/// The run's state outside of tensors.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    #[serde(flatten)]
    progress: TrainProgress,
    loader: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<u64>,
    #[serde(skip_serializing_if = "HardPositions::is_empty")]
    hard: HardPositions,
}

pub struct Checkpoint {
    pub config: TrainConfig,
    pub progress: TrainProgress,
    stored: Stored,
    tensors: HashMap<String, Tensor>,
    path: PathBuf,
}

/// Writes a full checkpoint.
pub fn save(
    path: &Path,
    learner: &Learner,
    config: &TrainConfig,
    progress: &TrainProgress,
    loader: serde_json::Value,
) -> Result<()> {
    let layout = learner.net.layout();
    let mut tensors = Vec::new();
    for (group, flat) in groups(learner) {
        tensors.extend(named(layout, group, flat));
    }
    tensors.extend(counters(learner).map(|(name, tensor)| stored(name.to_owned(), tensor)));
    let stored =
        Stored { progress: progress.clone(), loader, sources: learner.sources, hard: learner.hard.clone() };
    write(path, tensors, config, &stored)
}

/// Writes a small checkpoint, which suffices to export or to initialise a run.
pub fn save_weights(
    path: &Path,
    weights: &Weights,
    config: &TrainConfig,
    progress: &TrainProgress,
) -> Result<()> {
    let mut tensors = named(weights.layout(), "weights", &weights.flat);
    tensors.extend(named(weights.layout(), "stats", &weights.stats));
    write(
        path,
        tensors,
        &config.without_folders(),
        &Stored { progress: progress.clone(), ..Stored::default() },
    )
}

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

fn counters(learner: &Learner) -> [(&'static str, &Tensor); 3] {
    [("totals", &learner.totals), ("loss_scale", &learner.loss_scale.state), (DRIFT, &learner.drift.sums)]
}

/// Older checkpoints lack this counter; it then stays zero.
const DRIFT: &str = "drift";

fn views(layout: &ParamLayout, group: &str, flat: &Tensor) -> Vec<(String, Tensor)> {
    let views = if group.ends_with("stats") { layout.named_stats(flat) } else { layout.named_params(flat) };
    views.into_iter().map(|(name, view)| (format!("{group}/{name}"), view)).collect()
}

/// Name, shape and little-endian bytes of a tensor.
type StoredTensor = (String, Vec<usize>, Vec<u8>);

fn named(layout: &ParamLayout, group: &str, flat: &Tensor) -> Vec<StoredTensor> {
    let host = flat.to_device(Device::Cpu);
    views(layout, group, &host).into_iter().map(|(name, view)| stored(name, &view)).collect()
}

fn stored(name: String, tensor: &Tensor) -> StoredTensor {
    let shape = tensor.size().iter().map(|&n| n as usize).collect();
    let numbers = Vec::<f32>::try_from(tensor.to_device(Device::Cpu).contiguous().view([-1]));
    let bytes = numbers.expect("fp32 numbers").iter().flat_map(|number| number.to_le_bytes()).collect();
    (name, shape, bytes)
}

fn write(path: &Path, tensors: Vec<StoredTensor>, config: &TrainConfig, progress: &Stored) -> Result<()> {
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
    pub fn load(path: &Path) -> Result<Checkpoint> {
        Checkpoint::read(path).with_context(|| path.display().to_string())
    }

    fn read(path: &Path) -> Result<Checkpoint> {
        let bytes = std::fs::read(path)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| {
            anyhow!("not a checkpoint (a .safetensors file of `train` or `rl`), or truncated ({error:?})")
        })?;
        let metadata = metadata.metadata().clone().unwrap_or_default();
        let format = metadata.get("format").map_or("none", String::as_str);
        ensure!(format == FORMAT, "format is {format}, expected {FORMAT}");
        let entry = |key: &str| metadata.get(key).ok_or_else(|| anyhow!("the metadata lack \"{key}\""));
        let config: TrainConfig = serde_json::from_str(entry("config")?).context("config")?;
        let stored: Stored = serde_json::from_str(entry("progress")?).context("progress")?;
        let file = SafeTensors::deserialize(&bytes)?;
        let mut tensors = HashMap::new();
        for (name, view) in file.tensors() {
            ensure!(view.dtype() == Dtype::F32, "{name} is {:?}, expected F32", view.dtype());
            let shape: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
            tensors.insert(name, Tensor::from_data_size(view.data(), &shape, Kind::Float));
        }
        let progress = stored.progress.clone();
        Ok(Checkpoint { config, progress, stored, tensors, path: path.to_owned() })
    }

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
        learner.position = self.stored.loader.clone();
        learner.sources = self.stored.sources;
        learner.hard = self.stored.hard.clone();
        learner.weights.refresh();
        learner.averaged.refresh();
        Ok(())
    }

    /// Restores weights and running statistics, with `averaged` the averaged ones if the checkpoint has any.
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
