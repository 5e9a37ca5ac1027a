//! Positions as ChessTRM's report has them: HDF5 with the planes of `planes19/1` and a target for each position.
//!
//! A position becomes a game of one ply. The planes hold neither history nor counters nor the en-passant square; this
//! last follows from a target that captures en passant.

use std::path::Path;

use engine::chess::position::{Game, PackedMove};
use engine::nets::encoding::{Policy, planes19};
use hdf5::types::TypeDescriptor;
use hdf5::{Dataset, File, Group};
use ndarray::IxDyn;
use shakmaty::{Bitboard, Board, Color, Move, Piece, Role};

use super::{broken, filtered};
use crate::base::hdf5_read::{cause, get, texts, unlocked};
use crate::data::import::blocks::GAMES_FILE;
use crate::data::import::pgn::{GameError, ParsedGame, start_position};
use crate::data::import::reader::Filters;
use crate::data::record::{GameRecord, NO_EVAL};

const PLANES: usize = planes19::PLANES;
const REPETITIONS: std::ops::Range<usize> = 12..14;
const CASTLING: usize = 14;
const BLACK: usize = 18;

/// Positions in memory at a time.
const BATCH: usize = 1024;

/// Groups within groups that are searched.
const DEPTH: usize = 3;

/// The move of a position.
enum Targets {
    /// Of `uci1968m/1`.
    Indices(Vec<i64>),
    Uci(Vec<String>),
}

pub(super) struct PlaneFile {
    planes: Dataset,
    targets: Targets,
    _file: File,
}

impl PlaneFile {
    pub fn open(path: &Path) -> Result<PlaneFile, String> {
        let damaged = |error: hdf5::Error| format!("HDF5, but damaged or truncated: {}", cause(&error));
        let file = File::with_options().with_fapl(unlocked).open(path).map_err(damaged)?;
        if file.attr("format").is_ok() {
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
        let kind = |set: &Dataset| set.dtype().and_then(|kind| kind.to_descriptor()).ok();
        let targets: Vec<(&Dataset, TypeDescriptor)> = found
            .iter()
            .filter(|set| set.shape() == [rows] || set.shape() == [rows, 1])
            .filter_map(|set| Some((set, kind(set)?)))
            .filter(|(_, kind)| !matches!(kind, TypeDescriptor::Float(_) | TypeDescriptor::Boolean))
            .collect();
        let [(targets, kind)] = targets.as_slice() else {
            return Err(expected(&format!(
                "this is HDF5 with {} datasets of {rows} numbers or texts",
                targets.len()
            )));
        };
        let name = targets.name();
        let targets = match kind {
            TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) => {
                get(&file, &name).map(Targets::Indices)
            }
            _ => texts(&file, &name).map(Targets::Uci),
        };
        Ok(PlaneFile { planes: planes.clone(), targets: targets.map_err(damaged)?, _file: file })
    }

    pub fn games(
        self,
        filters: &Filters,
        mut send: impl FnMut(Vec<ParsedGame>) -> bool,
    ) -> Result<(), String> {
        let rows = self.planes.shape()[0];
        for first in (0..rows).step_by(BATCH) {
            let batch = first..(first + BATCH).min(rows);
            let numbers = self.planes.read_slice::<f32, _, IxDyn>((batch.clone(), .., .., ..));
            let numbers = numbers.map_err(|error| format!("row {first}: {}", cause(&error)))?;
            let (numbers, _) = numbers.into_raw_vec_and_offset();
            let parsed = batch.zip(numbers.chunks_exact(PLANES * 64)).map(|(row, planes)| {
                match self.game(row, planes) {
                    Ok(game) => filtered(game, filters),
                    Err(error) => broken(row, error),
                }
            });
            if !send(parsed.collect()) {
                break;
            }
        }
        Ok(())
    }

    fn game(&self, row: usize, planes: &[f32]) -> Result<GameRecord, GameError> {
        let (start, played) = position(&masks(planes)?, |game| self.targets.played(row, game))?
            .ok_or_else(|| GameError::Move(self.targets.named(row)))?;
        let start = start_position(&start.fen())?.0;
        let (moves, evals) = (vec![PackedMove::new(played)], vec![NO_EVAL]);
        Ok(GameRecord { start, moves, evals, ..GameRecord::default() })
    }
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
