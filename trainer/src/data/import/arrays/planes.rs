//! Positions as ChessTRM's report has them: HDF5 with the planes of `planes19/1` and a target for each position.
//!
//! A position becomes a game of one ply. The planes hold neither history nor counters nor the en-passant square; this
//! last follows from a target that captures en passant.

use std::ops::Range;
use std::path::Path;

use engine::chess::position::{Game, PackedMove};
use engine::nets::encoding::{Policy, planes19};
use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, File, Group};
use ndarray::IxDyn;
use shakmaty::{Bitboard, Board, CastlingMode, Color, Move, Piece, Position, Role};

use super::{broken, filtered};
use crate::base::hdf5_read::{cause, rows, text_attribute, texts, unlocked};
use crate::data::import::blocks::GAMES_FILE;
use crate::data::import::pgn::{GameError, ParsedGame, start_position};
use crate::data::import::reader::Filters;
use crate::data::record::{FORMAT, GameRecord, NO_EVAL};

const PLANES: usize = planes19::PLANES;
const REPETITIONS: Range<usize> = 12..14;
const CASTLING: usize = 14;
const BLACK: usize = 18;

/// Positions in memory at a time.
const BATCH: usize = 1024;

/// Groups within groups that are searched.
const DEPTH: usize = 3;

/// The moves of a batch of positions.
enum Targets {
    /// Of `uci1968m/1`.
    Indices(Vec<i64>),
    Uci(Vec<String>),
}

pub(super) struct PlaneFile {
    planes: Dataset,
    /// Numbers or texts.
    targets: Dataset,
    of_numbers: bool,
    _file: File,
}

impl PlaneFile {
    pub fn open(path: &Path) -> Result<PlaneFile, String> {
        let damaged = |error: hdf5::Error| format!("HDF5, but damaged or truncated: {}", cause(&error));
        let file = File::with_options().with_fapl(unlocked).open(path).map_err(damaged)?;
        if text_attribute(&file, "format").is_ok_and(|format| format == FORMAT) {
            return Err(GAMES_FILE.to_owned());
        }
        let found = datasets(&file, DEPTH).map_err(damaged)?;
        let planes: Vec<&Dataset> =
            found.iter().filter(|set| set.shape().get(1..) == Some(&[PLANES, 8, 8])).collect();
        let expected = |why: &str| {
            let sets: Vec<String> =
                found.iter().map(|set| format!("{} {:?}", set.name(), set.shape())).collect();
            format!(
                "{why} (datasets: {}). Expected are games/1 or a dataset of planes19/1, shape [n, 19, 8, 8], and one of \
                 n targets: indices of uci1968m/1, or moves in UCI notation",
                sets.join(", ")
            )
        };
        let &[planes] = planes.as_slice() else {
            return Err(expected(&format!("this is HDF5 with {} datasets of 19 planes", planes.len())));
        };
        let rows = planes.shape()[0];
        if u32::try_from(rows).is_err() {
            return Err(format!(
                "this is HDF5 with {rows} positions, of which at most {} are read",
                u32::MAX
            ));
        }
        let kind = |set: &Dataset| set.dtype().and_then(|kind| kind.to_descriptor()).ok();
        let targets: Vec<(&Dataset, TypeDescriptor)> = found
            .iter()
            .filter(|set| set.shape() == [rows] || set.shape() == [rows, 1])
            .filter_map(|set| Some((set, kind(set)?)))
            .filter(|(_, kind)| is_number(kind) || is_text(kind))
            .collect();
        let [(targets, kind)] = targets.as_slice() else {
            return Err(expected(&format!(
                "this is HDF5 with {} datasets of {rows} numbers or texts",
                targets.len()
            )));
        };
        let (planes, targets) = (planes.clone(), (*targets).clone());
        Ok(PlaneFile { planes, targets, of_numbers: is_number(kind), _file: file })
    }

    pub fn games(
        self,
        filters: &Filters,
        mut send: impl FnMut(Vec<ParsedGame>, f64) -> bool,
    ) -> Result<(), String> {
        let rows = self.planes.shape()[0];
        for first in (0..rows).step_by(BATCH) {
            let batch = first..(first + BATCH).min(rows);
            let damaged = |error: hdf5::Error| format!("row {first}: {}", cause(&error));
            let numbers = self.planes.read_slice::<f32, _, IxDyn>((batch.clone(), .., .., ..));
            let (numbers, _) = numbers.map_err(damaged)?.into_raw_vec_and_offset();
            let targets = self.targets(&batch).map_err(damaged)?;
            let share = batch.end as f64 / rows as f64;
            let parsed = batch.zip(numbers.chunks_exact(PLANES * 64)).map(|(row, planes)| {
                match game(&targets, row - first, planes) {
                    Ok(game) => filtered(game, filters),
                    Err(error) => broken(row, row, error),
                }
            });
            if !send(parsed.collect(), share) {
                break;
            }
        }
        Ok(())
    }

