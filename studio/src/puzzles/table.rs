//! A file of puzzles: Lichess's CSV, or a table with the columns fen and moves, packed with zstd or not. Memory has only
//! where each puzzle begins; its line is read again when it is asked for.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use engine::base::files::is_zstd;
use engine::chess::pgn::without_byte_order_mark;
use engine::chess::puzzles::{ByteRecord, Puzzle, PuzzleColumns, PuzzleError};
use serde::Deserialize;
use thiserror::Error;

use super::exercise::Exercise;
use crate::play::PlayedGame;

/// In bytes, unpacked; Lichess's table has about one GB.
const LONGEST_TABLE: u64 = 8 << 30;

/// In bytes. A block has whole lines.
const BLOCK: u64 = 1 << 20;
const LONGEST_LINE: u64 = 1 << 20;

/// In characters: of a line that is no header, in an error.
const SHOWN: usize = 60;

/// Of the bytes that tell whether a file is packed.
const HEAD: u64 = 4;

/// The decoder's default is 27, but archives may have larger windows.
const LARGEST_WINDOW_LOG: u32 = 31;

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
        "{0}, line 1: this is no table of puzzles: {1}. It needs a first line with the columns fen and moves, as in \
         Lichess's CSV, packed with zstd or not"
    )]
    NoTable(String, String),
    #[error("{0}, line 1: {1}")]
    Columns(String, String),
    #[error("{0} has no puzzle that can be read{1}")]
    Empty(String, String),
    #[error("{0}, line {1}: it is longer than a megabyte, so this is no table of puzzles")]
    Line(String, usize),
    #[error("{0}: a file of puzzles may have 8 GB, unpacked: take a part of it (head -n 10000000)")]
    Long(String),
    #[error("{0}, after line {1}: {2}: is the file complete?")]
    Read(String, usize, io::Error),
    #[error("{0} cannot be kept on disk ({1}): is there space left?")]
    Keep(String, io::Error),
    #[error("{0} is being read: wait until it is done")]
    Busy(String),
}

/// Where the text of a table is read again.
#[derive(Debug)]
pub enum Text {
    /// An empty file, into which it is copied.
    Copied(File),
    /// The file that has it.
    There(File),
}

impl Text {
    /// A file without a name, which ends with the server.
    fn nameless(name: &str, folder: &Path) -> Result<Text, PuzzleTableError> {
        let file = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        file.map(Text::Copied).map_err(|error| PuzzleTableError::Keep(name.to_owned(), error))
    }
}

#[derive(Debug)]
pub struct PuzzleTable {
    pub name: String,
    text: Mutex<File>,
    /// Of the text.
    hash: u64,
    columns: PuzzleColumns,
    index: Index,
}

#[derive(Debug, Default)]
struct Index {
    /// By puzzle: the byte of the text with which its record begins, and its rating; 0 is none.
    begins: Vec<u64>,
    ratings: Vec<u16>,
    /// How many lines are left out, and what is wrong with the first.
    broken: (usize, String),
    /// Bytes and lines that were read.
    bytes: u64,
    lines: usize,
}

impl PuzzleTable {
    /// Reads to the end, and fails if no puzzle can be read. `progress` is told how many there are so far.
    pub fn read(
        name: &str,
        from: impl Read,
        text: Text,
        progress: &mut dyn FnMut(usize),
    ) -> Result<PuzzleTable, PuzzleTableError> {
        let mut index = Index::default();
        let unread = |lines, error| PuzzleTableError::Read(name.to_owned(), lines, error);
        let mut from = unpacked(from).map_err(|error| unread(0, error))?;
        let mut hasher = DefaultHasher::new();
        let mut columns = None;
        let mut block = Vec::new();
        loop {
            read_block(&mut from, &mut block).map_err(|error| unread(index.lines, error))?;
            if block.len() as u64 >= BLOCK + LONGEST_LINE && !block.ends_with(b"\n") {
                let line = index.lines + 1 + newlines(&block);
                return Err(PuzzleTableError::Line(name.to_owned(), line));
            }
            let is_first = columns.is_none();
            let columns = match columns {
                Some(columns) => columns,
                None => *columns.insert(header(name, &block)?),
            };
            if block.is_empty() {
                break;
            }
            if let Text::Copied(file) = &text {
                (&mut &*file)
                    .write_all(&block)
                    .map_err(|error| PuzzleTableError::Keep(name.to_owned(), error))?;
            }
            hasher.write(&block);
            index.add(columns, &block, is_first);
            if index.bytes > LONGEST_TABLE {
                return Err(PuzzleTableError::Long(name.to_owned()));
            }
            progress(index.begins.len());
        }
        if index.begins.is_empty() {
            let first = if index.broken.0 > 0 { format!(": {}", index.broken.1) } else { String::new() };
            return Err(PuzzleTableError::Empty(name.to_owned(), first));
        }
        let (Text::Copied(file) | Text::There(file)) = text;
        let columns = columns.expect("the header was read");
        Ok(PuzzleTable {
            name: name.to_owned(),
            text: Mutex::new(file),
            hash: hasher.finish(),
            columns,
            index,
        })
    }

