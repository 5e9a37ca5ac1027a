use shakmaty::{CastlingSide, Chess, Color, Move, Position, Role, Square};

use crate::chess::position::Game;

pub(super) const OWN: usize = 0;
pub(super) const THEIRS: usize = 1;

pub(super) const PAWN: usize = 0;
pub(super) const KNIGHT: usize = 1;
pub(super) const BISHOP: usize = 2;
pub(super) const ROOK: usize = 3;
pub(super) const QUEEN: usize = 4;
pub(super) const KING: usize = 5;

pub(super) const NAMES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;
const RANK_1: u64 = 0xff;
const RANK_8: u64 = RANK_1 << 56;

/// A position as [`sparse1`](super::sparse1) sees it: the side to move plays up the board, with its king on files e to
/// h. A seen square is `square ^ xor`, where `xor` has 56 if Black moves and 7 if the king stands on files a to d.
/// Bitboards have a1 = bit 0.
#[derive(Clone, Debug)]
pub struct View {
    pub(super) xor: u8,
    /// By side, then P N B R Q K.
    pub(super) pieces: [[u64; 6]; 2],
    pub(super) occupied: u64,
    pub(super) by_side: [u64; 2],
    /// By side, own pieces included, pins ignored.
    pub(super) attacks: [u64; 2],
    pub(super) their_slides: u64,
    /// Own towards the h-file, own towards the a-file, the opponent's towards h, towards a.
    pub(super) castling: [bool; 4],
    /// Only if a capture is legal.
    pub(super) en_passant: Option<u8>,
    pub(super) last_move: Option<LastMove>,
    pub(super) repetitions: u32,
    pub(super) halfmoves: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LastMove {
    pub from: u8,
    pub to: u8,
    pub took: bool,
}

impl View {
    #[inline(always)]
    pub fn of(game: &Game) -> View {
        View::new(game.position(), game.last_move(), game.repetitions())
    }

    /// `last_move` led to the position; `repetitions` counts its earlier occurrences.
    #[inline(always)]
    pub fn new(position: &Chess, last_move: Option<Move>, repetitions: u32) -> View {
        let board = position.board();
        let us = position.turn();
        let king = board.king_of(us).expect("each side has its king");
        let ranks = if us.is_white() { 0 } else { 56 };
        let mirrored = king as u8 & 7 < 4;
        let xor = ranks | if mirrored { 7 } else { 0 };
        let seen = |bits: u64| {
            let bits = if us.is_white() { bits } else { bits.swap_bytes() };
            if mirrored { files_mirrored(bits) } else { bits }
        };
        let mut by_side = [us, !us].map(|side| board.by_color(side).0);
        let mut roles = Role::ALL.map(|role| board.by_role(role).0);
        if xor != 0 {
            by_side = by_side.map(seen);
            roles = roles.map(seen);
        }
        let pieces = by_side.map(|side| roles.map(|role| role & side));
        let occupied = by_side[OWN] | by_side[THEIRS];
        let (own, _) = attacks(&pieces[OWN], occupied, pawns_up(pieces[OWN][PAWN]));
        let (theirs, their_slides) = attacks(&pieces[THEIRS], occupied, pawns_down(pieces[THEIRS][PAWN]));
        let castles = position.castles();
        let towards_h = CastlingSide::from_king_side(!mirrored);
        let right = |side: Color, towards: CastlingSide| castles.has(side, towards);
        View {
            xor,
            pieces,
            occupied,
            by_side,
            attacks: [own, theirs],
            their_slides,
            castling: [
                right(us, towards_h),
                right(us, towards_h.other()),
                right(!us, towards_h),
                right(!us, towards_h.other()),
            ],
            en_passant: position.legal_ep_square().map(|square| square as u8 ^ xor),
            last_move: last_move.map(|m| {
                let (from, to) = squares(m);
                LastMove { from: from as u8 ^ xor, to: to as u8 ^ xor, took: m.is_capture() }
            }),
            repetitions,
            halfmoves: position.halfmoves(),
        }
    }

    #[inline]
    pub fn in_check(&self) -> bool {
        self.pieces[OWN][KING] & self.attacks[THEIRS] != 0
    }

