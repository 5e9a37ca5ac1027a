//! A run of the family `sparse` that goes on from its newest checkpoint.

use anyhow::{Context, Result, ensure};

use super::checkpoint::SparseCheckpoint;
use super::learner::SparseLearner;
use super::run::{RunState, SparseRun, SparseTrainer, Stored};
use crate::config::SparseTrainConfig;
use crate::learn::run::{self, Run, RunFolder};

impl SparseRun {
    /// Resumes a run with the same samples and losses as without the break. Model, batch, block, seed, held-out games
    /// and source names must not have changed.
    pub fn resume(folder: RunFolder, config: &SparseTrainConfig) -> Result<SparseRun> {
        let (checkpoint, state) = read(&folder, config)?;
        let names = |config: &SparseTrainConfig| -> Vec<String> {
            config.sources.iter().map(|source| source.name.clone()).collect()
        };
        let old = &state.config;
        for (key, same) in [
            ("batch", old.batch == config.batch),
            ("block", old.block == config.block),
            ("seed", old.seed == config.seed),
            ("sources", names(old) == names(config)),
        ] {
            ensure!(same, "{key} cannot be changed in a run that is resumed");
        }
        resumed(folder, config, checkpoint, state)
    }

    /// Continues a run with other games and settings. The model must be the same, and with the same seed, and so the
    /// same sample order, also batch and block.
    pub fn go_on(folder: RunFolder, config: &SparseTrainConfig) -> Result<SparseRun> {
        let (checkpoint, state) = read(&folder, config)?;
        if state.config.seed == config.seed {
            for (key, was, is) in
                [("batch", state.config.batch, config.batch), ("block", state.config.block, config.block)]
            {
                ensure!(
                    was == is,
                    "{key} was {was} and cannot be {is} before the samples of this iteration are learnt: resume with \
                     --set train.{key}={was}, and change it later"
                );
            }
        }
        resumed(folder, config, checkpoint, state)
    }
}

fn read(folder: &RunFolder, config: &SparseTrainConfig) -> Result<(SparseCheckpoint, RunState)> {
    let (checkpoint, state) = folder.resumed(|path| {
        let checkpoint = SparseCheckpoint::read(path)?;
        let state: RunState = serde_json::from_str(&checkpoint.state)
            .with_context(|| format!("{}: the state of the run", path.display()))?;
        Ok((checkpoint, state))
    })?;
    run::same_model(&state.config.model, &config.model)?;
    run::same_split(state.config.validation_percent, config.validation_percent)?;
    Ok((checkpoint, state))
}

fn resumed(
    folder: RunFolder,
    config: &SparseTrainConfig,
    SparseCheckpoint { network, average, .. }: SparseCheckpoint,
    RunState { progress: Stored { progress, cursor }, tally, .. }: RunState,
) -> Result<SparseRun> {
    let cursor = serde_json::from_value(cursor).context("the checkpoint's place among the samples")?;
    let mut learner = SparseLearner::new(network, config.adam, config.thread_count());
    learner.steps = progress.step;
    let learner = SparseTrainer { config: config.clone(), learner, average, cursor, tally };
    Run::open(folder, config, config.run(), learner, progress)
}
