use anyhow::Result;
use engine::chess::position::{Game, Outcome};
use engine::chess::tables::{ProbeRules, TableResult, Tables};

use crate::data::datagen::{FirstPositions, StartPositions, StartRules};
use crate::data::record::{FLAG_ADJUDICATED, GameResult};

pub struct OpeningsAndTables {
    pub starts: StartPositions,
    pub tables: Tables,
}

impl OpeningsAndTables {
    /// An empty `book` or `syzygy` means none.
    pub fn open(book: &str, random_plies: u32, syzygy: &str, seed: u64) -> Result<OpeningsAndTables> {
        let first = match book {
            "" => FirstPositions::Initial,
            book => FirstPositions::Book(book.into()),
        };
        let starts = StartPositions::new(StartRules { first, random_plies, careless: false }, seed)?;
        let tables =
            if syzygy.is_empty() { Tables::default() } else { Tables::open(syzygy, ProbeRules::default())? };
        Ok(OpeningsAndTables { starts, tables })
    }
}

/// The result by the rules or by the tables, and the adjudication flag; `None` if open.
pub fn known_result(game: &Game, tables: &Tables) -> Option<(GameResult, u16)> {
    let by_rule = game.outcome().map(|outcome| match outcome {
        Outcome::Decisive { winner } => (GameResult::won_by(winner), 0),
        Outcome::Draw(_) => (GameResult::Draw, 0),
    });
    by_rule.or_else(|| {
        let result = match tables.wdl(game)? {
            TableResult::Win => GameResult::won_by(game.turn()),
            TableResult::Draw => GameResult::Draw,
            TableResult::Loss => GameResult::won_by(!game.turn()),
        };
        Some((result, FLAG_ADJUDICATED))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn tables_decide_what_the_rules_leave_open() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/syzygy");
        let opened = OpeningsAndTables::open("", 0, folder.to_str().unwrap(), 1).unwrap();
        let end = |fen: &str, tables: &Tables| known_result(&Game::from_fen(fen).unwrap(), tables);
        let won = "4k3/8/8/8/8/8/8/3QK3 b - - 0 1";
        assert_eq!(end(won, &opened.tables), Some((GameResult::White, FLAG_ADJUDICATED)));
        assert_eq!(end(won, &Tables::default()), None);
        let mated = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1";
        assert_eq!(end(mated, &opened.tables), Some((GameResult::White, 0)));
        assert!(
            OpeningsAndTables::open("nowhere.epd", 0, "", 1).is_err()
                && OpeningsAndTables::open("", 0, "nowhere", 1).is_err()
        );
    }
}
