//! Games on their way to the files, so that none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::writer::ChunkWriter;
use crate::files::write_file;
use crate::record::GameRecord;

/// Of a file of hands.
const FORMAT: &str = "philidor-hands/1";

/// A game that is being made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGame {
    /// Its place among all.
    pub number: u64,
    /// As far as it is.
    pub game: GameRecord,
    /// Plies that an engine has judged.
    pub done: usize,
    /// Whether nothing is missing.
    pub finished: bool,
}

/// Beside the files of games: what they are made with, and the games that aren't in them yet.
#[derive(Serialize, Deserialize)]
struct Hands {
    format: String,
    settings: Value,
    hands: Vec<PendingGame>,
}

/// Where a [`Store`] keeps its files, and how.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Folder for the files of games.
    pub folder: PathBuf,
    /// Positions a file, about.
    pub chunk_size: usize,
    /// How often finished games are written.
    pub save_every: Duration,
    /// Resume what was begun with the same settings.
    pub resume: bool,
}

/// Games on their way to the files.
#[derive(Debug)]
pub struct Store {
    writer: ChunkWriter,
    path: PathBuf,
    settings: Value,
    save_every: Duration,
    /// The number of the next game to be written.
    next: u64,
    /// Finished ones before whose turn it is, and from an earlier time unfinished ones.
    held: BTreeMap<u64, PendingGame>,
}

impl Store {
    /// Opens the files `NAME-00000.h5` …, and `NAME.json` beside them, which says what they are made with.
    ///
    /// # Errors
    ///
    /// One line: there are such files and they aren't to be gone on with (`NAME.json` alone may hold games, too), they
    /// can't be read, or they were made with other settings.
    pub fn open(options: &StoreOptions, name: &str, source: &str, settings: Value) -> Result<Store, String> {
        let path = options.folder.join(format!("{name}.json"));
        let begun = path.exists();
        if begun && !options.resume {
            return Err(format!(
                "{}: it exists; go on with what was begun: --resume; or choose another --out or --name, or remove it \
                 and its games",
                path.display()
            ));
        }
        let opened = if begun {
            ChunkWriter::resume(&options.folder, name, source, options.chunk_size)
        } else {
            ChunkWriter::new(&options.folder, name, source, options.chunk_size).map(|writer| (writer, 0))
        };
        let (writer, next) = opened.map_err(|error| error.to_string())?;
        let mut held = BTreeMap::new();
        if begun {
            let hands = read_hands(&path)?;
            let changes = differences(&hands.settings, &settings);
            if !changes.is_empty() {
                return Err(format!("{}: begun with other settings: {changes}", path.display()));
            }
            held = hands.hands.into_iter().map(|hand| (hand.number, hand)).collect();
            // EvalComment after the games were, or not at all.
            held.retain(|number, _| *number >= next);
        }
        let save_every = options.save_every;
        Ok(Store { writer, path, settings, save_every, next, held })
    }

    /// The number of games in the files.
    pub fn games(&self) -> u64 {
        self.next
    }

    /// How long what is finished may wait until it is written.
    pub fn save_every(&self) -> Duration {
        self.save_every
    }

    /// Numbers of games that aren't in the files but begun.
    pub fn held(&self) -> BTreeSet<u64> {
        self.held.keys().copied().collect()
    }

    /// Games that are begun and not finished.
    pub fn begun(&self) -> Vec<PendingGame> {
        self.held.values().filter(|hand| !hand.finished).cloned().collect()
    }

    /// Takes a game; it is written when it is finished and those before it are.
    ///
    /// # Errors
    ///
    /// One line: a file can't be written.
    pub fn push(&mut self, hand: PendingGame) -> Result<(), String> {
        self.held.insert(hand.number, hand);
        while let Some(entry) = self.held.first_entry()
            && *entry.key() == self.next
            && entry.get().finished
        {
            self.writer.push(&entry.remove().game).map_err(|error| error.to_string())?;
            self.next += 1;
        }
        Ok(())
    }

    /// Writes what there is: first the games, then what else there is: a game that is in both counts as written.
    ///
    /// # Errors
    ///
    /// One line: a file can't be written.
    pub fn save(&self) -> Result<(), String> {
        self.writer.save().map_err(|error| error.to_string())?;
        self.save_hands()
    }

    /// Saves for the last time; gives the number of files.
    ///
    /// # Errors
    ///
    /// One line: a file can't be written.
    pub fn close(self) -> Result<usize, String> {
        self.save()?;
        self.writer.finish().map_err(|error| error.to_string())
    }

    fn save_hands(&self) -> Result<(), String> {
        let hands = self.held.values().cloned().collect();
        let hands = Hands { format: FORMAT.to_owned(), settings: self.settings.clone(), hands };
        let text = serde_json::to_string(&hands).expect("numbers and text make JSON");
        write_file(&self.path, text.as_bytes())
    }
}

fn read_hands(path: &Path) -> Result<Hands, String> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| at(&error))?;
    let hands: Hands = serde_json::from_str(&text).map_err(|error| at(&error))?;
    if hands.format == FORMAT {
        Ok(hands)
    } else {
        Err(at(&format!("format is \"{}\", expected \"{FORMAT}\"", hands.format)))
    }
}

/// Which settings differ, and how.
fn differences(then: &Value, now: &Value) -> String {
    let empty = serde_json::Map::new();
    let (then, now) = (then.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let differing = keys.into_iter().filter(|key| then.get(*key) != now.get(*key));
    let told: Vec<String> = differing
        .map(|key| format!("{key} was {}, is now {}", text(then.get(key)), text(now.get(key))))
        .collect();
    told.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_begun_is_gone_on_with_or_refused_but_never_dropped() {
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
        // The second game is finished, the first one isn't: no file of games is written.
        let hand = |number, finished| PendingGame { number, finished, ..PendingGame::default() };
        let mut store = open(false).unwrap();
        store.push(hand(1, true)).unwrap();
        store.push(hand(0, false)).unwrap();
        assert_eq!(store.close(), Ok(0));
        for _ in 0..2 {
            let refused = open(false).unwrap_err();
            assert!(refused.contains("x.json: it exists") && refused.contains("--resume"), "{refused}");
        }
        let mut store = open(true).unwrap();
        assert_eq!((store.begun(), store.held()), (vec![hand(0, false)], BTreeSet::from([0, 1])));
        store.push(hand(0, true)).unwrap();
        assert_eq!((store.games(), store.close()), (2, Ok(1)));
        assert!(open(false).is_err());
        assert_eq!(open(true).unwrap().games(), 2);
        // Games alone, of which nobody knows how they were made, are neither gone on with nor overwritten.
        std::fs::remove_file(folder.path().join("x.json")).unwrap();
        for resume in [false, true] {
            let refused = open(resume).unwrap_err();
            assert!(refused.contains("x-00000.h5: ") && refused.contains("it exists"), "{refused}");
        }
    }
}
