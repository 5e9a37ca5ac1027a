//! The configured sources of games, split into training games and held-out positions.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::config::{SparseSourceConfig, SparseTrainConfig};
use super::games::{GameStore, SparseRecipe, choose};
use super::parallel;
use super::samples::SparseSamples;
use super::stream::SampleSource;
use crate::dataset;
use crate::record::{Split, split_at};

/// The seed of held-out positions, which does not depend on the run's seed, so that runs can be compared.
const HELD_OUT_SEED: u64 = 0x5eed;

/// Held-out positions of one source.
#[derive(Clone, Debug)]
pub struct HeldOutSamples {
    /// The source's name.
    pub name: String,
    /// Its positions.
    pub samples: SparseSamples,
}

/// All sources of a run.
#[derive(Clone, Debug, Default)]
pub struct SparseGames {
    /// Training games.
    pub train: Vec<SampleSource>,
    /// Held-out positions of each source that has some.
    pub held_out: Vec<HeldOutSamples>,
}

impl SparseGames {
    /// Reads the games of every source into memory, four bytes a ply. Duplicate games, within a source or between
    /// sources, are used once, where they occur first; test games are left out.
    ///
    /// # Errors
    ///
    /// If a pattern matches no file, or a source has no training games. Unreadable files are logged and skipped.
    pub fn load(config: &SparseTrainConfig) -> Result<SparseGames> {
        let mut seen = HashSet::new();
        let mut games = SparseGames::default();
        for source in &config.sources {
            let [train, validation] = read(source, config, &mut seen)?;
            log::info!(
                "{}: {} training games with {} positions, {} validation games",
                source.name,
                train.len(),
                train.targets(),
                validation.len()
            );
            ensure!(!train.is_empty(), "source {}: no training games", source.name);
            let recipe = source.recipe();
            let exact =
                SparseRecipe { forget: 0.0, smoothing: 0.0, policy_weight: 1.0, value_weight: 1.0, ..recipe };
            let samples = choose(&validation, config.validation_samples, &exact, HELD_OUT_SEED);
            if !samples.is_empty() {
                games.held_out.push(HeldOutSamples { name: source.name.clone(), samples });
            }
            games.train.push(SampleSource {
                name: source.name.clone(),
                games: train,
                share: source.weight,
                stride: source.stride,
                recipe,
            });
        }
        Ok(games)
    }
}

/// A source's games for training and for validation.
fn read(
    source: &SparseSourceConfig,
    config: &SparseTrainConfig,
    seen: &mut HashSet<u64>,
) -> Result<[GameStore; 2]> {
    let [mut train, mut validation] = [GameStore::default(), GameStore::default()];
    let threads = config.thread_count();
    let paths = dataset::matching(&source.name, &source.paths)?;
    // As many files at a time as threads, so that few are in memory as a whole.
    for paths in paths.chunks(threads) {
        let chunks = parallel::map(threads, paths.to_vec(), |path: PathBuf| dataset::read_replayed(&path));
        for chunk in chunks {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    log::warn!("{error}; skipped");
                    continue;
                }
            };
            for index in 0..chunk.games() {
                let identity = chunk.identity(index);
                if !source.select.takes(&chunk, index) || !seen.insert(identity) {
                    continue;
                }
                match split_at(identity, config.validation_percent) {
                    Split::Train => train.push(&chunk.replay(index)),
                    Split::Validation => validation.push(&chunk.replay(index)),
                    Split::Test => {}
                }
            }
        }
    }
    Ok([train, validation])
}
