//! Which puzzles there are. Every tab solves its own: it says which puzzle it means.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::exercise::Exercise;
use super::opinion::{Opinion, Oracle};
use super::table::{Direction, PuzzleTable, PuzzleTableError, Text};
use crate::engines::EngineSpec;
use crate::files::write_aside;
use crate::play::{ActionError, PlayedGame};
use crate::reviews::{Mistake, ReviewDesk};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PuzzleSource {
    File,
    /// The mistakes of the last review.
    Review,
}

/// A collection of puzzles as the page shows it.
#[derive(Clone, Debug, Serialize)]
pub struct SourceView {
    pub source: PuzzleSource,
    pub name: String,
    pub count: usize,
    /// Its puzzles have ratings.
    pub rated: bool,
    /// Another one is another collection, with other numbers.
    pub edition: String,
    /// What was left out.
    pub notice: Option<String>,
}

/// A puzzle; `number` counts from 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PuzzleId {
    pub source: PuzzleSource,
    pub edition: String,
    pub number: usize,
    /// Plies of the solution that were played.
    #[serde(default)]
    pub step: usize,
}

/// Between two reports on a file that is being read.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// A file that is being read, as the page shows it.
#[derive(Serialize)]
struct ReadingView<'a> {
    name: &'a str,
    /// Of the file, 0 to 1, if its size is known.
    part: Option<f64>,
    puzzles: usize,
}

#[derive(Default)]
struct Loaded {
    table: Option<Arc<PuzzleTable>>,
    /// The name of the file that is being read.
    reading: Option<String>,
}

/// Ends the reading of a file when dropped.
struct Reading<'a>(&'a PuzzleDesk);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.lock().reading = None;
        self.0.out.send_replace(Arc::from("null"));
    }
}

struct Counted<'a, R> {
    from: R,
    bytes: &'a Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(out)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Where the last loaded file waits for the next start: its text, and its name beside it.
#[derive(Clone, Debug)]
struct Kept {
    text: PathBuf,
}

impl Kept {
    fn name(&self) -> PathBuf {
        self.text.with_extension("name")
    }

    /// An empty file, which takes the place of the earlier one when [`Kept::put`] is called.
    fn aside(&self, name: &str) -> Result<File, PuzzleTableError> {
        let folder = self.text.parent().unwrap_or(Path::new("."));
        let options = File::options().read(true).write(true).create(true).truncate(true).clone();
        let file = std::fs::create_dir_all(folder).and_then(|()| options.open(self.part()));
        file.map_err(|error| PuzzleTableError::Keep(name.to_owned(), error))
    }

    fn part(&self) -> PathBuf {
        self.text.with_extension("part")
    }

    fn put(&self, name: &str) -> io::Result<()> {
        std::fs::rename(self.part(), &self.text)?;
        write_aside(&self.name(), name.as_bytes())
    }

    fn open(&self) -> io::Result<(String, File)> {
        let file = File::open(&self.text)?;
        Ok((std::fs::read_to_string(self.name()).unwrap_or_else(|_| "puzzles".to_owned()), file))
    }
}

#[derive(Clone)]
pub struct PuzzleDesk {
    oracle: Option<Oracle>,
    reviews: ReviewDesk,
    kept: Kept,
    loaded: Arc<Mutex<Loaded>>,
    out: Arc<watch::Sender<Arc<str>>>,
    /// A [`ReadingView`] as JSON, or `null`.
    pub state: watch::Receiver<Arc<str>>,
}

impl std::fmt::Debug for PuzzleDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PuzzleDesk").field("oracle", &self.oracle).finish_non_exhaustive()
    }
}

impl PuzzleDesk {
    /// `kept` is where a loaded file is kept for the next start.
    pub fn new(engine: Option<EngineSpec>, reviews: ReviewDesk, kept: PathBuf) -> PuzzleDesk {
        let (out, state) = watch::channel(Arc::from("null"));
        let (oracle, out) = (engine.map(Oracle::new), Arc::new(out));
        let kept = Kept { text: kept };
        // What a studio that was killed had received of a file. Most often there is none.
        let _ = std::fs::remove_file(kept.part());
        PuzzleDesk { oracle, reviews, kept, loaded: Arc::default(), out, state }
    }