    fn targets(&self, batch: &Range<usize>) -> hdf5::Result<Targets> {
        if self.of_numbers {
            rows(&self.targets, Some(batch)).map(Targets::Indices)
        } else {
            texts(&self.targets, Some(batch)).map(Targets::Uci)
        }
    }
}

/// `row` counts from the first of `targets`.
fn game(targets: &Targets, row: usize, planes: &[f32]) -> Result<GameRecord, GameError> {
    let (start, played) = position(&masks(planes)?, |game| targets.played(row, game))?
        .ok_or_else(|| GameError::Move(targets.named(row)))?;
    let start = start_position(&start.fen())?.0;
    let (moves, evals) = (vec![PackedMove::new(played)], vec![NO_EVAL]);
    Ok(GameRecord { start, moves, evals, ..GameRecord::default() })
}

fn is_number(kind: &TypeDescriptor) -> bool {
    matches!(kind, TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_))
}

fn is_text(kind: &TypeDescriptor) -> bool {
    use TypeDescriptor::{FixedAscii, FixedUnicode, VarLenAscii, VarLenUnicode};
    matches!(kind, FixedAscii(_) | FixedUnicode(_) | VarLenAscii | VarLenUnicode)
}

impl Targets {
    fn played(&self, row: usize, game: &Game) -> Option<Move> {
        match self {
            Targets::Indices(indices) => {
                let index = |m: Move| i64::from(Policy::Uci1968m.index(game.turn(), m).0);
                game.legal_moves().into_iter().find(|m| index(*m) == indices[row])
            }
            Targets::Uci(moves) => game.parse_uci(moves[row].trim()).ok(),
        }
    }

    fn named(&self, row: usize) -> String {
        match self {
            Targets::Indices(indices) => format!("{} of uci1968m/1", indices[row]),
            Targets::Uci(moves) => moves[row].clone(),
        }
    }
}

/// All datasets of a group and of those in it.
fn datasets(group: &Group, depth: usize) -> hdf5::Result<Vec<Dataset>> {
    let mut found = group.datasets()?;
    if depth > 0 {
        for inner in group.groups()? {
            found.extend(datasets(&inner, depth - 1)?);
        }
    }
    Ok(found)
}

/// Squares of each plane, a1 = bit 0, mover's view.
fn masks(planes: &[f32]) -> Result<[u64; PLANES], GameError> {
    let mut masks = [0; PLANES];
    for (number, plane) in planes.chunks_exact(64).enumerate() {
        for (square, value) in plane.iter().enumerate() {
            match value {
                0.0 => {}
                1.0 => masks[number] |= 1 << square,
                _ => {
                    return Err(GameError::Array(format!(
                        "plane {number} has the number {value}, not 0 or 1"
                    )));
                }
            }
        }
    }
    Ok(masks)
}

/// The position of the planes in which `played` finds a move, with an en-passant square if only that makes the move
/// legal. `None` if there is no such move.
fn position(
    masks: &[u64; PLANES],
    played: impl Fn(&Game) -> Option<Move>,
) -> Result<Option<(Game, Move)>, GameError> {
    let turn = Color::from_white(masks[BLACK] == 0);
    let seen = |mask: u64| if turn.is_white() { mask } else { mask.swap_bytes() };
    let mut board = Board::empty();
    for (number, mask) in masks[..REPETITIONS.start].iter().enumerate() {
        let piece = Piece { color: if number < 6 { turn } else { !turn }, role: Role::ALL[number % 6] };
        Bitboard(seen(*mask)).into_iter().for_each(|square| board.set_piece_at(square, piece));
    }
    let letters = turn.fold_wb(['K', 'Q', 'k', 'q'], ['k', 'q', 'K', 'Q']);
    let rights: String = letters
        .iter()
        .zip(&masks[CASTLING..])
        .filter(|(_, mask)| **mask != 0)
        .map(|(letter, _)| *letter)
        .collect();
    let rights = if rights.is_empty() { "-" } else { rights.as_str() };
    let with = |en_passant: &str| {
        Game::from_fen(&format!("{} {} {rights} {en_passant} 0 1", board.board_fen(), turn.char()))
            .map_err(|error| GameError::Start(error.to_string()))
    };
    let game = with("-")?;
    // Planes have the side of a castling right only, so that a stale one would become a right of Chess960.
    if game.position().castles().mode() == CastlingMode::Chess960 {
        let why = format!("castling planes without king and rook at home: {}", game.fen());
        return Err(GameError::Array(why));
    }
    let own = planes19::encode(&game);
    if let Some(number) = (0..PLANES).find(|at| !REPETITIONS.contains(at) && own[*at] != masks[*at]) {
        return Err(GameError::Array(format!("plane {number} is not that of a position: {}", game.fen())));
    }
    if let Some(m) = played(&game) {
        return Ok(Some((game, m)));
    }
    let rank = turn.fold_wb('6', '3');
    let mut captured = ('a'..='h').filter_map(|file| {
        let game = with(&format!("{file}{rank}")).ok()?;
        let m = played(&game).filter(|m| m.is_en_passant())?;
        Some((game, m))
    });
    Ok(captured.next())
}
