//! Selects and splits the games of a configured source, for every learner.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use engine::base::words::counted;

use crate::base::parallel;
use crate::config::Selection;
use crate::data::dataset;
use crate::data::record::{GameView, Split, is_in_fraction, split_at};

/// Seed of the choice of held-out positions. It is independent of the run's, so that runs can be compared.
pub const HELD_OUT_SEED: u64 = 0x5eed;

pub trait GameSink {
    fn add(&mut self, game: &GameView<'_>) -> io::Result<()>;

    fn games(&self) -> u64;

    /// The number of positions to learn from.
    fn positions(&self) -> u64;
}

/// The games of a source, without test games.
pub struct SplitGames<S> {
    pub train: S,
    pub validation: S,
    /// Training games beyond the source's fraction.
    pub unused: u64,
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

/// Scales the weights of the sources with games to sum to `total`.
pub fn share<'a>(sources: impl Iterator<Item = (&'a mut f64, u64)>, total: f64) {
    let mut weights: Vec<&mut f64> =
        sources.filter(|(_, games)| *games > 0).map(|(weight, _)| weight).collect();
    let sum: f64 = weights.iter().map(|weight| **weight).sum();
    if sum > 0.0 {
        weights.iter_mut().for_each(|weight| **weight *= total / sum);
    }
}

pub struct GameFilter<'a> {
    /// For messages.
    pub name: &'a str,
    pub paths: &'a [String],
    pub select: &'a Selection,
    /// Of the training games.
    pub fraction: f64,
    pub validation_percent: u64,
    /// Whether the held-out games are kept for validations.
    pub validates: bool,
}

impl<S: GameSink> SplitGames<S> {
    /// Why the source has no training games, if it has none.
    pub fn no_training_games(&self, name: &str) -> Option<String> {
        let SplitGames { train, validation, unused, unwanted, duplicates } = self;
        (train.games() == 0).then(|| {
            format!(
                "source {name}: no training games ({unwanted} were excluded by the selection, {unused} by the \
                 fraction, {duplicates} are in the sources before it, or twice in it, {} are held out for validation)",
                validation.games()
            )
        })
    }

    /// Reads a source's games. `seen` holds the games of earlier sources: these are left out here, and all others are added
    /// to it. An unreadable file is logged and skipped.
    pub fn read(
        filter: &GameFilter<'_>,
        [train, validation]: [S; 2],
        threads: usize,
        seen: &mut HashSet<u64>,
    ) -> Result<SplitGames<S>> {
        let mut games = SplitGames { train, validation, unused: 0, unwanted: 0, duplicates: 0 };
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
                    let split = split_at(identity, filter.validation_percent);
                    if !filter.select.takes(&chunk, index) {
                        games.unwanted += 1;
                    } else if split == Split::Train && !is_in_fraction(identity, filter.fraction) {
                        // A later source may use it.
                        games.unused += 1;
                    } else if !seen.insert(identity) {
                        games.duplicates += 1;
                    } else {
                        let added = match split {
                            Split::Train => games.train.add(&chunk.replay(index)),
                            Split::Validation if filter.validates => {
                                games.validation.add(&chunk.replay(index))
                            }
                            Split::Validation | Split::Test => Ok(()),
                        };
                        added.with_context(|| format!("source {}: cannot copy a game", filter.name))?;
                    }
                }
            }
        }
        let by_fraction = match games.unused {
            0 => String::new(),
            unused => format!("{unused} by the fraction {}, ", filter.fraction),
        };
        log::info!(
            "{}: {} with {}, {}; excluded: {} by the selection, {by_fraction}{}",
            filter.name,
            counted(games.train.games(), "training game"),
            counted(games.train.positions(), "position"),
            counted(games.validation.games(), "validation game"),
            games.unwanted,
            counted(games.duplicates, "duplicate")
        );
        if let Some(warning) = games.many_duplicates(filter.name) {
            log::warn!("{warning}");
        }
        Ok(games)
    }

    /// A warning if duplicates outnumber the games kept for training and validation: only the first source of a game
    /// gives its labels.
    fn many_duplicates(&self, name: &str) -> Option<String> {
        let kept = self.train.games() + self.validation.games();
        (self.duplicates > kept).then(|| {
            format!(
                "source {name}: {} of its games are left out and {kept} kept: an earlier source holds them, or they occur \
                 twice in this one; to learn from this source's labels of shared games, list it before the other",
                self.duplicates
            )
        })
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

    struct Counted(u64);

    impl GameSink for Counted {
        fn add(&mut self, _: &GameView<'_>) -> io::Result<()> {
            self.0 += 1;
            Ok(())
        }

        fn games(&self) -> u64 {
            self.0
        }

        fn positions(&self) -> u64 {
            0
        }
    }

    #[test]
    fn it_is_told_when_more_games_are_duplicates_than_kept() {
        let games = |duplicates| SplitGames {
            train: Counted(9),
            validation: Counted(1),
            unused: 0,
            unwanted: 0,
            duplicates,
        };
        assert_eq!(games(10).many_duplicates("mine"), None);
        let warning = games(11).many_duplicates("mine").unwrap();
        assert!(warning.starts_with("source mine: 11 of its games are left out and 10 kept: "), "{warning}");
        assert!(warning.ends_with("list it before the other"), "{warning}");
    }

    #[test]
    fn shares_are_divided_among_the_sources_with_games() {
        let mut weights = [3.0, 5.0, 1.0];
        share(weights.iter_mut().zip([10, 0, 20]), 0.5);
        assert_eq!([weights[0], weights[2]], [0.375, 0.125]);
        let mut unused = [0.0, 0.0];
        share(unused.iter_mut().zip([1, 1]), 0.5);
        assert_eq!(unused, [0.0, 0.0], "not NaN");
    }
}
