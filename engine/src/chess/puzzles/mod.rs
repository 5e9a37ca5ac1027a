//! Tables of puzzles with tabs or commas, one puzzle per line; among them Lichess's CSV.

use std::str::FromStr;

pub use csv::ByteRecord;
use shakmaty::Move;
use thiserror::Error;

use super::position::Game;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PuzzleError {
    #[error("{0}")]
    Text(String),
    #[error("{0}")]
    Start(String),
    #[error("illegal or ambiguous move {0}")]
    Move(String),
}

/// What a table says of a puzzle's difficulty, where it has the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuzzleFacts {
    pub rating: Option<u16>,
    /// −100 to 100.
    pub popularity: Option<i16>,
    pub plays: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Puzzle {
    /// As in the table.
    pub before: Game,
    /// The opponent's move that sets the puzzle up, where the table has it.
    pub set_up: Option<Move>,
    /// Before the solver's first move.
    pub start: Game,
    /// The solver's move, the answer, and so on.
    pub moves: Vec<Move>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PuzzleColumns {
    delimiter: u8,
    quoted: bool,
    /// The puzzle begins after a line's first move, the opponent's.
    set_up: bool,
    header: bool,
    fen: usize,
    moves: usize,
    rating: Option<usize>,
    popularity: Option<usize>,
    plays: Option<usize>,
    id: Option<usize>,
    themes: Option<usize>,
}

const LICHESS_COLUMNS: [&str; 6] =
    ["puzzleid", "ratingdeviation", "nbplays", "gameurl", "gameid", "openingtags"];

/// The error if a table without Lichess's column names may nevertheless be Lichess's.
const SET_UP_UNNAMED: &str = "an even number of moves, where the solver's is the first and the last: if the opponent's \
                              is the first, as in Lichess's table, the header must name one of its columns, such as \
                              PuzzleId";

impl PuzzleColumns {
    /// Columns by their names in the first line; `None` if this is no puzzle table. Lichess's names imply `set_up`.
    pub fn detect(line: &[u8]) -> Result<Option<PuzzleColumns>, String> {
        let Ok(line) = std::str::from_utf8(line) else { return Ok(None) };
        let line = line.trim_end().to_ascii_lowercase();
        let delimiter = if line.contains('\t') { '\t' } else { ',' };
        let names: Vec<&str> = line.split(delimiter).map(|name| name.trim().trim_matches('"')).collect();
        let column = |name: &str| names.iter().position(|entry| *entry == name);
        let lichess = names.iter().any(|name| LICHESS_COLUMNS.contains(name));
        let is_name =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ ".contains(&byte));
        let is_header = names.len() > 1 && names.iter().all(is_name);
        match (column("fen"), column("moves")) {
            (Some(fen), Some(moves)) => Ok(Some(PuzzleColumns {
                delimiter: delimiter as u8,
                quoted: line.contains('"'),
                set_up: lichess,
                header: true,
                fen,
                moves,
                rating: column("rating"),
                popularity: column("popularity"),
                plays: column(if lichess { "nbplays" } else { "plays" }),
                id: column(if lichess { "puzzleid" } else { "id" }),
                themes: column("themes"),
            })),
            (fen, moves) if is_header && (lichess || fen.is_some() || moves.is_some()) => {
                let missing = if fen.is_none() { "fen" } else { "moves" };
                Err(format!("a table of puzzles without a column named \"{missing}\": {line}"))
            }
            _ => PuzzleColumns::without_header(delimiter, &names),
        }
    }

    /// Lichess's older tables have no header.
    fn without_header(delimiter: char, values: &[&str]) -> Result<Option<PuzzleColumns>, String> {
        let is_fen = |value: &&str| value.split(' ').count() == 6 && value.matches('/').count() == 7;
        match values.iter().position(is_fen) {
            Some(1) if delimiter == ',' && values.len() >= 8 => Ok(Some(PuzzleColumns {
                delimiter: b',',
                quoted: false,
                set_up: true,
                header: false,
                fen: 1,
                moves: 2,
                rating: Some(3),
                popularity: Some(5),
                plays: Some(6),
                id: Some(0),
                themes: Some(7),
            })),
            Some(_) if values.len() > 1 => {
                Err("a table of puzzles without a header that names its columns, among them fen and moves"
                    .into())
            }
            _ => Ok(None),
        }
    }

    /// The records of a table's lines; `begins` is the text that has the first one.
    pub fn reader(self, text: &[u8], begins: bool) -> csv::Reader<&[u8]> {
        csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(self.header && begins)
            .flexible(true)
            .quoting(self.quoted)
            .from_reader(text)
    }

    pub fn facts(self, record: &ByteRecord) -> Result<PuzzleFacts, PuzzleError> {
        Ok(PuzzleFacts {
            rating: number(record, self.rating, "rating")?,
            popularity: number(record, self.popularity, "popularity")?,
            plays: number(record, self.plays, "plays")?,
        })
    }

    /// As [`facts`](Self::facts) has it, whatever the other numbers are.
    pub fn rating(self, record: &ByteRecord) -> Option<u16> {
        number(record, self.rating, "rating").ok().flatten()
    }

    /// The puzzle's name in its collection, and its themes, as far as the table has them.
    pub fn words(self, record: &ByteRecord) -> [String; 2] {
        let text = |column: Option<usize>| {
            let bytes = column.and_then(|column| record.get(column)).unwrap_or_default();
            String::from_utf8_lossy(bytes).trim().to_owned()
        };
        [text(self.id), text(self.themes)]
    }

    pub fn puzzle(self, record: &ByteRecord) -> Result<Puzzle, PuzzleError> {
        let mut words = field(record, self.moves, "moves")?.split_ascii_whitespace();
        let fen = field(record, self.fen, "fen")?;
        let before = Game::from_fen(fen).map_err(|error| PuzzleError::Start(error.to_string()))?;
        let mut start = before.clone();
        let mut set_up = None;
        if let Some(text) = if self.set_up { words.next() } else { None } {
            let m = start.parse_uci(text).map_err(|error| PuzzleError::Start(error.to_string()))?;
            start.play(m);
            set_up = Some(m);
        }
        let mut game = start.clone();
        let mut moves = Vec::with_capacity(8);
        for text in words {
            let m = game.parse_uci(text).map_err(|_| PuzzleError::Move(text.to_owned()))?;
            game.play(m);
            moves.push(m);
        }
        // A puzzle ends with the solver's move, so an even number of moves begins with the opponent's.
        if !self.set_up && !moves.is_empty() && moves.len().is_multiple_of(2) {
            return Err(PuzzleError::Text(SET_UP_UNNAMED.to_owned()));
        }
        Ok(Puzzle { before, set_up, start, moves })
    }
}

fn field<'a>(record: &'a ByteRecord, column: usize, name: &str) -> Result<&'a str, PuzzleError> {
    let bytes = record.get(column).ok_or_else(|| PuzzleError::Text(format!("no column \"{name}\"")))?;
    std::str::from_utf8(bytes).map_err(|_| PuzzleError::Text(format!("column \"{name}\" is not UTF-8")))
}

