//! The replay buffer: an index of the files with the newest self-play positions.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::data::dataset::{self, Chunk, ChunkError};
use crate::data::record::{GameView, Split, split_at};

/// The newest positions that count as recent.
const RECENT: f64 = 0.25;

/// Games of one iteration, in files `NAME-00000.h5` …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferEntry {
    pub name: String,
    /// First game in use; earlier games were dropped.
    pub first: u64,
    /// Target positions per game in use, in order.
    pub positions: Vec<u32>,
}

impl BufferEntry {
    pub fn read(folder: &Path, name: &str) -> Result<BufferEntry> {
        Ok(BufferEntry::new(name, &read_all(folder, name)?))
    }

    pub fn new(name: &str, chunks: &[Chunk]) -> BufferEntry {
        let of = |chunk: &Chunk, game| chunk.replay(game).targets() as u32;
        let positions = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| of(chunk, game)));
        BufferEntry { name: name.to_owned(), first: 0, positions: positions.collect() }
    }

    pub fn total(&self) -> u64 {
        self.positions.iter().map(|n| u64::from(*n)).sum()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplayBuffer {
    pub entries: Vec<BufferEntry>,
}

impl ReplayBuffer {
    pub fn positions(&self) -> u64 {
        self.entries.iter().map(BufferEntry::total).sum()
    }

    pub fn games(&self) -> u64 {
        self.entries.iter().map(|entry| entry.positions.len() as u64).sum()
    }

    /// Drops the oldest games beyond `capacity` positions.
    pub fn add(&mut self, entry: BufferEntry, capacity: u64) {
        self.entries.push(entry);
        let mut excess = self.positions().saturating_sub(capacity);
        for entry in &mut self.entries {
            let mut dropped = 0;
            while excess > 0 && dropped < entry.positions.len() {
                excess = excess.saturating_sub(u64::from(entry.positions[dropped]));
                dropped += 1;
            }
            entry.first += dropped as u64;
            entry.positions.drain(..dropped);
        }
        self.entries.retain(|entry| !entry.positions.is_empty());
    }

    /// Drops the newest positions, in whole games. Returns their number.
    pub fn purge(&mut self, share: f64) -> u64 {
        let before = self.positions();
        let mut wanted = (before as f64 * share).round() as u64;
        for entry in self.entries.iter_mut().rev() {
            while wanted > 0
                && let Some(positions) = entry.positions.pop()
            {
                wanted = wanted.saturating_sub(u64::from(positions));
            }
        }
        self.entries.retain(|entry| !entry.positions.is_empty());
        before - self.positions()
    }

    /// Drops the oldest iterations, but not the newest, until `bytes` bytes are freed. `size` gives an iteration's
    /// bytes. Returns the dropped names.
    pub fn release(&mut self, mut bytes: u64, size: impl Fn(&str) -> u64) -> Vec<String> {
        let mut dropped = Vec::new();
        while bytes > 0 && self.entries.len() > 1 {
            let entry = self.entries.remove(0);
            bytes = bytes.saturating_sub(size(&entry.name));
            dropped.push(entry.name);
        }
        dropped
    }

    /// Drops iterations whose files are missing, damaged (then renamed) or short of games, and returns a log line for
    /// each. Fails on a file of another program version.
    pub fn drop_lost(&mut self, folder: &Path) -> Result<Vec<String>> {
        let mut lost = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            match why_lost(&entry, folder)? {
                None => self.entries.push(entry),
                Some(why) => lost.push(format!("{why}: {} positions are lost", entry.total())),
            }
        }
        Ok(lost)
    }

    pub fn names(&self) -> BTreeSet<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// Passes every game, newest first. `percent` are held out. Of equal games only the newest counts.
    pub fn visit(
        &self,
        folder: &Path,
        percent: u64,
        take: &mut dyn FnMut(bool, Split, &GameView<'_>) -> Result<()>,
    ) -> Result<()> {
        let recent = (RECENT * self.positions() as f64) as u64;
        let (mut passed, mut seen) = (0, HashSet::new());
        for entry in self.entries.iter().rev() {
            let chunks = read_all(folder, &entry.name)?;
            let all = chunks.iter().flat_map(|chunk| (0..chunk.games()).map(move |game| (chunk, game)));
            let used: Vec<(&Chunk, usize)> =
                all.skip(entry.first as usize).take(entry.positions.len()).collect();
            for (chunk, game) in used.into_iter().rev() {
                let is_recent = passed < recent;
                let replay = chunk.replay(game);
                passed += replay.targets() as u64;
                let identity = chunk.identity(game);
                if seen.insert(identity) {
                    take(is_recent, split_at(identity, percent), &replay)?;
                }
            }
        }
        Ok(())
    }
}

fn why_lost(entry: &BufferEntry, folder: &Path) -> Result<Option<String>> {
    let mut games = 0;
    for path in files(folder, &entry.name) {
        match dataset::read(&path) {
            Ok(chunk) => games += chunk.games() as u64,
            Err(why @ ChunkError::Foreign(..)) => return Err(anyhow::Error::msg(why)),
            Err(why) => {
                let aside = path.with_extension("h5.damaged");
                std::fs::rename(&path, &aside)
                    .with_context(|| format!("{why}; cannot rename it to {}", aside.display()))?;
                return Ok(Some(format!("{why}; it is now {}", aside.display())));
            }
        }
    }
    let wanted = entry.first + entry.positions.len() as u64;
    Ok(match games {
        0 => Some(missing(folder, &entry.name)),
        games if games < wanted => {
            Some(format!("{} has {games} games, {wanted} are used", folder.join(&entry.name).display()))
        }
        _ => None,
    })
}

fn missing(folder: &Path, name: &str) -> String {
    format!("{} is missing, which the buffer needs", folder.join(format!("{name}-00000.h5")).display())
}

pub fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let path = |number: u32| folder.join(format!("{name}-{number:05}.h5"));
    (0..).map(path).take_while(|path| path.exists()).collect()
}

