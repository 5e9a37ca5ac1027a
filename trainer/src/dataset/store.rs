//! Storage of generated games that loses none when a run is interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::writer::ChunkWriter;
use crate::files::write_file;
use crate::record::GameRecord;

/// The format of a file of pending games.
const FORMAT: &str = "philidor-hands/1";

/// A game that is not in the files yet: unfinished, or finished before an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGame {
    /// Its number among all games.
    pub number: u64,
    /// The game so far.
    pub game: GameRecord,
    /// Plies that are done.
    pub done: usize,
    /// Whether the game is finished.
    pub finished: bool,
}

/// The file beside the files of games: the settings of the run, and the games that are not in the files yet.
#[derive(Serialize, Deserialize)]
struct RunFile {
    format: String,
    settings: Value,
    #[serde(rename = "hands")]
    pending: Vec<PendingGame>,
}

/// Where a [`Store`] keeps its files, and how often it writes them.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Folder for the files of games.
    pub folder: PathBuf,
    /// Positions per file, approximately.
    pub chunk_size: usize,
    /// Interval between two saves.
    pub save_every: Duration,
    /// Continue a run of the same settings.
    pub resume: bool,
}

/// Writes finished games to files in the order of their numbers, and keeps the others until their turn.
#[derive(Debug)]
pub struct Store {
    writer: ChunkWriter,
    path: PathBuf,
    settings: Value,
    save_every: Duration,
    /// The number of the next game to write.
    next: u64,
    /// Finished games that wait for earlier ones, and unfinished games of an earlier run.
    held: BTreeMap<u64, PendingGame>,
}

impl Store {
    /// Opens the files `NAME-00000.h5` …, and `NAME.json` beside them, which holds the settings and the games that are
    /// not in the files yet.
    ///
    /// # Errors
    ///
    /// If there are such files and `options.resume` is not set, they cannot be read, or they were made with other
    /// settings.
    pub fn open(options: &StoreOptions, name: &str, source: &str, settings: Value) -> anyhow::Result<Store> {
        let path = options.folder.join(format!("{name}.json"));
        let begun = path.exists();
        if begun && !options.resume {
            bail!(
                "{}: it exists; continue the run with --resume, choose another --out or --name, or remove it and \
                 its games",
                path.display()
            );
        }
        let opened = if begun {
            ChunkWriter::resume(&options.folder, name, source, options.chunk_size)
        } else {
            ChunkWriter::new(&options.folder, name, source, options.chunk_size).map(|writer| (writer, 0))
        };
        let (writer, next) = opened?;
        let mut held = BTreeMap::new();
        if begun {
            let run = read_run_file(&path)?;
            let changes = differences(&run.settings, &settings);
            ensure!(changes.is_empty(), "{}: begun with other settings: {changes}", path.display());
            held = run.pending.into_iter().map(|pending| (pending.number, pending)).collect();
            // The games are written first: a game that is in the files as well is outdated here.
            held.retain(|number, _| *number >= next);
        }
        let save_every = options.save_every;
        Ok(Store { writer, path, settings, save_every, next, held })
    }

    /// The number of games in the files.
    pub fn games(&self) -> u64 {
        self.next
    }

    /// Interval between two saves.
    pub fn save_every(&self) -> Duration {
        self.save_every
    }

    /// The numbers of the games that are begun but not in the files.
    pub fn held(&self) -> BTreeSet<u64> {
        self.held.keys().copied().collect()
    }

    /// The games that are begun and not finished.
    pub fn begun(&self) -> Vec<PendingGame> {
        self.held.values().filter(|pending| !pending.finished).cloned().collect()
    }

    /// Takes a game; it is written when it and all before it are finished.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn push(&mut self, pending: PendingGame) -> anyhow::Result<()> {
        self.held.insert(pending.number, pending);
        while let Some(entry) = self.held.first_entry()
            && *entry.key() == self.next
            && entry.get().finished
        {
            self.writer.push(&entry.remove().game)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Writes everything: first the files of games, then the pending games, so that an interruption between the two
    /// loses none.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn save(&self) -> anyhow::Result<()> {
        self.writer.save()?;
        self.save_pending()
    }

    /// Saves for the last time; returns the number of files.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn close(self) -> anyhow::Result<usize> {
        self.save()?;
        Ok(self.writer.finish()?)
    }

    fn save_pending(&self) -> anyhow::Result<()> {
        let pending = self.held.values().cloned().collect();
        let run = RunFile { format: FORMAT.to_owned(), settings: self.settings.clone(), pending };
        let text = serde_json::to_string(&run).expect("numbers and text make JSON");
        write_file(&self.path, text.as_bytes())
    }
}

fn read_run_file(path: &Path) -> anyhow::Result<RunFile> {
    let at = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(at)?;
    let run: RunFile = serde_json::from_str(&text).with_context(at)?;
    ensure!(run.format == FORMAT, "{}: format is \"{}\", expected \"{FORMAT}\"", at(), run.format);
    Ok(run)
}

/// Which settings differ, and how.
fn differences(then: &Value, now: &Value) -> String {
    let empty = serde_json::Map::new();
    let (then, now) = (then.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let differing = keys.into_iter().filter(|key| then.get(*key) != now.get(*key));
    let changes: Vec<String> = differing
        .map(|key| format!("{key} was {}, is now {}", text(then.get(key)), text(now.get(key))))
        .collect();
    changes.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_interrupted_run_is_continued_or_refused_but_never_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let open = |resume| {
            let out = StoreOptions {
                folder: folder.path().into(),
                chunk_size: 10,
                save_every: Duration::ZERO,
                resume,
            };
            Store::open(&out, "x", "test", json!({ "seed": 1 }))
        };
        // The second game is finished, but not the first: no file of games is written.
        let pending = |number, finished| PendingGame { number, finished, ..PendingGame::default() };
        let mut store = open(false).unwrap();
        store.push(pending(1, true)).unwrap();
        store.push(pending(0, false)).unwrap();
        assert_eq!(store.close().unwrap(), 0);
        for _ in 0..2 {
            let refused = open(false).unwrap_err().to_string();
            assert!(refused.contains("x.json: it exists") && refused.contains("--resume"), "{refused}");
        }
        let mut store = open(true).unwrap();
        assert_eq!((store.begun(), store.held()), (vec![pending(0, false)], BTreeSet::from([0, 1])));
        store.push(pending(0, true)).unwrap();
        assert_eq!((store.games(), store.close().unwrap()), (2, 1));
        assert!(open(false).is_err());
        assert_eq!(open(true).unwrap().games(), 2);
        // Files of games without their settings are neither continued nor overwritten.
        std::fs::remove_file(folder.path().join("x.json")).unwrap();
        for resume in [false, true] {
            let refused = open(resume).unwrap_err().to_string();
            assert!(refused.contains("x-00000.h5: ") && refused.contains("it exists"), "{refused}");
        }
    }
}
