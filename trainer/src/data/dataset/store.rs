//! Stores generated games so that an interruption loses none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::journal::{self, Journal};
use super::writer::ChunkWriter;
use crate::base::files::write_file;
use crate::base::lock::refuse_in_use;
use crate::data::record::GameRecord;

const FORMAT: &str = "philidor-hands/1";

/// Not yet in the game files: unfinished, or finished before an earlier game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGame {
    pub number: u64,
    pub game: GameRecord,
    pub done: usize,
    pub finished: bool,
}

/// `NAME.json`: the run's settings, and the games in neither game files nor journal.
#[derive(Serialize, Deserialize)]
struct RunFile {
    format: String,
    settings: Value,
    #[serde(rename = "hands")]
    pending: Vec<PendingGame>,
}

#[derive(Clone, Debug)]
pub struct StoreOptions {
    pub folder: PathBuf,
    /// Approximate positions per file.
    pub chunk_size: usize,
    pub save_every: Duration,
    pub resume: bool,
    /// Numbers of the games for the files; later games stay pending.
    pub numbers: Range<u64>,
}

/// Writes finished games to files in the order of their numbers and holds the others back.
///
/// A game file can only be rewritten whole: when full, when it would double, and at the end. In between, finished games
/// are appended to `NAME.journal`. So saves cost linear time in all.
#[derive(Debug)]
pub struct Store {
    writer: ChunkWriter,
    path: PathBuf,
    journal: Journal,
    settings: Value,
    save_every: Duration,
    numbers: Range<u64>,
    next: u64,
    /// Finished games that wait for earlier ones, and unfinished games of a previous run.
    held: BTreeMap<u64, PendingGame>,
    /// Games finished since the last save, as journal lines.
    fresh: Vec<u8>,
    /// Contents of the file at `path`; empty if missing.
    run_file: String,
}

