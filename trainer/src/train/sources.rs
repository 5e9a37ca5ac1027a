//! The configured sources: what is learned from, and what is held out.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::eval::{Network, Schemes};

use super::feed::Feed;
use super::validation::HeldOut;
use crate::config::{SourceConfig, TrainConfig};
use crate::dataset;
use crate::loader::{Batch, Corpus, CorpusBuilder, Origin, Prefetch, SampleOrder, Source};
use crate::record::{Split, split_at};
use crate::samples::{SampleOptions, ValueTarget};

/// The held-out batches are the same whatever a run's own seed is, so that runs can be compared.
const HELD_OUT_SEED: u64 = 0x5eed;

/// All sources of a run, split by game.
#[derive(Clone, Default)]
pub struct Sources {
    train: Vec<Source>,
    validation: Vec<Source>,
    names: Vec<String>,
    /// Of each source, the samples that go through it once.
    epochs: Vec<f64>,
}

impl Sources {
    /// Reads the games of every source into temporary files in `folder`, `validation` per cent of them to validate
    /// on. A game that two sources have, or one twice, belongs to the first place that it is found in.
    ///
    /// # Errors
    /// One line: a pattern matches no file, the folder can't be written, or there are no sources.
    pub fn load(configs: &[SourceConfig], validation: u64, folder: &Path) -> Result<Sources, String> {
        if configs.is_empty() {
            return Err("no sources: name files of games under \"sources\" in the configuration".into());
        }
        let mut seen = HashSet::new();
        let mut sources = Sources::default();
        for config in configs {
            let Read { train, validation, unwanted, duplicates } =
                read(config, validation, folder, &mut seen)?;
            log::info!(
                "{}: {} games, {} positions to learn from; {} games held out; left out {unwanted} not \
                 selected and {duplicates} duplicates",
                config.name,
                train.games(),
                train.positions(),
                validation.games()
            );
            sources.epochs.push(epoch(&train, config.positions_per_game));
            sources.train.push(Source { corpus: Arc::new(train), weight: config.weight });
            sources.validation.push(Source { corpus: Arc::new(validation), weight: 1.0 });
            sources.names.push(config.name.clone());
        }
        Ok(sources)
    }

    /// Makes the sources' shares sum to `total`, relative to those that are added.
    pub fn share(&mut self, total: f64) {
        let sum: f64 = self.train.iter().map(|source| source.weight).sum();
        self.train.iter_mut().for_each(|source| source.weight *= total / sum);
    }

    /// Adds games that don't come from the configuration.
    pub fn add(&mut self, name: &str, weight: f64, train: Corpus, validation: Corpus) {
        self.epochs.push(epoch(&train, 0));
        self.train.push(Source { corpus: Arc::new(train), weight });
        self.validation.push(Source { corpus: Arc::new(validation), weight: 1.0 });
        self.names.push(name.to_owned());
    }

    /// The samples of an epoch: mixed by weight, they go through every source at least once.
    pub fn epoch(&self) -> f64 {
        let used = || self.train.iter().zip(&self.epochs).filter(|(source, _)| source.corpus.games() > 0);
        let total: f64 = used().map(|(source, _)| source.weight).sum();
        used().map(|(source, epoch)| epoch * total / source.weight).fold(0.0, f64::max)
    }

    /// An endless feed of training batches, from batch number `first` on.
    ///
    /// # Errors
    /// One line, if there are no games to learn from.
    pub fn feed(&self, config: &TrainConfig, first: u64) -> Result<Prefetch, String> {
        let recipe = recipe(config, config.history_dropout);
        let fresh = config.batch - config.shown_again();
        let plan = SampleOrder::new(self.train.clone(), recipe, fresh, config.seed)
            .map_err(|error| format!("{error:#}"))?;
        let (plan, threads) = (Arc::new(plan), config.loader_threads);
        if config.teacher.net.is_empty() {
            return Ok(Prefetch::new(plan, first, threads));
        }
        let teacher =
            Network::load(Path::new(&config.teacher.net)).map_err(|error| format!("teacher: {error}"))?;
        log::info!("teacher: {}", teacher.describe());
        Prefetch::with_teacher(plan, first, threads, &teacher).map_err(|error| format!("{error:#}"))
    }