    /// A file of this machine. What cannot be read again in place, is copied into `folder`.
    pub fn open(name: &str, file: File, folder: &Path) -> Result<PuzzleTable, PuzzleTableError> {
        let unread = |error| PuzzleTableError::Read(name.to_owned(), 0, error);
        let mut head = Vec::new();
        (&file).take(HEAD).read_to_end(&mut head).map_err(unread)?;
        let is_there = !is_zstd(&head) && file.metadata().map_err(unread)?.is_file();
        let text = match is_there {
            true => Text::There(file.try_clone().map_err(unread)?),
            false => Text::nameless(name, folder)?,
        };
        PuzzleTable::read(name, io::Cursor::new(head).chain(file), text, &mut |_| ())
    }

    #[expect(clippy::len_without_is_empty, reason = "it has at least one")]
    pub fn len(&self) -> usize {
        self.index.begins.len()
    }

    /// How many lines are left out, and what is wrong with the first.
    pub fn broken(&self) -> &(usize, String) {
        &self.index.broken
    }

    /// Tells this text from another, also after the server has started again.
    pub fn edition(&self) -> String {
        format!("{:016x}", self.hash)
    }

    pub fn is_rated(&self) -> bool {
        self.index.ratings.iter().any(|rating| *rating > 0)
    }

    /// The next puzzle with such a rating, or the one before.
    pub fn next(&self, number: usize, to: Direction, ratings: RangeInclusive<u16>) -> Option<usize> {
        let own = &self.index.ratings;
        let fits = |number: &usize| own[*number] > 0 && ratings.contains(&own[*number]);
        match to {
            Direction::Here => (number..self.len()).find(fits),
            Direction::On => (number.saturating_add(1)..self.len()).find(fits),
            Direction::Back => (0..number.min(self.len())).rev().find(fits),
        }
    }

    /// `number` counts from 0.
    pub fn exercise(&self, number: usize) -> Option<Exercise> {
        let line = self.line(*self.index.begins.get(number)?).ok()?;
        let record = self.columns.reader(&line, false).byte_records().next()?.ok()?;
        let puzzle = self.columns.puzzle(&record).ok()?;
        let [id, themes] = self.columns.words(&record);
        let rating = self.index.ratings[number];
        let rating = if rating > 0 { format!(", rated {rating}") } else { String::new() };
        let title = if id.is_empty() { format!("Puzzle {}", number + 1) } else { format!("Puzzle {id}") };
        Some(Exercise {
            start: start_of(&puzzle)?,
            solution: puzzle.moves,
            title: title + &rating,
            afterwards: if themes.is_empty() { String::new() } else { format!("Themes: {themes}") },
        })
    }

    fn line(&self, begin: u64) -> io::Result<Vec<u8>> {
        let mut file = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(begin))?;
        let mut line = Vec::new();
        BufReader::new(&*file).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        Ok(line)
    }
}

impl Index {
    fn add(&mut self, columns: PuzzleColumns, block: &[u8], is_first: bool) {
        let text = if is_first { without_byte_order_mark(block) } else { block };
        let base = block.len() - text.len();
        let mut reader = columns.reader(text, is_first);
        let mut record = ByteRecord::new();
        loop {
            let before = reader.position().clone();
            if !matches!(reader.read_byte_record(&mut record), Ok(true)) {
                break;
            }
            // The reader skips the first line before the first record, and begins with the end of the line before.
            let begin = record.position().unwrap_or(&before).byte() as usize + base;
            let begin = begin + block[begin..].iter().take_while(|byte| b"\r\n".contains(byte)).count();
            match columns.puzzle(&record).and_then(has_moves) {
                Ok(()) => {
                    self.begins.push(self.bytes + begin as u64);
                    self.ratings.push(columns.rating(&record).unwrap_or(0));
                }
                Err(error) => {
                    if self.broken.0 == 0 {
                        let line = self.lines + 1 + newlines(&block[..begin]);
                        self.broken.1 = format!("line {line}: {error}");
                    }
                    self.broken.0 += 1;
                }
            }
        }
        self.bytes += block.len() as u64;
        self.lines += newlines(block);
    }
}

fn newlines(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

fn unpacked<'a>(mut from: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut head = Vec::new();
    from.by_ref().take(HEAD).read_to_end(&mut head)?;
    let is_packed = is_zstd(&head);
    let whole = BufReader::with_capacity(BLOCK as usize, io::Cursor::new(head).chain(from));
    if !is_packed {
        return Ok(Box::new(whole));
    }
    let mut decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
    decoder.window_log_max(LARGEST_WINDOW_LOG)?;
    Ok(Box::new(BufReader::with_capacity(BLOCK as usize, decoder)))
}