/// `None` if the column or its value is missing.
fn number<T: FromStr>(
    record: &ByteRecord,
    column: Option<usize>,
    name: &str,
) -> Result<Option<T>, PuzzleError> {
    let Some(bytes) = column.and_then(|column| record.get(column)).filter(|bytes| !bytes.is_empty()) else {
        return Ok(None);
    };
    let value = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok());
    value.map(Some).ok_or_else(|| PuzzleError::Text(format!("{name} is not a number in range")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICHESS: &str = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags
00ymq,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g3 f2g3 f5c2,1500,77,93,3396,crushing short,https://lichess.org/x#57,
";

    #[test]
    fn a_puzzle_has_its_moves_its_numbers_and_its_words() {
        let first = LICHESS.lines().next().unwrap();
        let columns = PuzzleColumns::detect(first.as_bytes()).unwrap().unwrap();
        let mut reader = columns.reader(LICHESS.as_bytes(), true);
        let record = reader.byte_records().next().unwrap().unwrap();
        let puzzle = columns.puzzle(&record).unwrap();
        assert_eq!(puzzle.start.fen(), "Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PP1/3R2K1 b - - 5 29");
        assert_eq!(puzzle.set_up.map(|m| m.to().to_string()), Some("g1".to_owned()));
        assert_eq!(puzzle.moves.len(), 3);
        let facts = PuzzleFacts { rating: Some(1500), popularity: Some(93), plays: Some(3396) };
        assert_eq!(columns.facts(&record).unwrap(), facts);
        assert_eq!(columns.words(&record), ["00ymq", "crushing short"]);
        for plays in ["many", "", "4294967296"] {
            let record = ByteRecord::from(vec!["00ymq", "", "", "1500", "77", "93", plays]);
            assert_eq!(
                (columns.rating(&record), columns.facts(&record).is_ok()),
                (Some(1500), plays.is_empty())
            );
        }
    }
}
