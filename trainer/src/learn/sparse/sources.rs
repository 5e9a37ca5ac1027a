//! The configured sources of games, split into training games and held-out positions.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Result, bail};

use super::games::{GameStore, SparseRecipe, choose};
use super::samples::SparseSamples;
use super::stream::SampleSource;
use super::teacher::SparseTeacher;
use crate::config::{SparseSourceConfig, SparseTrainConfig};
use crate::data::record::GameView;
use crate::learn::run::sources::{GameFilter, GameSink, HELD_OUT_SEED, SplitGames, epoch, share};

#[derive(Clone, Debug)]
pub struct HeldOutSamples {
    pub name: String,
    /// Sorted by game phase.
    pub samples: SparseSamples,
    pub phases: [Range<usize>; 3],
}

impl HeldOutSamples {
    /// Takes up to `count` positions with unweighted, unsmoothed targets of `recipe`.
    fn of(name: &str, games: &GameStore, count: usize, recipe: &SparseRecipe) -> HeldOutSamples {
        let exact =
            SparseRecipe { forget: 0.0, smoothing: 0.0, policy_weight: 1.0, value_weight: 1.0, ..*recipe };
        HeldOutSamples::all(name, choose(games, count, &exact, HELD_OUT_SEED))
    }

    pub fn all(name: &str, mut samples: SparseSamples) -> HeldOutSamples {
        let phases = samples.sort_by_phase();
        HeldOutSamples { name: name.to_owned(), samples, phases }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SparseGames {
    pub train: Vec<SampleSource>,
    pub held_out: Vec<HeldOutSamples>,
}

impl SparseGames {
    /// Reads the games into memory, four bytes per ply, without test games. A duplicate counts only where it occurs
    /// first, but a source with a teacher may share games with others. A source without training games is an error; an
    /// unreadable file is logged and skipped.
    pub fn load(config: &SparseTrainConfig) -> Result<SparseGames> {
        let mut seen = HashSet::new();
        let mut games = SparseGames::default();
        for source in &config.sources {
            let name = source.teacher.as_str();
            let teacher =
                if name.is_empty() { None } else { Some(SparseTeacher::load(name, source.random_moves)?) };
            // Its games may also belong to another source, which then validates them.
            let mut own = HashSet::new();
            let seen = if teacher.is_some() { &mut own } else { &mut seen };
            let filter = GameFilter {
                name: &source.name,
                paths: &source.paths,
                select: &source.select,
                fraction: source.fraction,
                validation_percent: config.validation_percent,
                validates: teacher.is_none(),
            };
            let empty = [GameStore::default(), GameStore::default()];
            let split = SplitGames::read(&filter, empty, config.thread_count(), seen)?;
            if let Some(why) = split.no_training_games(&source.name) {
                bail!(why);
            }
            let parts = [split.train, split.validation];
            games.add(&source.name, parts, source, config.validation_samples, teacher);
        }
        if games.held_out.is_empty() {
            log::warn!("no game with targets of its own is held out: there are no validations");
        }
        Ok(games)
    }

    /// `count` is the number of held-out positions.
    pub fn add(
        &mut self,
        name: &str,
        [train, validation]: [GameStore; 2],
        source: &SparseSourceConfig,
        count: usize,
        teacher: Option<SparseTeacher>,
    ) {
        let recipe = source.recipe();
        let held_out = HeldOutSamples::of(name, &validation, count, &recipe);
        if !held_out.samples.is_empty() {
            self.held_out.push(held_out);
        }
        let (share, stride) = (source.weight, source.stride);
        self.train.push(SampleSource {
            name: name.to_owned(),
            games: Arc::new(train),
            share,
            stride,
            recipe,
            teacher,
        });
    }

    /// Sets `samples` and `validate_every` where the configuration gives them in epochs.
    pub fn resolve_epochs(&self, config: &mut SparseTrainConfig) {
        let epoch = epoch(self.train.iter().map(|source| (source.games.targets() as f64, source.share)));
        let step = config.run().step_samples;
        config.in_epochs().resolve(epoch, step, &mut config.samples, &mut config.validate_every);
    }

    /// Scales the shares of sources with games to sum to `total`.
    pub fn share(&mut self, total: f64) {
        share(self.train.iter_mut().map(|source| (&mut source.share, source.games.games())), total);
    }
}

impl GameSink for GameStore {
    fn add(&mut self, game: &GameView<'_>) -> io::Result<()> {
        self.push(game);
        Ok(())
    }

    fn games(&self) -> u64 {
        self.len() as u64
    }

    fn positions(&self) -> u64 {
        self.targets()
    }
}
