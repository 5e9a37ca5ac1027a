//! Selects and splits the games of a configured source, for every learner.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::base::parallel;
use crate::config::Selection;
use crate::data::dataset;
use crate::data::record::{GameView, Split, split_at};

pub trait GameSink {
    fn add(&mut self, game: &GameView<'_>) -> io::Result<()>;
}

/// The games of a source, without test games.
pub struct SplitGames<S> {
    pub train: S,
    pub validation: S,
    /// Games excluded by the selection.
    pub unwanted: u64,
    /// Games that occurred before, in this source or another.
    pub duplicates: u64,
}

/// The number of samples of an epoch over sources of these lengths and weights, which, mixed by weight, passes over
/// every source at least once. Sources without samples or weight take no part.
pub fn epoch(sources: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let used = sources.filter(|(samples, weight)| *samples > 0.0 && *weight > 0.0);
    let total: f64 = used.clone().map(|(_, weight)| weight).sum();
    used.map(|(samples, weight)| samples * total / weight).fold(0.0, f64::max)
}

pub struct GameFilter<'a> {
    /// For messages.
    pub name: &'a str,
    pub paths: &'a [String],
    pub select: &'a Selection,
    pub validation_percent: u64,
}

impl<S: GameSink> SplitGames<S> {
    /// `seen` holds the identities of the games read before, which are left out. An unreadable file is logged and
    /// skipped.
    pub fn read(
        filter: &GameFilter<'_>,
        [train, validation]: [S; 2],
        threads: usize,
        seen: &mut HashSet<u64>,
    ) -> Result<SplitGames<S>> {
        let mut games = SplitGames { train, validation, unwanted: 0, duplicates: 0 };
        let paths = dataset::matching(filter.name, filter.paths)?;
        // As many files at a time as threads, so that few are in memory.
        for paths in paths.chunks(threads.max(1)) {
            let chunks =
                parallel::map(threads, paths.to_vec(), |path: PathBuf| dataset::read_replayed(&path));
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
                    if !filter.select.takes(&chunk, index) {
                        games.unwanted += 1;
                    } else if !seen.insert(identity) {
                        games.duplicates += 1;
                    } else {
                        let added = match split_at(identity, filter.validation_percent) {
                            Split::Train => games.train.add(&chunk.replay(index)),
                            Split::Validation => games.validation.add(&chunk.replay(index)),
                            Split::Test => Ok(()),
                        };
                        added.with_context(|| format!("source {}: cannot copy a game", filter.name))?;
                    }
                }
            }
        }
        Ok(games)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_passes_over_every_source() {
        assert_eq!(epoch([(100.0, 1.0), (30.0, 1.0)].into_iter()), 200.0);
        // The smaller source is read so rarely that it takes longer.
        assert_eq!(epoch([(100.0, 9.0), (30.0, 1.0)].into_iter()), 300.0);
        assert_eq!(epoch([(100.0, 9.0), (0.0, 1.0), (7.0, 0.0)].into_iter()), 100.0);
        assert_eq!(epoch([].into_iter()), 0.0);
    }
}