    /// The held-out samples that there are, every source alike, before one of them begins anew.
    pub fn held_out_samples(&self) -> u64 {
        let positions = self.validation.iter().map(|source| source.corpus.positions()).filter(|n| *n > 0);
        positions.clone().min().unwrap_or(0) * positions.count() as u64
    }

    /// Held-out batches, every source alike; none if nothing is held out.
    ///
    /// # Errors
    /// One line, if the games can't be read or are damaged.
    pub fn held_out(&self, config: &TrainConfig) -> Result<HeldOut, String> {
        let recipe = recipe(config, 0.0);
        let batches = match SampleOrder::new(self.validation.clone(), recipe, config.batch, HELD_OUT_SEED) {
            Ok(plan) => {
                let batch =
                    |k| plan.batch(k, None).map(|(batch, _)| batch).map_err(|error| format!("{error:#}"));
                (0..config.validation_batches as u64).map(batch).collect::<Result<_, String>>()?
            }
            Err(_) => Vec::new(),
        };
        Ok(HeldOut { batches, names: self.names.clone() })
    }
}

/// Samples as the configured network sees them.
fn recipe(config: &TrainConfig, history_dropout: f64) -> SampleOptions {
    let Schemes { input, policy, .. } = config.model.schemes();
    let target = ValueTarget { lambda: config.value_lambda as f32 };
    SampleOptions { input, policy, target, history_dropout }
}

/// The samples that go through a source once: as many as it has positions, or, with at most `most` of each
/// game, as a pass takes times that. A pass takes one position of every game.
fn epoch(corpus: &Corpus, most: u64) -> f64 {
    let passes = corpus.positions().div_ceil(corpus.games().max(1));
    let passes = if most == 0 { passes } else { passes.min(most) };
    corpus.games() as f64 * passes as f64
}

/// A source's games: those to train on and to validate on; test games are left for the gauge.
struct Read {
    train: Corpus,
    validation: Corpus,
    unwanted: u64,
    duplicates: u64,
}

fn read(config: &SourceConfig, percent: u64, folder: &Path, seen: &mut HashSet<u64>) -> Result<Read, String> {
    let full = |error: io::Error| format!("games can't be kept in {}: {error}", folder.display());
    let mut train = CorpusBuilder::new(folder).map_err(full)?;
    let mut validation = CorpusBuilder::new(folder).map_err(full)?;
    let (mut unwanted, mut duplicates) = (0, 0);
    for path in files(config)? {
        let chunk = match dataset::read_replayed(&path) {
            Ok(chunk) => chunk,
            // A broken file costs its own games, not the run.
            Err(error) => {
                log::warn!("{error}; skipped");
                continue;
            }
        };
        for index in 0..chunk.games() {
            let identity = chunk.identity(index);
            if !config.select.takes(&chunk, index) {
                unwanted += 1;
            } else if !seen.insert(identity) {
                duplicates += 1;
            } else {
                match split_at(identity, percent) {
                    Split::Train => train.push(&chunk.replay(index)).map_err(full)?,
                    Split::Validation => validation.push(&chunk.replay(index)).map_err(full)?,
                    Split::Test => {}
                }
            }
        }
    }
    let (train, validation) = (train.build().map_err(full)?, validation.build().map_err(full)?);
    Ok(Read { train, validation, unwanted, duplicates })
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
        Prefetch::next_batch(self).map_err(|error| format!("{error:#}"))
    }

    fn again(&mut self, origins: &[Origin]) -> Result<Batch, String> {
        Prefetch::again(self, origins).map_err(|error| format!("{error:#}"))
    }

    fn position(&self) -> serde_json::Value {
        serde_json::json!({ "batch": Prefetch::position(self) })
    }
}

