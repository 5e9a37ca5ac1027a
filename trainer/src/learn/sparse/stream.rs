//! An endless stream of shuffled batches from several sources, which can be resumed anywhere.
//!
//! The libtorch families draw single positions from all games (`data/loader`), which takes a replay of half a game per
//! sample. A step of this family costs less than that, so that a replay must give it several samples.
//!
//! A block takes games of each source in random order until the source's share is full, then shuffles the samples. An
//! epoch takes every `stride`-th position of each game, the next epoch the positions after these, so `stride` epochs
//! see each position once. A block depends only on the seed and the [`StreamCursor`], not on the number of threads.

use std::sync::Arc;

use anyhow::{Result, bail};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::games::{GameStore, SparseRecipe};
use super::samples::{SparseBatch, SparseSamples};
use super::teacher::SparseTeacher;
use crate::base::parallel;
use crate::learn::run::Feed;

/// Games per task.
const GAMES: usize = 64;

#[derive(Clone, Debug)]
pub struct SampleSource {
    pub name: String,
    pub games: Arc<GameStore>,
    /// Relative to the other sources.
    pub share: f64,
    /// An epoch takes one position in `stride`.
    pub stride: usize,
    pub recipe: SparseRecipe,
    /// The network whose answers replace the recorded targets.
    pub teacher: Option<SparseTeacher>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCursor {
    /// Completed passes over all games.
    pub epoch: u64,
    /// Games used in the current epoch.
    pub games: u64,
}

/// The position of a stream, which suffices to resume it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCursor {
    pub block: u64,
    /// Batches of the current block that were returned.
    pub batch: u64,
    /// The sources at the start of the current block.
    pub places: Vec<SourceCursor>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSizes {
    /// Samples per batch.
    pub batch: usize,
    /// Batches per block.
    pub block: usize,
}

#[derive(Debug)]
pub struct SampleStream {
    sources: Vec<SampleSource>,
    sizes: StreamSizes,
    seed: u64,
    threads: usize,
    cursor: StreamCursor,
    /// The sources after the current block.
    ahead: Vec<SourceCursor>,
    /// Each source's epoch in `ahead`, and the order of its games in that epoch.
    orders: Vec<(u64, Vec<u32>)>,
    block: SparseSamples,
}

fn mixed(numbers: [u64; 4]) -> u64 {
    // SplitMix64 (Steele, Lea and Flood 2014).
    numbers.into_iter().fold(0, |state: u64, number| {
        let mut z = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    })
}

impl SampleStream {
    /// Resumes at `cursor`, or begins if it has no places.
    pub fn new(
        sources: Vec<SampleSource>,
        sizes: StreamSizes,
        seed: u64,
        threads: usize,
        mut cursor: StreamCursor,
    ) -> Result<SampleStream> {
        if let Some(empty) = sources.iter().find(|source| source.games.targets() == 0 && source.share > 0.0) {
            bail!("{} has no positions to learn", empty.name);
        }
        if sources.iter().map(|source| source.share).sum::<f64>() <= 0.0 {
            bail!("no source has a share");
        }
        if cursor.places.is_empty() {
            cursor.places = vec![SourceCursor::default(); sources.len()];
        } else if cursor.places.len() != sources.len() {
            let (found, expected) = (sources.len(), cursor.places.len());
            bail!("{found} sources, the run had {expected}");
        }
        let orders = vec![(u64::MAX, Vec::new()); sources.len()];
        let ahead = cursor.places.clone();
        let mut stream = SampleStream {
            sources,
            sizes,
            seed,
            threads,
            cursor,
            ahead,
            orders,
            block: SparseSamples::default(),
        };
        stream.fill()?;
        Ok(stream)
    }

    pub fn cursor(&self) -> &StreamCursor {
        &self.cursor
    }

    pub fn sources(&self) -> &[SampleSource] {
        &self.sources
    }