    #[inline]
    pub(super) fn square(&self, square: Square) -> u8 {
        square as u8 ^ self.xor
    }

    /// Bishops and queens; rooks and queens.
    #[inline]
    pub(super) fn sliders(&self, side: usize) -> [u64; 2] {
        let pieces = &self.pieces[side];
        [pieces[BISHOP] | pieces[QUEEN], pieces[ROOK] | pieces[QUEEN]]
    }
}

/// Origin and target; in castling the king's, with its target on the c- or g-file.
#[inline]
pub(super) fn squares(m: Move) -> (Square, Square) {
    match m {
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(rook > king);
            (king, Square::from_coords(side.king_to_file(), king.rank()))
        }
        Move::Normal { from, to, .. } | Move::EnPassant { from, to } => (from, to),
        Move::Put { to, .. } => (to, to),
    }
}

#[inline]
pub(super) fn files_mirrored(bits: u64) -> u64 {
    const K1: u64 = 0x5555_5555_5555_5555;
    const K2: u64 = 0x3333_3333_3333_3333;
    const K4: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let bits = (bits >> 1) & K1 | (bits & K1) << 1;
    let bits = (bits >> 2) & K2 | (bits & K2) << 2;
    (bits >> 4) & K4 | (bits & K4) << 4
}

#[inline]
pub(super) fn pawns_up(pawns: u64) -> u64 {
    (pawns & !FILE_A) << 7 | (pawns & !FILE_H) << 9
}

#[inline]
pub(super) fn pawns_down(pawns: u64) -> u64 {
    (pawns & !FILE_A) >> 9 | (pawns & !FILE_H) >> 7
}

/// Squares attacked by one side, and by its sliders.
#[inline(always)]
fn attacks(pieces: &[u64; 6], occupied: u64, by_pawns: u64) -> (u64, u64) {
    let slides = slides(pieces[BISHOP] | pieces[QUEEN], pieces[ROOK] | pieces[QUEEN], occupied);
    (by_pawns | knights(pieces[KNIGHT]) | king(pieces[KING]) | slides, slides)
}

#[inline(always)]
fn knights(knights: u64) -> u64 {
    let one = (knights & !FILE_A) >> 1 | (knights & !FILE_H) << 1;
    let two = (knights & !(FILE_A | FILE_A << 1)) >> 2 | (knights & !(FILE_H | FILE_H >> 1)) << 2;
    one << 16 | one >> 16 | two << 8 | two >> 8
}

#[inline(always)]
fn king(king: u64) -> u64 {
    let row = king | (king & !FILE_A) >> 1 | (king & !FILE_H) << 1;
    (row | row << 8 | row >> 8) & !king
}

/// Left rotations: E N NE NW (rook, rook, bishop, bishop), then W S SW SE.
const ROTATIONS: [u32; 8] = [1, 8, 9, 7, 63, 56, 55, 57];
/// Squares that each direction can reach without wrapping around an edge.
const ARRIVALS: [u64; 8] = [
    !FILE_A,
    !RANK_1,
    !(FILE_A | RANK_1),
    !(FILE_H | RANK_1),
    !FILE_H,
    !RANK_8,
    !(FILE_H | RANK_8),
    !(FILE_A | RANK_8),
];

/// Slider attacks in all directions at once (Kogge-Stone fill; chessprogramming.org).
#[inline(always)]
fn slides(diagonal: u64, straight: u64, occupied: u64) -> u64 {
    let mut reached = [straight, straight, diagonal, diagonal, straight, straight, diagonal, diagonal];
    for direction in 0..8 {
        let rotation = ROTATIONS[direction];
        let mut squares = reached[direction];
        let mut free = !occupied & ARRIVALS[direction];
        squares |= free & squares.rotate_left(rotation);
        free &= free.rotate_left(rotation);
        squares |= free & squares.rotate_left(2 * rotation);
        free &= free.rotate_left(2 * rotation);
        squares |= free & squares.rotate_left(4 * rotation);
        reached[direction] = ARRIVALS[direction] & squares.rotate_left(rotation);
    }
    reached.into_iter().fold(0, |all, squares| all | squares)
}

/// Diagonal, anti-diagonal, rank and file, each split into the squares below and above a square.
type Lines = [[u64; 2]; 4];

