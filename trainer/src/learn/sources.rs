//! The configured sources read into memory: what is learned from, and what is held out.

use std::path::PathBuf;
use std::sync::Arc;

use super::config::{SourceConfig, TrainConfig};
use super::feed::Feed;
use super::validation::HeldOut;
use crate::chunks;
use crate::games::{Split, split};
use crate::loader::{Batch, Corpus, CorpusBuilder, Origin, Plan, Prefetch, Source};
use crate::samples::{Recipe, ValueTarget};

/// The held-out batches are the same whatever a run's own seed is, so that runs can be compared.
const HELD_OUT_SEED: u64 = 0x5eed;

/// All sources of a run, split by game.
pub struct Sources {
    train: Vec<Source>,
    validation: Vec<Source>,
    names: Vec<String>,
}

impl Sources {
    /// Reads the games of every source.
    ///
    /// # Errors
    /// One line: a pattern matches no file, a file can't be used, or there are no games.
    pub fn load(configs: &[SourceConfig]) -> Result<Sources, String> {
        if configs.is_empty() {
            return Err("no sources: name files of games under \"sources\" in the configuration".into());
        }
        let mut sources =
            Sources { train: Vec::new(), validation: Vec::new(), names: Vec::with_capacity(configs.len()) };
        for config in configs {
            let [train, validation] = read(config)?;
            log::info!(
                "{}: {} games, {} positions to learn from; {} games held out",
                config.name,
                train.games(),
                train.positions(),
                validation.games()
            );
            sources.train.push(Source { corpus: Arc::new(train), weight: config.weight });
            sources.validation.push(Source { corpus: Arc::new(validation), weight: 1.0 });
            sources.names.push(config.name.clone());
        }
        Ok(sources)
    }

    /// An endless feed of training batches, from batch number `first` on.
    ///
    /// # Errors
    /// One line, if there are no games to learn from.
    pub fn feed(&self, config: &TrainConfig, first: u64) -> Result<Prefetch, String> {
        let recipe = Recipe { target: target(config), history_dropout: config.history_dropout };
        let fresh = config.batch - config.shown_again();
        let plan = Plan::new(self.train.clone(), recipe, fresh, config.seed)?;
        Ok(Prefetch::new(Arc::new(plan), first, config.loader_threads))
    }

    /// Held-out batches, every source alike; none if nothing is held out.
    pub fn held_out(&self, config: &TrainConfig) -> HeldOut {
        // Of the results alone, too: what is predicted is judged by what happened.
        let [batches, results] = [target(config), ValueTarget { lambda: 1.0 }].map(|target| {
            let recipe = Recipe { target, history_dropout: 0.0 };
            let plan = Plan::new(self.validation.clone(), recipe, config.batch, HELD_OUT_SEED);
            let batches = |plan: Plan| (0..config.validation_batches as u64).map(move |k| plan.batch(k).0);
            plan.map_or_else(|_| Vec::new(), |plan| batches(plan).collect())
        });
        let results = results.into_iter().map(|batch: Batch| batch.wdl).collect();
        HeldOut { batches, results, names: self.names.clone() }
    }
}

fn target(config: &TrainConfig) -> ValueTarget {
    ValueTarget { lambda: config.value_lambda as f32 }
}

/// Training and validation games of a source; test games are left for the gauge.
fn read(config: &SourceConfig) -> Result<[Corpus; 2], String> {
    let mut parts = [CorpusBuilder::default(), CorpusBuilder::default()];
    for path in files(config)? {
        let chunk = match chunks::read(&path) {
            Ok(chunk) => chunk,
            // A broken file costs its own games, not the run.
            Err(error) => {
                log::warn!("{error}; skipped");
                continue;
            }
        };
        for index in 0..chunk.games() {
            match split(chunk.identity(index)) {
                Split::Train => parts[0].push(&chunk.replay(index)),
                Split::Validation => parts[1].push(&chunk.replay(index)),
                Split::Test => {}
            }
        }
    }
    Ok(parts.map(CorpusBuilder::build))
}

fn files(config: &SourceConfig) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for pattern in &config.paths {
        let bad = |error: &dyn std::fmt::Display| format!("source {}: {pattern}: {error}", config.name);
        let matches: Result<Vec<PathBuf>, _> = glob::glob(pattern).map_err(|error| bad(&error))?.collect();
        let mut matches = matches.map_err(|error| bad(&error))?;
        if matches.is_empty() {
            return Err(bad(&"no such file"));
        }
        matches.sort();
        all.append(&mut matches);
    }
    Ok(all)
}

impl Feed for Prefetch {
    fn next_batch(&mut self) -> Result<Batch, String> {
        Prefetch::next_batch(self)
    }

    fn again(&mut self, origins: &[Origin]) -> Result<Batch, String> {
        Ok(Prefetch::again(self, origins))
    }

    fn position(&self) -> serde_json::Value {
        serde_json::json!({ "batch": Prefetch::position(self) })
    }
}

/// Where a checkpoint's feed stood.
pub fn batch_number(position: &serde_json::Value) -> u64 {
    position.get("batch").and_then(serde_json::Value::as_u64).unwrap_or(0)
}
