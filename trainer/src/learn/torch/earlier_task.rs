//! Elastic weight consolidation for the games of an earlier task.

use std::path::Path;

use anyhow::{Context, Result};

use super::sources::Sources;
use crate::config::{TeacherConfig, TrainConfig};
use crate::learn::torch::families::{Net, Weights};
use crate::learn::torch::regularise::ElasticPenalty;

/// Returns a penalty around `weights`, whose importance is measured on the games of `ewc.sources`. `folder` gets a
/// temporary copy of these games.
pub fn earlier_task(
    config: &TrainConfig,
    folder: &Path,
    net: &Net,
    weights: &Weights,
) -> Result<ElasticPenalty> {
    let sources =
        Sources::load(&config.ewc.sources, config.validation_percent, folder).context("ewc.sources")?;
    // The earlier task had no teacher.
    let config = &TrainConfig { teacher: TeacherConfig::default(), ..config.clone() };
    let mut feed = sources.feed(config, 0)?;
    let count = config.ewc.samples.div_ceil(config.batch as u64);
    log::info!(
        "estimating the Fisher information from {} samples of the earlier task",
        count * config.batch as u64
    );
    let batches = (0..count).map(|_| feed.next_batch()).collect::<Result<Vec<_>, _>>()?;
    Ok(ElasticPenalty::measure(net, weights, &batches, config))
}