impl Store {
    /// Opens the files `NAME-00000.h5` …, `NAME.json` and `NAME.journal`. If they exist, `options.resume` must be set
    /// and the settings equal.
    pub fn open(options: &StoreOptions, name: &str, source: &str, settings: Value) -> anyhow::Result<Store> {
        let path = options.folder.join(format!("{name}.json"));
        let begun = path.exists();
        if begun && !options.resume {
            refuse_in_use(&options.folder.join(format!("{name}.lock")))?;
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
        let (writer, games) = opened?;
        let next = options.numbers.start + games;
        let (journal, finished) = Journal::open(options.folder.join(format!("{name}.journal")))?;
        let (mut held, mut run_file) = (BTreeMap::new(), String::new());
        if begun {
            run_file = read(&path)?;
            let run = parse(&path, &run_file)?;
            let changes = differences(&run.settings, &settings);
            ensure!(changes.is_empty(), "{}: begun with other settings: {changes}", path.display());
            // The journal is newer: a game in it may still be unfinished in `NAME.json`.
            held = run.pending.into_iter().chain(finished).map(|pending| (pending.number, pending)).collect();
            // Games that are already in the files are outdated here.
            held.retain(|number, _| *number >= next);
        } else {
            let journal = journal.path();
            ensure!(!journal.exists(), "{}: it exists, without {}", journal.display(), path.display());
        }
        let (save_every, numbers) = (options.save_every, options.numbers.clone());
        let fresh = Vec::new();
        let mut store =
            Store { writer, path, journal, settings, save_every, numbers, next, held, fresh, run_file };
        store.settle()?;
        Ok(store)
    }

    pub fn is_new(&self) -> bool {
        self.run_file.is_empty()
    }

    pub fn games(&self) -> u64 {
        self.next - self.numbers.start
    }

    pub fn numbers(&self) -> Range<u64> {
        self.numbers.clone()
    }

    pub fn save_every(&self) -> Duration {
        self.save_every
    }

    /// Begun or finished, but not in the files.
    pub fn held(&self) -> BTreeSet<u64> {
        self.held.keys().copied().collect()
    }

    /// Finished, but waiting for earlier games.
    pub fn waiting(&self) -> impl Iterator<Item = u64> {
        self.held.values().filter(|pending| pending.finished).map(|pending| pending.number)
    }

    /// How many of the first `games` games are finished, in the files or waiting.
    pub fn finished_of(&self, games: u64) -> u64 {
        let end = self.numbers.start.saturating_add(games);
        self.games().min(games) + self.waiting().filter(|number| *number < end).count() as u64
    }

    /// Whether a game is finished, in the files or not.
    pub fn has(&self, number: u64) -> bool {
        (self.numbers.start..self.next).contains(&number)
            || self.held.get(&number).is_some_and(|pending| pending.finished)
    }

    pub fn begun(&self) -> Vec<PendingGame> {
        self.held.values().filter(|pending| !pending.finished).cloned().collect()
    }

    /// The game is written as soon as it and all earlier games are finished.
    pub fn push(&mut self, pending: PendingGame) -> anyhow::Result<()> {
        if pending.finished {
            journal::line(&pending, &mut self.fresh);
        }
        self.held.insert(pending.number, pending);
        self.settle()
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        while self.next < self.numbers.end
            && let Some(entry) = self.held.first_entry()
            && *entry.key() == self.next
            && entry.get().finished
        {
            self.writer.push(&entry.remove().game)?;
            self.next += 1;
        }
        Ok(())
    }

    pub fn save(&mut self) -> anyhow::Result<()> {
        if self.is_new() {
            self.write_run_file(|_| true)?;
        }
        // Finished games come first, because `NAME.json` may hold outdated copies.
        let [saved, new] = self.writer.saved_and_new();
        if new > 0 && new >= saved {
            self.writer.save()?;
            self.fresh.clear();
            for pending in self.held.values().filter(|pending| pending.finished) {
                journal::line(pending, &mut self.fresh);
            }
            self.journal.replace(&self.fresh)?;
        } else if !self.fresh.is_empty() {
            self.journal.append(&self.fresh)?;
        }
        self.fresh.clear();
        self.write_run_file(|pending| !pending.finished)
    }

    /// Also removes the journal. Returns the number of files.
    pub fn close(mut self) -> anyhow::Result<usize> {
        self.writer.save()?;
        self.write_run_file(|_| true)?;
        self.journal.replace(&[])?;
        Ok(self.writer.finish()?)
    }

    /// Writes `NAME.json` with the games that satisfy `keep`, unless unchanged.
    fn write_run_file(&mut self, keep: impl Fn(&PendingGame) -> bool) -> anyhow::Result<()> {
        let pending = self.held.values().filter(|pending| keep(pending)).cloned().collect();
        let run = RunFile { format: FORMAT.to_owned(), settings: self.settings.clone(), pending };
        let text = serde_json::to_string(&run).expect("numbers and text make JSON");
        if text != self.run_file {
            write_file(&self.path, text.as_bytes())?;
            self.run_file = text;
        }
        Ok(())
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn parse(path: &Path, text: &str) -> anyhow::Result<RunFile> {
    let at = || path.display().to_string();
    let run: RunFile = serde_json::from_str(text).with_context(at)?;
    ensure!(run.format == FORMAT, "{}: format is \"{}\", expected \"{FORMAT}\"", at(), run.format);
    Ok(run)
}

fn differences(then: &Value, now: &Value) -> String {
    let mut changes = Vec::new();
    find_changes("", then, now, &mut changes);
    changes.join("; ")
}

/// `of` are the keys of the outer objects, each with a point.
fn find_changes(of: &str, then: &Value, now: &Value, changes: &mut Vec<String>) {
    let empty = serde_json::Map::new();
    let (then, now) = (then.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    for key in keys {
        match (then.get(key), now.get(key)) {
            (before, after) if before == after => {}
            (Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => {
                find_changes(&format!("{of}{key}."), before, after, changes);
            }
            (before, after) => {
                changes.push(format!("{of}{key} was {}, is now {}", text(before), text(after)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::Chunk;
    use engine::chess::position::PackedMove;
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
                numbers: 0..u64::MAX,
            };
            Store::open(&out, "x", "test", json!({ "seed": 1 }))
        };
        // Game 1 is finished before game 0, so no game file is written.
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
        assert!(open(false).unwrap_err().to_string().contains("is in use by"), "before --resume is advised");
        assert_eq!((store.begun(), store.held()), (vec![pending(0, false)], BTreeSet::from([0, 1])));
        assert_eq!((store.games(), store.finished_of(2), store.finished_of(1)), (0, 1, 0));
        store.push(pending(0, true)).unwrap();
        assert_eq!((store.games(), store.close().unwrap()), (2, 1));
        assert!(open(false).is_err());
        assert_eq!(open(true).unwrap().games(), 2);
        // Game files without settings are neither continued nor overwritten.
        std::fs::remove_file(folder.path().join("x.json")).unwrap();
        for resume in [false, true] {
            let refused = open(resume).unwrap_err().to_string();
            assert!(refused.contains("x-00000.h5: ") && refused.contains("it exists"), "{refused}");
        }
    }

    #[test]
    fn only_the_keys_that_differ_are_named() {
        let then =
            json!({ "seed": 1, "rules": { "visits": 100, "noise": { "alpha": 0.5, "epsilon": 0.25 } } });
        let now = json!({ "rules": { "visits": 101, "noise": { "alpha": 0.25, "epsilon": 0.25 } } });
        let expected = "rules.noise.alpha was 0.5, is now 0.25; rules.visits was 100, is now 101; seed was 1, is now nothing";
        assert_eq!(differences(&then, &now), expected);
    }

    fn finished(number: u64, plies: usize) -> PendingGame {
        let moves = vec![PackedMove(12 | 28 << 6); plies];
        let game = GameRecord { white_elo: number as u16, moves, ..GameRecord::default() };
        PendingGame { number, game, done: plies, finished: true }
    }

    fn options(folder: &Path, numbers: Range<u64>) -> StoreOptions {
        let folder = folder.to_owned();
        StoreOptions { folder, chunk_size: 1000, save_every: Duration::ZERO, resume: true, numbers }
    }

    fn stored(folder: &Path) -> Vec<u16> {
        let files = (0..).map(|number| folder.join(format!("x-{number:05}.h5")));
        let chunks: Vec<Chunk> = files
            .take_while(|path| path.exists())
            .map(|path| crate::data::dataset::read(&path).unwrap())
            .collect();
        let games =
            |chunk: &Chunk| (0..chunk.games()).map(|game| chunk.game(game).white_elo).collect::<Vec<_>>();
        chunks.iter().flat_map(games).collect()
    }

    #[test]
    fn saves_write_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let mut store = Store::open(&options(at, 0..u64::MAX), "x", "test", json!(0)).unwrap();
        let (mut rewritten, mut appended) = (0, 0);
        let size = |path: &str| at.join(path).metadata().map_or(0, |found| found.len());
        let games = || stored(at).len();
        for number in 0..200 {
            let (before, journal) = (games(), size("x.journal"));
            store.push(finished(number, 4)).unwrap();
            store.save().unwrap();
            rewritten += if games() != before { games() } else { 0 };
            appended += u64::from(size("x.journal") > journal);
            let (json, journal) = (size("x.json"), std::fs::read(at.join("x.journal")).ok());
            store.save().unwrap();
            assert_eq!((size("x.json"), std::fs::read(at.join("x.journal")).ok()), (json, journal));
        }
        assert!(rewritten < 3 * 200, "{rewritten} games were written to files for 200");
        assert!(appended > 180, "{appended}");
        assert_eq!((games(), store.games()), (128, 200));
        store.close().unwrap();
        assert_eq!(stored(at), (0..200).collect::<Vec<_>>());
        assert!(!at.join("x.journal").exists());
    }

    #[test]
    fn killed_after_any_save_it_loses_none_of_the_saved_games() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let open = || Store::open(&options(at, 0..u64::MAX), "x", "test", json!(0)).unwrap();
        // Out of order, with game 7 last. A file holds 62 games.
        let numbers: Vec<u64> = (0..150).filter(|number| *number != 7).chain([7]).collect();
        for (count, number) in numbers.iter().enumerate() {
            let mut store = open();
            assert_eq!(store.games() + store.waiting().count() as u64, count as u64);
            store.push(finished(*number, 16)).unwrap();
            store.save().unwrap();
            // This game is not saved, and the store is dropped without closing.
            store.push(finished(500, 16)).unwrap();
            drop(store);
        }
        let store = open();
        assert_eq!((store.games(), store.held().len()), (150, 0));
        store.close().unwrap();
        assert_eq!(stored(at), (0..150).collect::<Vec<_>>());
    }

    #[test]
    fn games_beyond_the_numbers_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let mut store = Store::open(&options(at, 10..12), "x", "test", json!(0)).unwrap();
        assert!(store.is_new());
        for number in [11, 12, 10, 14] {
            store.push(finished(number, 2)).unwrap();
        }
        store.push(PendingGame { finished: false, ..finished(13, 1) }).unwrap();
        assert_eq!((store.games(), store.held()), (2, BTreeSet::from([12, 13, 14])));
        store.close().unwrap();
        assert_eq!(stored(at), [10, 11]);
        let store = Store::open(&options(at, 10..12), "x", "test", json!(0)).unwrap();
        assert_eq!((store.games(), store.held()), (2, BTreeSet::from([12, 13, 14])));
        assert!([10, 11, 12, 14].into_iter().all(|number| store.has(number)) && !store.has(13));
    }
}