/// Fails if the iteration has no files.
pub fn read_all(folder: &Path, name: &str) -> Result<Vec<Chunk>> {
    let files = files(folder, name);
    ensure!(!files.is_empty(), missing(folder, name));
    files.iter().map(|path| Ok(dataset::read_replayed(path)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "libtorch")]
    use crate::config::{LearnerConfig, RlConfig, TrainConfig};
    #[cfg(feature = "libtorch")]
    use crate::data::dataset::ChunkWriter;
    #[cfg(feature = "libtorch")]
    use crate::data::record::{FLAG_SELF_PLAY, GameRecord, SearchRecord};
    #[cfg(feature = "libtorch")]
    use crate::learn::torch::Sources;
    #[cfg(feature = "libtorch")]
    use crate::play::rl::torch::add_to;
    #[cfg(feature = "libtorch")]
    use engine::chess::position::PackedMove;

    fn entry(name: &str, positions: &[u32]) -> BufferEntry {
        BufferEntry { name: name.into(), first: 0, positions: positions.to_vec() }
    }

    #[test]
    fn the_oldest_are_dropped_when_it_is_full() {
        let mut buffer = ReplayBuffer::default();
        buffer.add(entry("a", &[10, 10, 10]), 50);
        buffer.add(entry("b", &[10, 10]), 50);
        assert_eq!(buffer.positions(), 50);
        buffer.add(entry("c", &[15]), 50);
        assert_eq!((buffer.positions(), buffer.entries[0].first, buffer.games()), (45, 2, 4));
        buffer.add(entry("d", &[12]), 50);
        assert_eq!(buffer.names().into_iter().collect::<Vec<_>>(), ["b", "c", "d"]);
    }

    #[test]
    fn the_newest_are_purged() {
        let mut buffer = ReplayBuffer::default();
        buffer.add(entry("a", &[10; 6]), 1000);
        buffer.add(entry("b", &[10; 2]), 1000);
        assert_eq!(buffer.purge(0.25), 20);
        assert_eq!(buffer.names().into_iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(buffer.purge(0.5), 30);
        assert_eq!((buffer.entries[0].first, buffer.entries[0].positions.len()), (0, 3));
        assert_eq!(buffer.purge(0.1), 10, "whole games");
        assert_eq!((buffer.purge(1.0), buffer.purge(0.5), buffer.positions()), (20, 0, 0));
    }

    #[test]
    fn the_oldest_games_are_dropped_to_save_disk_space() {
        let full = || ReplayBuffer { entries: ["a", "b", "c"].map(|name| entry(name, &[10])).into() };
        let size = |name: &str| if name == "a" { 100 } else { 50 };
        let released = |bytes| {
            let mut buffer = full();
            let dropped = buffer.release(bytes, size);
            (dropped.join(""), buffer.names().into_iter().collect::<String>())
        };
        let expected = |dropped: &str, left: &str| (dropped.to_owned(), left.to_owned());
        assert_eq!(released(0), expected("", "abc"));
        assert_eq!(released(100), expected("a", "bc"));
        assert_eq!(released(101), expected("ab", "c"));
        assert_eq!(released(1000), expected("ab", "c"), "the newest stay");
    }

    #[cfg(feature = "libtorch")]
    #[test]
    fn its_games_are_mixed_in_at_their_share() {
        let folder = tempfile::tempdir().unwrap();
        for (name, games) in [("a", 0..60u16), ("b", 60..80)] {
            let mut writer = ChunkWriter::new(folder.path(), name, "a test", 40).unwrap();
            for number in games {
                // A white pawn moves one square, then a black pawn one or two.
                let (own, theirs) = (8 + number % 8, 48 + number / 8 % 8);
                let steps = 8 + 8 * (number / 64);
                let moves =
                    vec![PackedMove(own | (own + 8) << 6), PackedMove(theirs | (theirs - steps) << 6)];
                let learnt = SearchRecord::new(0.5, 0.25, [(moves[0], 1.0)]);
                let searches = vec![learnt, SearchRecord::default()];
                writer
                    .push(&GameRecord { moves, searches, flags: FLAG_SELF_PLAY, ..GameRecord::default() })
                    .unwrap();
            }
            writer.finish().unwrap();
        }
        let mut buffer = ReplayBuffer::default();
        for name in ["a", "b"] {
            buffer.add(BufferEntry::read(folder.path(), name).unwrap(), 1000);
        }
        assert_eq!((buffer.positions(), buffer.games()), (80, 80), "one recorded position a game");
        let mut sources = Sources::default();
        let train =
            TrainConfig { batch: 1024, value_lambda: 0.0, history_dropout: 0.0, ..TrainConfig::default() };
        let mut config = RlConfig {
            recent_weight: 3.0,
            train: LearnerConfig::Torch(Box::new(train)),
            ..RlConfig::default()
        };
        add_to(&buffer, &mut sources, folder.path(), folder.path(), &config, 1.0).unwrap();
        let mut feed = sources.feed(config.train.torch().unwrap(), 0).unwrap();
        let batch = feed.next_batch().unwrap();
        let recent = batch.source.iter().filter(|source| **source == 1).count();
        // Sixty older games, and twenty recent games that are sampled three times as often: half of the samples each.
        assert!((480..580).contains(&recent), "{recent}");
        assert!((batch.wdl[0] - 0.625).abs() < 1e-3, "the search's value");
        assert_eq!(batch.shares.of(0).count(), 1);
        // Half of eighty games with one position each.
        let held_out = |config: &RlConfig| {
            let mut sources = Sources::default();
            add_to(&buffer, &mut sources, folder.path(), folder.path(), config, 1.0).unwrap();
            sources.held_out_samples()
        };
        let usual = held_out(&config);
        config.train.torch_mut().unwrap().validation_percent = 50;
        assert!(usual < 4 && (8..=30).contains(&held_out(&config)), "{usual}, {}", held_out(&config));
        buffer.entries[0].name = "gone".into();
        let error = add_to(&buffer, &mut sources, folder.path(), folder.path(), &config, 1.0).unwrap_err();
        assert!(error.to_string().contains("gone-00000.h5 is missing"), "{error}");
        let b = folder.path().join("b-00000.h5");
        let lost = buffer.drop_lost(folder.path()).unwrap();
        assert!(lost.len() == 1 && lost[0].contains("gone-00000.h5 is missing"), "{lost:?}");
        assert!(lost[0].ends_with(": 60 positions are lost"), "{lost:?}");
        assert_eq!((buffer.positions(), buffer.drop_lost(folder.path()).unwrap()), (20, vec![]));
        std::fs::write(&b, &std::fs::read(&b).unwrap()[..1000]).unwrap();
        let lost = buffer.drop_lost(folder.path()).unwrap();
        assert!(lost.len() == 1 && lost[0].contains("b-00000.h5"), "{lost:?}");
        assert_eq!((buffer.positions(), b.exists()), (0, false));
        assert!(folder.path().join("b-00000.h5.damaged").exists(), "nothing is deleted");
    }
}