static LINES: [Lines; 64] = lines();

const fn lines() -> [Lines; 64] {
    // A step east, north-east, north or north-west leads to higher squares.
    const STEPS: [(i32, i32); 4] = [(1, 1), (-1, 1), (1, 0), (0, 1)];
    let mut lines = [[[0; 2]; 4]; 64];
    let mut square = 0;
    while square < 64 {
        let mut line = 0;
        while line < 4 {
            let mut above = 0;
            while above < 2 {
                let sign = if above == 1 { 1 } else { -1 };
                let (files, ranks) = (sign * STEPS[line].0, sign * STEPS[line].1);
                let (mut file, mut rank) = (square % 8 + files, square / 8 + ranks);
                while file >= 0 && file < 8 && rank >= 0 && rank < 8 {
                    lines[square as usize][line][above as usize] |= 1 << (8 * rank + file);
                    (file, rank) = (file + files, rank + ranks);
                }
                above += 1;
            }
            line += 1;
        }
        square += 1;
    }
    lines
}

/// A line up to the nearest occupied squares on both sides (obstruction difference; chessprogramming.org). Magic
/// bitboards' tables would evict the network from the cache.
#[inline(always)]
fn seen_along([below, above]: [u64; 2], occupied: u64) -> u64 {
    let nearest_below = (1 << 63) >> ((below & occupied) | 1).leading_zeros();
    let nearest_above = above & occupied & (above & occupied).wrapping_neg();
    nearest_above.wrapping_mul(2).wrapping_sub(nearest_below) & (below | above)
}

#[inline(always)]
pub(super) fn bishop(square: u8, occupied: u64) -> u64 {
    let [one, other, ..] = LINES[usize::from(square)];
    seen_along(one, occupied) | seen_along(other, occupied)
}

#[inline(always)]
pub(super) fn rook(square: u8, occupied: u64) -> u64 {
    let [.., rank, file] = LINES[usize::from(square)];
    seen_along(rank, occupied) | seen_along(file, occupied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::{Bitboard, Board, attacks};

    #[test]
    fn bishops_and_rooks_see_what_the_library_says() {
        let mut occupied = 0x0123_4567_89ab_cdef_u64;
        for _ in 0..200 {
            occupied = occupied.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            for square in Square::ALL {
                let sparse = occupied & occupied.rotate_left(29);
                for occupied in [0, u64::MAX, occupied, sparse] {
                    let (place, board) = (square as u8, Bitboard(occupied));
                    assert_eq!(bishop(place, occupied), attacks::bishop_attacks(square, board).0, "{square}");
                    assert_eq!(rook(place, occupied), attacks::rook_attacks(square, board).0, "{square}");
                }
            }
        }
    }

    #[test]
    fn attacks_are_those_of_every_piece_by_itself() {
        for number in 0..960 {
            let mut board = Board::chess960(number);
            let squares: Vec<Square> = board.occupied().into_iter().collect();
            for (index, square) in squares.into_iter().enumerate() {
                let target = Square::new((square as u32 * 5 + number * 7 + index as u32) % 64);
                if let (true, Some(piece)) =
                    (!board.occupied().contains(target), board.remove_piece_at(square))
                {
                    board.set_piece_at(target, piece);
                }
            }
            for (color, up) in [(Color::White, true), (Color::Black, false)] {
                let pieces = Role::ALL.map(|role| (board.by_role(role) & board.by_color(color)).0);
                let pawns = if up { pawns_up(pieces[PAWN]) } else { pawns_down(pieces[PAWN]) };
                let (all, slides) = attacks(&pieces, board.occupied().0, pawns);
                let of = |squares: Bitboard| {
                    squares.into_iter().fold(Bitboard(0), |all, square| all | board.attacks_from(square)).0
                };
                // `king` handles one king only.
                assert_eq!(all, of(board.by_color(color)), "{}", board.board_fen());
                assert_eq!(slides, of(board.by_color(color) & board.sliders()), "{}", board.board_fen());
            }
        }
    }

    #[test]
    fn files_are_mirrored() {
        for square in Square::ALL {
            assert_eq!(files_mirrored(1 << square as u8), 1 << (square as u8 ^ 7));
        }
    }
}