/// Where a checkpoint's feed stood.
pub fn batch_number(position: &serde_json::Value) -> u64 {
    position.get("batch").and_then(serde_json::Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::ChunkWriter;
    use crate::record::GameRecord;
    use engine::position::{Game as Board, PackedMove};

    /// A file of games of four plies, the number of each in their first two moves.
    fn write(folder: &Path, name: &str, numbers: std::ops::Range<usize>) -> SourceConfig {
        let mut writer = ChunkWriter::new(folder, name, "a test", 1_000_000).unwrap();
        for number in numbers.clone() {
            let mut board = Board::new();
            let plies = [number % 20, number / 20, 0, 0].map(|choice| {
                let m = board.legal_moves()[choice];
                board.play(m);
                PackedMove::new(m)
            });
            writer
                .push(&GameRecord {
                    moves: plies.to_vec(),
                    white_elo: number as u16,
                    ..GameRecord::default()
                })
                .unwrap();
        }
        writer.finish().unwrap();
        let paths = [folder.join(format!("{name}-*.h5"))];
        serde_json::from_value(serde_json::json!({ "name": name, "paths": paths })).unwrap()
    }

    fn games(source: &Source) -> u64 {
        source.corpus.games()
    }

    #[test]
    fn a_game_is_learnt_from_once_whichever_sources_have_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = write(folder.path(), "first", 0..200);
        let alone = write(folder.path(), "alone", 200..300);
        let second = write(folder.path(), "second", 100..300);
        let load = |configs: &[SourceConfig]| Sources::load(configs, 1, folder.path()).unwrap();
        let expected = load(&[first.clone(), alone]);
        let sources = load(&[first.clone(), second, first]);
        for (parts, expected) in
            [(&sources.train, &expected.train), (&sources.validation, &expected.validation)]
        {
            let counts: Vec<u64> = parts.iter().map(games).collect();
            assert_eq!(counts, [games(&expected[0]), games(&expected[1]), 0]);
        }
        assert!(games(&expected.train[1]) > 90);
    }

    #[test]
    fn a_source_takes_what_it_selects() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), "all", 0..200);
        let mut some = all.clone();
        some.select.max_elo = 49;
        let count = |config: SourceConfig| {
            let sources = Sources::load(&[config], 1, folder.path()).unwrap();
            games(&sources.train[0])
        };
        assert!(count(all) > 190);
        assert!((45..=50).contains(&count(some)));
    }

    #[test]
    fn as_many_games_are_held_out_as_is_wished() {
        let folder = tempfile::tempdir().unwrap();
        let all = write(folder.path(), "all", 0..400);
        let sources = Sources::load(&[all], 20, folder.path()).unwrap();
        let (train, validation) = (games(&sources.train[0]), games(&sources.validation[0]));
        assert!((60..=100).contains(&validation) && (295..=335).contains(&train), "{train} {validation}");
    }

    #[test]
    fn an_epoch_goes_through_every_source() {
        let folder = tempfile::tempdir().unwrap();
        let mut configs = [write(folder.path(), "few", 0..50), write(folder.path(), "many", 100..300)];
        configs[0].weight = 3.0;
        let epoch = |configs: &[SourceConfig]| Sources::load(configs, 1, folder.path()).unwrap();
        let all = epoch(&configs);
        // Four plies a game, and only one sample in four is of the larger source.
        assert_eq!(all.epoch(), 4.0 * 4.0 * games(&all.train[1]) as f64);
        configs[1].positions_per_game = 1;
        assert_eq!(epoch(&configs).epoch(), 4.0 * games(&all.train[1]) as f64);
        configs[1].positions_per_game = 100;
        assert_eq!(epoch(&configs).epoch(), all.epoch(), "a game has no more positions than it has");
    }
}
