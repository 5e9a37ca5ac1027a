//! Which puzzles there are. Every tab solves its own: it says which puzzle it means.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::exercise::Exercise;
use super::opinion::{Opinion, Oracle};
use super::table::{Direction, PuzzleTable};
use crate::engines::EngineSpec;
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

#[derive(Default)]
struct Loaded {
    table: Option<Arc<PuzzleTable>>,
}

#[derive(Clone)]
pub struct PuzzleDesk {
    oracle: Option<Oracle>,
    reviews: ReviewDesk,
    loaded: Arc<Mutex<Loaded>>,
}

impl std::fmt::Debug for PuzzleDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PuzzleDesk").field("oracle", &self.oracle).finish_non_exhaustive()
    }
}

impl PuzzleDesk {
    pub fn new(engine: Option<EngineSpec>, reviews: ReviewDesk) -> PuzzleDesk {
        PuzzleDesk { oracle: engine.map(Oracle::new), reviews, loaded: Arc::default() }
    }

    /// The data stays valid if a holder of the lock panics.
    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
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
            let (count, why) = &table.broken;
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