    /// The data stays valid if a holder of the lock panics.
    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file of `size` bytes that arrives, one at a time, and keeps it. Blocks until it has ended.
    pub fn read(&self, name: &str, from: impl Read, size: Option<u64>) -> Result<(), PuzzleTableError> {
        let reading = self.begin(name)?;
        let text = Text::Copied(self.kept.aside(name)?);
        let table = self.told(name, from, text, size);
        let table = table.inspect_err(|_| _ = std::fs::remove_file(self.kept.part()))?;
        if let Err(error) = self.kept.put(name) {
            log::warn!("{name} ends with the studio: it cannot be kept ({error})");
        }
        self.load(table);
        drop(reading);
        Ok(())
    }

    /// Of the file that was loaded last, in bytes; 0 if there is none.
    pub fn kept_size(&self) -> u64 {
        self.kept.text.metadata().map_or(0, |about| about.len())
    }

    /// Reads the file that was loaded last, if there is one. Blocks until it has ended.
    pub fn restore(&self) -> Result<(), PuzzleTableError> {
        let Ok((name, file)) = self.kept.open() else { return Ok(()) };
        let reading = self.begin(&name)?;
        let kept = |error| PuzzleTableError::Read(name.clone(), 0, error);
        let (size, again) = (file.metadata().map_err(kept)?.len(), file.try_clone().map_err(kept)?);
        self.load(self.told(&name, file, Text::There(again), Some(size))?);
        drop(reading);
        Ok(())
    }

    fn begin(&self, name: &str) -> Result<Reading<'_>, PuzzleTableError> {
        match &mut self.lock().reading {
            Some(other) => return Err(PuzzleTableError::Busy(other.clone())),
            none => *none = Some(name.to_owned()),
        }
        Ok(Reading(self))
    }

    fn told(
        &self,
        name: &str,
        from: impl Read,
        text: Text,
        size: Option<u64>,
    ) -> Result<PuzzleTable, PuzzleTableError> {
        let bytes = Cell::new(0);
        let mut told_at = None::<Instant>;
        let mut tell = |puzzles| {
            if told_at.is_none_or(|at| at.elapsed() >= TOLD_EVERY) {
                told_at = Some(Instant::now());
                let part = size.filter(|size| *size > 0).map(|size| bytes.get() as f64 / size as f64);
                let view = ReadingView { name, part, puzzles };
                self.out
                    .send_replace(serde_json::to_string(&view).expect("it can be written as JSON").into());
            }
        };
        tell(0);
        PuzzleTable::read(name, Counted { from, bytes: &bytes }, text, &mut tell)
    }

    /// In place of an earlier file.
    pub fn load(&self, table: PuzzleTable) {
        let mut loaded = self.lock();
        loaded.table = Some(Arc::new(table));
    }

    pub fn sources(&self) -> Vec<SourceView> {
        let mut sources = Vec::new();
        let loaded = self.lock();
        if let Some(table) = &loaded.table {
            let (count, why) = table.broken();
            let notice =
                format!("Lines that cannot be read are left out, {count} in all; the first is {why}.");
            sources.push(SourceView {
                source: PuzzleSource::File,
                name: table.name.clone(),
                count: table.len(),
                rated: table.is_rated(),
                edition: table.edition(),
                notice: (*count > 0).then_some(notice),
            });
        }
        if let Some((edition, mistakes)) = self.reviews.mistakes() {
            sources.push(SourceView {
                source: PuzzleSource::Review,
                name: "mistakes of the review".to_owned(),
                count: mistakes.len(),
                rated: false,
                edition,
                notice: None,
            });
        }
        sources
    }

    /// The number of the next puzzle of a file that is rated from `low` to `high`.
    pub fn next(&self, id: &PuzzleId, to: Direction, low: u16, high: u16) -> Result<usize, ActionError> {
        let table = self.table(id).filter(|_| id.source == PuzzleSource::File).ok_or_else(changed)?;
        let none = || {
            let where_to = if to == Direction::Back { "before this one" } else { "from here on" };
            ActionError::NotNow(format!("There is no puzzle rated {low} to {high} {where_to}."))
        };
        table.next(id.number, to, low..=high).ok_or_else(none)
    }

    fn table(&self, id: &PuzzleId) -> Option<Arc<PuzzleTable>> {
        let loaded = self.lock();
        loaded.table.clone().filter(|table| table.edition() == id.edition)
    }

    pub fn exercise(&self, id: &PuzzleId) -> Result<Exercise, ActionError> {
        let found = match id.source {
            PuzzleSource::File => self.table(id).ok_or_else(changed)?.exercise(id.number),
            PuzzleSource::Review => {
                let known = self.reviews.mistakes().filter(|(edition, _)| *edition == id.edition);
                let (_, mistakes) = known.ok_or_else(changed)?;
                mistakes.get(id.number).and_then(of_mistake)
            }
        };
        found.ok_or_else(|| {
            ActionError::Invalid(format!("There is no puzzle {}.", id.number.saturating_add(1)))
        })
    }

    pub async fn opinion(&self, id: &PuzzleId) -> Result<Opinion, ActionError> {
        let exercise = self.exercise(id)?;
        let none = || ActionError::NotNow("There is no engine to ask: name one with --engine.".to_owned());
        self.oracle.as_ref().ok_or_else(none)?.ask(exercise).await
    }
}

