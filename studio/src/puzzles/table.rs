//! A file of puzzles: Lichess's CSV, or a table with the columns fen and moves. Its lines are kept, and read again when
//! a puzzle is asked for.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use engine::chess::pgn::without_byte_order_mark;
use engine::chess::puzzles::{ByteRecord, Puzzle, PuzzleColumns, PuzzleError};
use serde::Deserialize;
use thiserror::Error;

use super::exercise::Exercise;
use crate::play::PlayedGame;

/// In bytes: more than 300,000 puzzles.
pub const LONGEST_TABLE: usize = 64 << 20;

pub const TOO_LONG: &str =
    "A file of puzzles may have 64 MB: take a part of it, such as its first 300,000 lines (head -n 300000).";

/// A line: its byte offsets in the text, and the puzzle's rating.
#[derive(Clone, Copy, Debug)]
struct Record {
    begin: u32,
    end: u32,
    rating: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// This one, or a later one.
    Here,
    On,
    Back,
}

#[derive(Debug, Error)]
pub enum PuzzleTableError {
    #[error(
        "{0}: this is no table of puzzles. It needs a first line with the columns fen and moves, as in Lichess's CSV"
    )]
    NoTable(String),
    #[error("{0}: {1}")]
    Columns(String, String),
    #[error("{0} has no puzzle that can be read{1}")]
    Empty(String, String),
}

#[derive(Debug)]
pub struct PuzzleTable {
    pub name: String,
    text: Vec<u8>,
    /// Of the text.
    hash: u64,
    columns: PuzzleColumns,
    records: Vec<Record>,
    /// How many lines are left out, and what is wrong with the first.
    pub broken: (usize, String),
}