    /// Builds the cursor's block, and moves `ahead` to its end.
    fn fill(&mut self) -> Result<()> {
        self.ahead = self.cursor.places.clone();
        let wanted = (self.sizes.batch * self.sizes.block) as f64;
        let total: f64 = self.sources.iter().map(|source| source.share).sum();
        let mut tasks = Vec::new();
        for source in 0..self.sources.len() {
            let quota = (wanted * self.sources[source].share / total).ceil() as usize;
            let chosen = self.take(source, quota);
            tasks.extend(chosen.chunks(GAMES).map(|games| (source, games.to_vec())));
        }
        let (seed, block) = (self.seed, self.cursor.block);
        let sources = &self.sources;
        let parts = parallel::map(self.threads, tasks, |(index, games): (usize, Vec<(u64, u32)>)| {
            let source = &sources[index];
            let mut samples = SparseSamples::default();
            for (epoch, game) in games {
                let number = u64::from(game);
                let mut rng = Rng::with_seed(mixed([seed, block, index as u64, number]));
                let phase = phase(source, seed, epoch, number);
                let wanted = |ply: usize| ply % source.stride == phase;
                let (game, recipe, rng, samples) = (game as usize, &source.recipe, &mut rng, &mut samples);
                match &source.teacher {
                    Some(teacher) => {
                        // A game that repeats within a block gets other random moves.
                        let rng = &mut Rng::with_seed(mixed([rng.u64(..), epoch, 0, 2]));
                        teacher.sample(&source.games, game, wanted, recipe, rng, samples);
                    }
                    None => source.games.sample(game, wanted, recipe, rng, samples),
                }
            }
            samples
        });
        self.block = SparseSamples::default();
        parts.into_iter().for_each(|part| self.block.append(part));
        self.block.shuffle(&mut Rng::with_seed(mixed([seed, block, u64::MAX, 0])));
        let (found, batch) = (self.block.len(), self.sizes.batch);
        if found < batch {
            bail!("a block of games has {found} positions to learn, fewer than a batch ({batch})");
        }
        Ok(())
    }

    /// Takes the next games of a source, with their epochs, until they have `quota` samples.
    fn take(&mut self, index: usize, quota: usize) -> Vec<(u64, u32)> {
        let source = &self.sources[index];
        let (place, (ordered, order)) = (&mut self.ahead[index], &mut self.orders[index]);
        let mut games = Vec::new();
        let mut samples = 0;
        while samples < quota {
            if *ordered != place.epoch || order.len() != source.games.len() {
                *order = (0..source.games.len() as u32).collect();
                let seed = mixed([self.seed, place.epoch, index as u64, u64::MAX]);
                Rng::with_seed(seed).shuffle(order);
                *ordered = place.epoch;
            }
            let Some(game) = order.get(place.games as usize) else {
                *place = SourceCursor { epoch: place.epoch + 1, games: 0 };
                continue;
            };
            place.games += 1;
            let positions = source.games.positions(*game as usize);
            let phase = phase(source, self.seed, place.epoch, u64::from(*game));
            let count = (positions + source.stride - 1 - phase) / source.stride;
            if count > 0 {
                games.push((place.epoch, *game));
            }
            samples += count;
        }
        games
    }
}

impl Feed for SampleStream {
    type Batch = SparseBatch;

    /// Fails if a block has fewer samples than a batch.
    fn next_batch(&mut self) -> Result<SparseBatch> {
        let size = self.sizes.batch;
        if (self.cursor.batch as usize + 1) * size > self.block.len() {
            self.cursor = StreamCursor { block: self.cursor.block + 1, batch: 0, places: self.ahead.clone() };
            self.fill()?;
        }
        let first = self.cursor.batch as usize * size;
        self.cursor.batch += 1;
        Ok(self.block.batch(first..first + size))
    }