fn changed() -> ActionError {
    ActionError::NotNow("There are other puzzles by now: choose one of them.".to_owned())
}

/// Only the best move counts: what follows it in the review's line is no test.
fn of_mistake(mistake: &Mistake) -> Option<Exercise> {
    let mut start = PlayedGame::new(mistake.start.clone()).ok()?;
    mistake.moves.iter().try_for_each(|m| start.play(*m)).ok()?;
    Some(Exercise {
        start,
        solution: vec![mistake.best],
        title: format!("{}, {}", mistake.players, mistake.place),
        afterwards: format!("In the game: {}{} {}", mistake.san, mistake.mark, mistake.remark),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "fen,moves\n7k/8/6K1/8/8/8/8/R7 w - - 0 1,a1a8\n";

    fn desk(folder: &Path) -> PuzzleDesk {
        PuzzleDesk::new(None, ReviewDesk::new(None), folder.join("deep").join("puzzles-1.csv"))
    }

    fn shown(desk: &PuzzleDesk) -> Vec<(String, usize, String)> {
        desk.sources().into_iter().map(|source| (source.name, source.count, source.edition)).collect()
    }

    #[test]
    fn a_loaded_file_is_there_again_after_a_restart_and_a_refused_one_does_not_replace_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = desk(folder.path());
        first.restore().unwrap();
        assert_eq!(shown(&first), []);
        first.read("mates 1.csv", CSV.as_bytes(), None).unwrap();
        assert!(first.read("games.pgn", &b"1. e4 e5 *"[..], None).is_err());
        let before = shown(&first);
        assert_eq!((before[0].0.as_str(), before[0].1), ("mates 1.csv", 1));
        // A studio that is killed while it reads leaves a part.
        drop(first.kept.aside("half.csv").unwrap());
        let second = desk(folder.path());
        second.restore().unwrap();
        assert_eq!(shown(&second), before);
        let edition = before[0].2.clone();
        let id = PuzzleId { source: PuzzleSource::File, edition, number: 0, step: 0 };
        assert_eq!(second.exercise(&id).unwrap().solution.len(), 1);
        assert_eq!(std::fs::read_dir(folder.path().join("deep")).unwrap().count(), 2, "nothing lies about");
        // Another file takes its place, while the first is still read from.
        second.read("two.csv", CSV.replace("a1a8", "a1b1").as_bytes(), None).unwrap();
        assert_eq!(first.exercise(&id).unwrap().solution.len(), 1);
        let third = desk(folder.path());
        third.restore().unwrap();
        assert_eq!(shown(&third), shown(&second));
    }
}
