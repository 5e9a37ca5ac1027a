//! What games are played on: where they begin, and what is known of their ends.

use std::path::Path;

use engine::position::{Game, Outcome};
use engine::tables::{Rules, TableResult, Tables};

use crate::datagen::{StartPositions, StartRules};
use crate::record::{FLAG_ADJUDICATED, GameResult};

/// Starts by number, and endgame tables.
pub struct Ground {
    /// Where games begin.
    pub starts: StartPositions,
    /// What is known of endgames.
    pub tables: Tables,
}

impl Ground {
    /// Reads the book and finds the tables; an empty name is none.
    ///
    /// # Errors
    ///
    /// One line: a book can't be read, or there are no tables in the folders.
    pub fn open(book: &str, random_plies: u32, syzygy: &str, seed: u64) -> Result<Ground, String> {
        let book = (!book.is_empty()).then(|| Path::new(book).to_owned());
        let rules = StartRules { book, random_plies, careless: false };
        let starts = StartPositions::new(rules, seed).map_err(|error| error.to_string())?;
        let tables = if syzygy.is_empty() {
            Tables::default()
        } else {
            Tables::open(syzygy, Rules::default()).map_err(|error| error.to_string())?
        };
        Ok(Ground { starts, tables })
    }
}

/// How a game has ended by the rules, or ends by what the tables know: then it is adjudicated, as the flag says.
pub fn known_end(game: &Game, tables: &Tables) -> Option<(GameResult, u16)> {
    let ended = game.outcome().map(|outcome| match outcome {
        Outcome::Decisive { winner } => (GameResult::won_by(winner), 0),
        Outcome::Draw(_) => (GameResult::Draw, 0),
    });
    ended.or_else(|| {
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
    use super::*;

    #[test]
    fn tables_decide_what_the_rules_leave_open() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/syzygy");
        let ground = Ground::open("", 0, folder.to_str().unwrap(), 1).unwrap();
        let end = |fen: &str, tables: &Tables| known_end(&Game::from_fen(fen).unwrap(), tables);
        let won = "4k3/8/8/8/8/8/8/3QK3 b - - 0 1";
        assert_eq!(end(won, &ground.tables), Some((GameResult::White, FLAG_ADJUDICATED)));
        assert_eq!(end(won, &Tables::default()), None);
        let mated = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1";
        assert_eq!(end(mated, &ground.tables), Some((GameResult::White, 0)));
        assert!(Ground::open("nowhere.epd", 0, "", 1).is_err() && Ground::open("", 0, "nowhere", 1).is_err());
    }
}