    fn position(&self) -> Value {
        serde_json::to_value(&self.cursor).expect("numbers make JSON")
    }
}

/// Returns the first ply of a game that an epoch takes.
fn phase(source: &SampleSource, seed: u64, epoch: u64, game: u64) -> usize {
    ((mixed([seed, game, 0, 1]) % source.stride as u64 + epoch) % source.stride as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::record::GameView;

    /// 1. e4 e5 2. Nf3 Nc6 3. Bb5 a6, packed.
    const MOVES: [u16; 6] =
        [12 | 28 << 6, 52 | 36 << 6, 6 | 21 << 6, 57 | 42 << 6, 5 | 33 << 6, 48 | 40 << 6];

    fn source(name: &str, games: usize, share: f64) -> SampleSource {
        let mut store = GameStore::default();
        for game in 0..games {
            let plies = 3 + game % 4;
            store.push(&GameView {
                moves: &MOVES[..plies],
                result: (game % 3) as i8 - 1,
                ..GameView::default()
            });
        }
        SampleSource {
            name: name.to_owned(),
            games: Arc::new(store),
            share,
            stride: 3,
            recipe: SparseRecipe::default(),
            teacher: None,
        }
    }

    fn sources() -> Vec<SampleSource> {
        let teacher = SparseTeacher::load("embedded", 3).unwrap();
        vec![
            source("a", 100, 3.0),
            source("b", 37, 1.0),
            SampleSource { teacher: Some(teacher), ..source("c", 20, 0.5) },
        ]
    }

    const SIZES: StreamSizes = StreamSizes { batch: 16, block: 4 };

    #[test]
    fn it_resumes_anywhere_on_any_number_of_threads() {
        let start = || SampleStream::new(sources(), SIZES, 1, 1, StreamCursor::default()).unwrap();
        let mut stream = start();
        let batches: Vec<(StreamCursor, SparseBatch)> = (0..60)
            .map(|_| {
                let cursor = stream.cursor().clone();
                (cursor, stream.next_batch().unwrap())
            })
            .collect();
        assert!(stream.cursor().places[1].epoch > 2, "{:?}", stream.cursor());
        for at in [0, 3, 4, 5, 31, 47] {
            let mut again = SampleStream::new(sources(), SIZES, 1, 3, batches[at].0.clone()).unwrap();
            for (_, batch) in &batches[at..] {
                assert_eq!(again.next_batch().unwrap(), *batch);
            }
        }
        let mut other = SampleStream::new(sources(), SIZES, 2, 1, StreamCursor::default()).unwrap();
        assert_ne!(other.next_batch().unwrap(), batches[0].1);
    }

    #[test]
    fn as_many_epochs_as_strides_see_every_position_once() {
        let only = source("a", 50, 1.0);
        for game in 0..50 {
            let mut seen = vec![0; only.games.positions(game)];
            for epoch in 5..8 {
                let phase = phase(&only, 9, epoch, game as u64);
                (phase..seen.len()).step_by(only.stride).for_each(|ply| seen[ply] += 1);
            }
            assert!(seen.iter().all(|times| *times == 1), "{seen:?}");
        }
    }

    #[test]
    fn a_position_that_comes_again_has_other_random_moves() {
        let teacher = SparseTeacher::load("embedded", 8).unwrap();
        let only = SampleSource { teacher: Some(teacher), stride: 1, ..source("a", 1, 1.0) };
        let mut stream = SampleStream::new(vec![only], SIZES, 1, 1, StreamCursor::default()).unwrap();
        let batch = stream.next_batch().unwrap();
        let different: HashSet<&[u16]> = (0..batch.len()).map(|sample| batch.features(sample)).collect();
        assert!(different.len() > 10, "{} of {}", different.len(), batch.len());
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let new = |sources, cursor| SampleStream::new(sources, SIZES, 1, 1, cursor);
        assert!(new(vec![source("a", 0, 1.0)], StreamCursor::default()).is_err());
        assert!(new(vec![source("a", 10, 0.0)], StreamCursor::default()).is_err());
        // Its only move is illegal.
        let mut illegal = source("a", 0, 1.0);
        Arc::get_mut(&mut illegal.games)
            .unwrap()
            .push(&GameView { moves: &[12 | 60 << 6], ..GameView::default() });
        let error = new(vec![illegal], StreamCursor::default()).unwrap_err().to_string();
        assert!(error.contains("has 0 positions to learn"), "{error}");
        let places = vec![SourceCursor::default(); 4];
        assert!(new(sources(), StreamCursor { places, ..StreamCursor::default() }).is_err());
    }
}
