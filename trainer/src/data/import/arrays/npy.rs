//! A game as the imitation article stores it: text in NumPy's format, a row per move.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use engine::chess::position::{Game, Outcome, PackedMove};
use shakmaty::{CastlingMode, Position};

use super::{broken, filtered};
use crate::data::import::pgn::{GameError, ParsedGame, start_position};
use crate::data::import::reader::Filters;
use crate::data::record::{FLAG_CHESS960, GameRecord, GameResult, NO_EVAL};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

const EXPECTED: &str = "expected is a game as text (dtype U or S) of shape (moves, 2): the move in UCI notation and the \
                        FEN before it, such as the imitation article's movesAndPositions1.npy";

/// Most bytes of a header; NumPy's own are of about 100.
const LONGEST_HEADER: u64 = 1 << 16;

/// An array of text with two columns.
struct Header {
    rows: usize,
    /// Whether columns are stored one after the other.
    by_columns: bool,
    /// Bytes of a number in a cell: 4 in Unicode, 1 in ASCII.
    unit: usize,
    big_endian: bool,
    /// Bytes of a cell.
    cell: usize,
    /// Bytes of all cells.
    size: usize,
}

impl Header {
    /// Reads up to the first cell.
    fn read(reader: &mut impl Read) -> Result<Header, String> {
        let text = header_text(reader)
            .ok_or_else(|| format!("this is a NumPy array with a damaged header; {EXPECTED}"))?;
        let value = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
        let kind = value("descr").and_then(|rest| rest.strip_prefix('\'')?.split_once('\''));
        let kind = kind.map_or("a structure", |(kind, _)| kind);
        let shape = value("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
        let shape = shape.map_or("", |(shape, _)| shape);
        if kind.ends_with('O') {
            return Err(format!(
                "this is a NumPy array of objects, which are stored by pickle: a pickle can run any program and is not \
                 read. Save the array as text (numpy.array(game, dtype=str)); {EXPECTED}"
            ));
        }
        // A tuple may end with a comma.
        let items = shape.trim_end().strip_suffix(',').unwrap_or(shape).split(',');
        let sizes: Option<Vec<usize>> = items.map(|size| size.trim().parse().ok()).collect();
        let found = || format!("this is a NumPy array of dtype {kind} and shape ({shape}); {EXPECTED}");
        let (letter, length) =
            kind.trim_start_matches(['<', '>', '|', '=']).split_at_checked(1).ok_or_else(found)?;
        let unit = match letter {
            "U" => 4,
            "S" => 1,
            _ => return Err(found()),
        };
        let cell =
            length.parse().ok().and_then(|length: usize| length.checked_mul(unit)).ok_or_else(found)?;
        let Some(&[rows, 2]) = sizes.as_deref() else { return Err(found()) };
        let size = cell.checked_mul(2).and_then(|row| row.checked_mul(rows)).ok_or_else(found)?;
        let by_columns = value("fortran_order").is_some_and(|rest| rest.starts_with("True"));
        Ok(Header { rows, by_columns, unit, big_endian: kind.starts_with('>'), cell, size })
    }

    fn text(&self, data: &[u8], row: usize, column: usize) -> Option<String> {
        let at = if self.by_columns { column * self.rows + row } else { 2 * row + column };
        let numbers = data.get(at * self.cell..)?.get(..self.cell)?.chunks_exact(self.unit);
        let character = |bytes: &[u8]| match (bytes, self.big_endian) {
            (&[a, b, c, d], true) => char::from_u32(u32::from_be_bytes([a, b, c, d])),
            (&[a, b, c, d], false) => char::from_u32(u32::from_le_bytes([a, b, c, d])),
            (bytes, _) => bytes.first().map(|byte| char::from(*byte)),
        };
        let text: Option<String> = numbers.map(character).collect();
        text.map(|text| text.trim_end_matches('\0').to_owned())
    }
}

/// A dictionary of Python with the keys `descr`, `fortran_order` and `shape`.
fn header_text(reader: &mut impl Read) -> Option<String> {
    let mut fixed = [0; 8];
    reader.read_exact(&mut fixed).ok()?;
    let mut length = [0; 4];
    reader.read_exact(&mut length[..if fixed[6] == 1 { 2 } else { 4 }]).ok()?;
    let mut text = String::new();
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST_HEADER {
        return None;
    }
    let read = reader.take(length).read_to_string(&mut text).ok()?;
    (read as u64 == length).then_some(text)
}

/// Whether the file is a game, by its header.
pub(super) fn check(path: &Path) -> Result<(), String> {
    open(path).and_then(|mut reader| Header::read(&mut reader)).map(drop)
}

fn open(path: &Path) -> Result<BufReader<File>, String> {
    File::open(path).map(BufReader::new).map_err(|error| error.to_string())
}

pub(super) fn game(path: &Path, filters: &Filters) -> Result<ParsedGame, String> {
    let mut reader = open(path)?;
    let header = Header::read(&mut reader)?;
    if header.rows > usize::from(u16::MAX) {
        return Ok(broken(0, usize::from(u16::MAX), GameError::TooLong));
    }
    let mut data = Vec::new();
    let wanted = header.size;
    reader.take(wanted as u64 + 1).read_to_end(&mut data).map_err(|error| error.to_string())?;
    if data.len() > wanted {
        return Err("the file holds more than one array; save each game in a file of its own".to_owned());
    }
    if data.len() < wanted {
        return Err(format!("{} of {wanted} bytes of the array are there: it is truncated", data.len()));
    }
    let row = |row: usize| -> Option<[String; 2]> {
        Some([header.text(&data, row, 0)?, header.text(&data, row, 1)?])
    };
    Ok(match replayed(header.rows, row) {
        Ok(game) => filtered(game, filters),
        Err((row, error)) => broken(0, row, error),
    })
}

/// Fails with the row of the fault.
fn replayed(
    rows: usize,
    row: impl Fn(usize) -> Option<[String; 2]>,
) -> Result<GameRecord, (usize, GameError)> {
    let mut record = GameRecord { evals: vec![NO_EVAL; rows], ..GameRecord::default() };
    let mut game = Game::new();
    for number in 0..rows {
        let at = |error| (number, error);
        let [uci, fen] = row(number).ok_or_else(|| at(GameError::Text("text that is no Unicode".into())))?;
        let (start, position) = start_position(&fen).map_err(at)?;
        if number == 0 {
            (record.start, game) = (start, Game::from_position(position.clone()));
            if position.castles().mode() == CastlingMode::Chess960 {
                record.flags |= FLAG_CHESS960;
            }
        }
        let own = game.position();
        if own.board() != position.board()
            || own.turn() != position.turn()
            || own.castles().castling_rights() != position.castles().castling_rights()
        {
            let why = format!("the moves before do not lead to the position {fen}");
            return Err(at(GameError::Array(why)));
        }
        let m = game.parse_uci(uci.trim()).map_err(|_| at(GameError::Move(format!("{uci} in {fen}"))))?;
        record.moves.push(PackedMove::new(m));
        game.play(m);
    }
    record.result = match game.outcome() {
        Some(Outcome::Decisive { winner }) => GameResult::won_by(winner),
        Some(Outcome::Draw(_)) => GameResult::Draw,
        None => GameResult::Unknown,
    };
    Ok(record)
}