impl PuzzleTable {
    /// Fails only if no puzzle can be read.
    pub fn read(name: &str, text: Vec<u8>) -> Result<PuzzleTable, PuzzleTableError> {
        let text = match without_byte_order_mark(&text).len() {
            whole if whole == text.len() => text,
            rest => text[text.len() - rest..].to_vec(),
        };
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let named = |text: String| PuzzleTableError::Columns(name.to_owned(), text);
        let columns = PuzzleColumns::detect(first).map_err(named)?;
        let columns = columns.ok_or_else(|| PuzzleTableError::NoTable(name.to_owned()))?;
        let (mut records, mut broken) = (Vec::new(), (0, String::new()));
        let mut reader = columns.reader(&text, true);
        let mut record = ByteRecord::new();
        loop {
            let begin = reader.position().clone();
            match reader.read_byte_record(&mut record) {
                Ok(true) => (),
                _ => break,
            }
            // The reader skips the first line before the first record.
            let begin = record.position().unwrap_or(&begin);
            match columns.puzzle(&record).and_then(has_moves) {
                Ok(()) => records.push(Record {
                    begin: begin.byte() as u32,
                    end: reader.position().byte() as u32,
                    rating: columns.rating(&record),
                }),
                Err(error) => {
                    if broken.0 == 0 {
                        broken.1 = format!("line {}: {error}", line_at(&text, begin.byte() as usize));
                    }
                    broken.0 += 1;
                }
            }
        }
        if records.is_empty() {
            let first = if broken.0 > 0 { format!(": {}", broken.1) } else { String::new() };
            return Err(PuzzleTableError::Empty(name.to_owned(), first));
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok(PuzzleTable { name: name.to_owned(), hash: hasher.finish(), text, columns, records, broken })
    }

    #[expect(clippy::len_without_is_empty, reason = "it has at least one")]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Tells this text from another, also after the server has started again.
    pub fn edition(&self) -> String {
        format!("{:016x}", self.hash)
    }

    pub fn is_rated(&self) -> bool {
        self.records.iter().any(|record| record.rating.is_some())
    }

    /// The next puzzle with such a rating, or the one before.
    pub fn next(&self, number: usize, to: Direction, ratings: RangeInclusive<u16>) -> Option<usize> {
        let fits = |number: &usize| self.records[*number].rating.is_some_and(|own| ratings.contains(&own));
        match to {
            Direction::Here => (number..self.len()).find(fits),
            Direction::On => (number.saturating_add(1)..self.len()).find(fits),
            Direction::Back => (0..number.min(self.len())).rev().find(fits),
        }
    }

    /// `number` counts from 0.
    pub fn exercise(&self, number: usize) -> Option<Exercise> {
        let Record { begin, end, rating } = *self.records.get(number)?;
        let mut reader = self.columns.reader(&self.text[begin as usize..end as usize], false);
        let record = reader.byte_records().next()?.ok()?;
        let puzzle = self.columns.puzzle(&record).ok()?;
        let [id, themes] = self.columns.words(&record);
        let rating = rating.map_or(String::new(), |rating| format!(", rated {rating}"));
        let title = if id.is_empty() { format!("Puzzle {}", number + 1) } else { format!("Puzzle {id}") };
        Some(Exercise {
            start: start_of(&puzzle)?,
            solution: puzzle.moves,
            title: title + &rating,
            afterwards: if themes.is_empty() { String::new() } else { format!("Themes: {themes}") },
        })
    }
}

/// The number, from 1, of the line that begins at an offset or, after a line's end, behind it.
fn line_at(text: &[u8], offset: usize) -> usize {
    let blank = text[offset..].iter().take_while(|byte| b"\r\n".contains(byte)).count();
    1 + text[..offset + blank].iter().filter(|byte| **byte == b'\n').count()
}

/// A line without moves has nothing to find.
fn has_moves(puzzle: Puzzle) -> Result<(), PuzzleError> {
    if puzzle.moves.is_empty() { Err(PuzzleError::Text("there are no moves".to_owned())) } else { Ok(()) }
}

fn start_of(puzzle: &Puzzle) -> Option<PlayedGame> {
    let mut game = PlayedGame::new(Some(puzzle.before.fen())).ok()?;
    puzzle.set_up.into_iter().try_for_each(|m| game.play(m)).ok()?;
    Some(game)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LICHESS: &str = "\u{feff}PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\r
00ymq,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g3 f2g3 f5c2,1500,77,93,3396,crushing short,https://lichess.org/x#57,\r
bad,Q7/4ppbk/6pp/5q2/P3n3/4PNBP/1r3PPK/3R4 w - - 4 29,h2g1 e4g4,1500,77,93,3396,short,https://lichess.org/x#57,\r
08oBe,r2q1rk1/1p2nppp/p1n1p2b/3p4/3P4/P1N2N2/1PBQ1PPP/R4RK1 b - - 0 1,a6a5 d2d3,1900,77,60,12,,https://lichess.org/y,\r
";

    #[test]
    fn lines_are_read_when_they_are_asked_for_and_broken_ones_left_out() {
        let table = PuzzleTable::read("a.csv", LICHESS.into()).unwrap();
        assert_eq!((table.len(), table.broken.0), (2, 1));
        assert_eq!(table.broken.1, "line 3: illegal or ambiguous move e4g4");
        let first = table.exercise(0).unwrap();
        assert_eq!((first.title.as_str(), first.solution.len()), ("Puzzle 00ymq, rated 1500", 3));
        assert_eq!(first.afterwards, "Themes: crushing short");
        assert_eq!(first.view().last.as_deref(), Some("h2g1"));
        assert_eq!(table.exercise(1).unwrap().title, "Puzzle 08oBe, rated 1900");
        assert!(table.exercise(2).is_none());
        let next = |number, to| table.next(number, to, 1600..=2000);
        assert_eq!(
            [next(0, Direction::Here), next(1, Direction::Here), next(1, Direction::On)],
            [Some(1), Some(1), None]
        );
        assert_eq!(
            [next(2, Direction::Back), next(1, Direction::Back), next(9, Direction::On)],
            [Some(1), None, None]
        );
        assert!(table.is_rated());
    }

    #[test]
    fn our_table_begins_with_the_solver() {
        let text = "fen\tmoves\n7k/8/6K1/8/8/8/8/R7 w - -\ta1a8";
        let table = PuzzleTable::read("b.tsv", text.into()).unwrap();
        let view = table.exercise(0).unwrap().view();
        assert_eq!((view.title.as_str(), view.side, view.last), ("Puzzle 1", "white", None));
    }

    #[test]
    fn what_is_no_table_is_refused_with_a_way_out() {
        let refused = |text: &str| PuzzleTable::read("x", text.into()).unwrap_err().to_string();
        assert!(refused("1. e4 e5 *").contains("needs a first line with the columns fen and moves"));
        assert!(refused("fen\tsolution\n").contains("named \"moves\""));
        assert!(refused("fen,moves\n8/8,e2e4\n").contains("x has no puzzle that can be read: line 2: "));
        assert!(refused("").contains("no table of puzzles"));
    }
}
