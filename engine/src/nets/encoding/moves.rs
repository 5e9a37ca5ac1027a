use shakmaty::{Color, File, Move, Square};

use crate::chess::position::is_standard_castling;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyIndex(pub u16);

impl PolicyIndex {
    pub fn offset(self) -> usize {
        usize::from(self.0)
    }
}

/// Marks squares that no queen or knight move joins.
pub(super) const NO_MOVE: u16 = u16::MAX;

pub(super) fn joined(table: &[[u16; 64]; 64], from: Square, to: Square) -> PolicyIndex {
    let index = table[from as usize][to as usize];
    debug_assert_ne!(index, NO_MOVE, "{from}{to} is not a move of a queen or a knight");
    PolicyIndex(index)
}

/// Origin and target in all schemes but lc0's.
pub(super) fn squares(m: Move) -> (Square, Square) {
    match m {
        Move::Castle { king, rook } if is_standard_castling(king, rook) => {
            let file = if king < rook { File::G } else { File::C };
            (king, Square::from_coords(file, king.rank()))
        }
        _ => king_takes_rook(m),
    }
}

pub(super) fn king_takes_rook(m: Move) -> (Square, Square) {
    match m {
        Move::Castle { king, rook } => (king, rook),
        Move::Normal { from, to, .. } | Move::EnPassant { from, to } => (from, to),
        Move::Put { to, .. } => (to, to),
    }
}

/// The mover's view: ranks are mirrored for Black.
pub(super) fn seen_by(turn: Color, square: Square) -> Square {
    if turn.is_white() { square } else { square.flip_vertical() }
}