/// Empty at the end. The last line may lack its end, and so may one that is too long.
fn read_block(from: &mut impl BufRead, block: &mut Vec<u8>) -> io::Result<()> {
    block.clear();
    from.by_ref().take(BLOCK).read_to_end(block)?;
    if !block.is_empty() && !block.ends_with(b"\n") {
        from.by_ref().take(LONGEST_LINE).read_until(b'\n', block)?;
    }
    Ok(())
}

fn header(name: &str, block: &[u8]) -> Result<PuzzleColumns, PuzzleTableError> {
    let first = without_byte_order_mark(block).split(|byte| *byte == b'\n').next().unwrap_or_default();
    let named = |text: String| PuzzleTableError::Columns(name.to_owned(), text);
    let no_table = || {
        let what = match std::str::from_utf8(first) {
            Ok("") => "it is empty".to_owned(),
            Ok(text) if !text.trim_end().chars().any(char::is_control) => {
                let shown: String = text.trim_end().chars().take(SHOWN).collect();
                format!("\"{shown}\"")
            }
            _ => "it is no text".to_owned(),
        };
        PuzzleTableError::NoTable(name.to_owned(), what)
    };
    PuzzleColumns::detect(first).map_err(named)?.ok_or_else(no_table)
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
08oBe,r2q1rk1/1p2nppp/p1n1p2b/3p4/3P4/P1N2N2/1PBQ1PPP/R4RK1 b - - 0 1,a6a5 d2d3,1900,77,60,many,,https://lichess.org/y,\r
";

    fn read(name: &str, text: impl AsRef<[u8]>) -> Result<PuzzleTable, PuzzleTableError> {
        PuzzleTable::read(name, text.as_ref(), Text::Copied(tempfile::tempfile().unwrap()), &mut |_| ())
    }

    #[test]
    fn lines_are_read_when_they_are_asked_for_and_broken_ones_left_out() {
        let table = read("a.csv", LICHESS).unwrap();
        assert_eq!((table.len(), table.broken().0), (2, 1));
        assert_eq!(table.broken().1, "line 3: illegal or ambiguous move e4g4");
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
    fn a_table_of_many_blocks_is_read_packed_or_not_from_a_copy_or_in_place() {
        let (header, line) = LICHESS.split_once('\n').unwrap();
        let line = line.split_once('\n').unwrap().0;
        let many = |number: usize| line.replacen("00ymq", &format!("n{number}"), 1) + "\n";
        let lines: String = (0..9000).map(many).collect();
        let text = format!("{header}\n{lines}{}\n", line.replace("f5c2", "f5c9"));
        assert!(text.len() as u64 > BLOCK);
        let mut told = Vec::new();
        // pzstd begins with a frame to skip.
        let mut packed = vec![0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
        packed.extend(zstd::encode_all(text.as_bytes(), 1).unwrap());
        let copy = Text::Copied(tempfile::tempfile().unwrap());
        let unpacked = PuzzleTable::read("a.zst", &packed[..], copy, &mut |count| told.push(count)).unwrap();
        assert!(told.len() == 2 && told[0] > 1000 && told[1] == 9000, "{told:?}");
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let there = PuzzleTable::open("a.csv", file.reopen().unwrap(), Path::new("/nonexistent")).unwrap();
        assert_eq!(unpacked.edition(), there.edition());
        for table in [unpacked, there] {
            assert_eq!(table.broken(), &(1, "line 9002: illegal or ambiguous move f5c9".to_owned()));
            for number in [0, 8500, 8999] {
                assert_eq!(table.exercise(number).unwrap().title, format!("Puzzle n{number}, rated 1500"));
            }
        }
        let broken = read("a.zst", &packed[..packed.len() / 2]).unwrap_err().to_string();
        assert!(
            broken.starts_with("a.zst, after line ") && broken.contains("is the file complete?"),
            "{broken}"
        );
    }

    #[test]
    fn our_table_begins_with_the_solver() {
        let text = "fen\tmoves\n7k/8/6K1/8/8/8/8/R7 w - -\ta1a8";
        let table = read("b.tsv", text).unwrap();
        let view = table.exercise(0).unwrap().view();
        assert_eq!((view.title.as_str(), view.side, view.last), ("Puzzle 1", "white", None));
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line_and_a_way_out() {
        let refused = |text: &[u8]| read("x", text).unwrap_err().to_string();
        let games = refused(b"1. e4 e5 *");
        assert!(
            games.starts_with("x, line 1: this is no table of puzzles: \"1. e4 e5 *\". It needs"),
            "{games}"
        );
        assert!(games.contains("needs a first line with the columns fen and moves"));
        assert!(refused(b"fen\tsolution\n").contains("named \"moves\""));
        assert!(refused(b"fen,moves\n8/8,e2e4\n").contains("x has no puzzle that can be read: line 2: "));
        assert!(refused(b"").contains("line 1: this is no table of puzzles: it is empty"));
        assert!(refused(b"\x89PNG\r\n\x1a\n\0\0").contains("it is no text"));
        let long = [&b"fen,moves\n"[..], &vec![b'x'; 3 << 20]].concat();
        assert!(refused(&long).starts_with("x, line 2: it is longer than a megabyte"));
    }
}
