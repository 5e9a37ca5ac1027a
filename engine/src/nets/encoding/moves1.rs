//! `moves/1`: two table rows per legal move. Their sum times the position's hidden vector is the move's logit. Squares
//! are in the mover's view and mirrored by the own king, as in [`sparse1`](super::sparse1).
//!
//! - Row A is `2·t + exchange`, where `t` numbers the triples (piece, from, to): P N B R Q K, then origins, then
//!   targets, ascending, as far as geometry allows (pawns from ranks 2 to 6: one step, two from rank 2, captures;
//!   kings from files e to h, one step). Promotions to N, B, R, Q follow in the same order (pawns on rank 7), then
//!   castling by the king's target b1, c1, f1, g1 (b1 and f1 where files are mirrored).
//! - Row B is `8·k + exchange + 2·check + 4·capture`, where `k` is `64·piece + to`, or `384 + 8·promoted + file` for
//!   promotions to N, B, R, Q = 0 to 3. Castling is the king's move to its target.
//! - `exchange`: static exchange evaluation on the target is at least 0, with [`VALUES`]. `check`: the move gives
//!   check. `capture`: en passant included.

use shakmaty::{CastlingSide, Color, Move, Role, Square, attacks};

use super::static_exchange::{Capture, VALUES};
use super::view::{BISHOP, KING, KNIGHT, NAMES, OWN, PAWN, QUEEN, ROOK, THEIRS, View, bishop, rook, squares};
use crate::chess::position::Game;

pub const NAME: &str = "moves/1";

pub const ROWS_A: usize = 2 * TRIPLES;
pub const ROWS_B: usize = 8 * (6 * 64 + 4 * 8);

const TRIPLES: usize = CASTLING + 4;
const CASTLING: usize = PROMOTIONS + 4 * PROMOTIONS_EACH;
const PROMOTIONS: usize = TABLE.1 as usize;
/// Pawn moves from rank 7 to rank 8, per promoted piece.
const PROMOTIONS_EACH: usize = 22;
/// As seen: b1 and f1 if files are mirrored.
const CASTLING_TARGETS: [usize; 4] = [1, 2, 5, 6];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    pub a: u16,
    pub b: u16,
}

const IMPOSSIBLE: u16 = u16::MAX;

type Table = [[[u16; 64]; 64]; 6];

/// The number `t` of each (piece, from, to), and their count.
const TABLE: (Table, u16) = table();
static TRIPLE: Table = TABLE.0;

const fn table() -> (Table, u16) {
    let mut table = [[[IMPOSSIBLE; 64]; 64]; 6];
    let mut next = 0;
    let mut piece = PAWN;
    while piece <= KING {
        let mut from = 0;
        while from < 64 {
            let mut to = 0;
            while to < 64 {
                if possible(piece, from, to) {
                    table[piece][from as usize][to as usize] = next;
                    next += 1;
                }
                to += 1;
            }
            from += 1;
        }
        piece += 1;
    }
    (table, next)
}

const fn possible(piece: usize, from: i32, to: i32) -> bool {
    let (files, ranks) = (to % 8 - from % 8, to / 8 - from / 8);
    let (wide, high) = (files.abs(), ranks.abs());
    let straight = (wide == 0) != (high == 0);
    let diagonal = wide == high && wide != 0;
    match piece {
        PAWN => {
            let from_rank = from / 8;
            (from_rank >= 1 && from_rank <= 5 && ranks == 1 && wide <= 1)
                || (from_rank == 1 && ranks == 2 && wide == 0)
        }
        KNIGHT => wide * high == 2,
        BISHOP => diagonal,
        ROOK => straight,
        QUEEN => straight || diagonal,
        _ => from % 8 >= 4 && wide <= 1 && high <= 1 && from != to,
    }
}

#[inline(always)]
pub fn rows(view: &View, moves: &[Move], out: &mut [Rows]) {
    assert_eq!(moves.len(), out.len(), "rows for each move");
    let checks = Checks::of(view);
    for (m, out) in moves.iter().zip(out) {
        *out = checks.rows(*m);
    }
}

pub fn find(game: &Game, wanted: Rows) -> Option<Move> {
    let view = View::of(game);
    let checks = Checks::of(&view);
    game.legal_moves().into_iter().find(|m| checks.rows(*m) == wanted)
}

impl Rows {
    /// Squares are as seen.
    pub fn meanings(self) -> [String; 2] {
        let exchange = |row: u16| if row & 1 != 0 { ", exchange at least 0" } else { ", exchange below 0" };
        let b = usize::from(self.b);
        let check = if b & 2 != 0 { ", check" } else { "" };
        let capture = if b & 4 != 0 { ", capture" } else { "" };
        [
            format!("{}{}", triple_meaning(usize::from(self.a) / 2), exchange(self.a)),
            format!("{}{}{check}{capture}", target_meaning(b / 8), exchange(self.b)),
        ]
    }
}

fn triple_meaning(triple: usize) -> String {
    if let Some(kind) = triple.checked_sub(CASTLING) {
        return format!("castling, king to {}", named(CASTLING_TARGETS[kind]));
    }
    if let Some(index) = triple.checked_sub(PROMOTIONS) {
        let promoted = index / PROMOTIONS_EACH;
        let files = (0..64).map(|files| (files / 8, files % 8));
        let (from, to) = files
            .filter(|(from, to): &(usize, usize)| from.abs_diff(*to) <= 1)
            .find(|(from, to)| promotion_triple(promoted, *from, *to) == triple)
            .expect("each promotion has its files");
        return format!("pawn {} to {}", named(48 + from), promotion_meaning(promoted, to));
    }
    let (piece, from, to) = (0..6 * 64 * 64)
        .map(|index| (index / (64 * 64), index / 64 % 64, index % 64))
        .find(|(piece, from, to)| usize::from(TRIPLE[*piece][*from][*to]) == triple)
        .expect("each triple has its place in the table");
    format!("{} {} to {}", NAMES[piece], named(from), named(to))
}

fn target_meaning(target: usize) -> String {
    match target.checked_sub(6 * 64) {
        Some(promotion) => format!("pawn to {}", promotion_meaning(promotion / 8, promotion % 8)),
        None => format!("{} to {}", NAMES[target / 64], named(target % 64)),
    }
}

fn promotion_meaning(promoted: usize, file: usize) -> String {
    format!("{}, promoted to {}", named(56 + file), NAMES[KNIGHT + promoted])
}

fn named(square: usize) -> Square {
    Square::new(square as u32)
}

struct Checks<'a> {
    view: &'a View,
    king: Square,
    /// Targets from which each piece type gives check directly.
    targets: [u64; 6],
    /// Own pieces that give a discovered check by leaving their line.
    uncovering: u64,
}

impl Checks<'_> {
    #[inline(always)]
    fn of(view: &View) -> Checks<'_> {
        let king = Square::new(view.pieces[THEIRS][KING].trailing_zeros());
        let place = king as u8;
        let (diagonal, straight) = (bishop(place, view.occupied), rook(place, view.occupied));
        let targets = [
            attacks::pawn_attacks(Color::Black, king).0,
            attacks::knight_attacks(king).0,
            diagonal,
            straight,
            diagonal | straight,
            0,
        ];
        // Removing the own pieces nearest to the king reveals the sliders behind them.
        let near = (diagonal | straight) & view.by_side[OWN];
        let without = view.occupied & !near;
        let [bishops, rooks] = view.sliders(OWN);
        let mut behind = 0;
        if near != 0 {
            behind = bishop(place, without) & bishops & !diagonal | rook(place, without) & rooks & !straight;
        }
        let mut uncovering = 0;
        while behind != 0 {
            let slider = Square::new(behind.trailing_zeros());
            uncovering |= attacks::between(king, slider).0 & near;
            behind &= behind - 1;
        }
        Checks { view, king, targets, uncovering }
    }

    #[inline(always)]
    fn rows(&self, m: Move) -> Rows {
        match m {
            Move::Normal { role, from, capture, to, promotion: None } => {
                let piece = role as usize - 1;
                let (from, to) = (self.view.square(from), self.view.square(to));
                let gain = capture.map_or(0, |role| VALUES[role as usize - 1]);
                let emptied = 1 << from;
                let exchange = self.view.keeps_material(Capture { to, piece, gain, emptied });
                let check = self.targets[piece] >> to & 1 != 0 || self.uncovers(from, to);
                let triple = TRIPLE[piece][usize::from(from)][usize::from(to)];
                debug_assert_ne!(triple, IMPOSSIBLE, "{m:?}");
                together(triple.into(), 64 * piece + usize::from(to), exchange, check, capture.is_some())
            }
            Move::Normal { from, capture, to, promotion: Some(role), .. } => {
                self.promotion(self.view.square(from), capture, self.view.square(to), role as usize - 1)
            }
            Move::EnPassant { from, to } => self.en_passant(self.view.square(from), self.view.square(to)),
            Move::Castle { king, rook } => self.castling(m, CastlingSide::from_king_side(rook > king)),
            Move::Put { .. } => unreachable!("nothing is dropped in chess"),
        }
    }

    /// Whether the piece leaves the line on which it blocks a check.
    #[inline]
    fn uncovers(&self, from: u8, to: u8) -> bool {
        self.uncovering >> from & 1 != 0
            && !attacks::aligned(self.king, Square::new(from.into()), Square::new(to.into()))
    }

    fn promotion(&self, from: u8, capture: Option<Role>, to: u8, piece: usize) -> Rows {
        let gain = capture.map_or(0, |role| VALUES[role as usize - 1]) + VALUES[piece] - VALUES[PAWN];
        let emptied = 1 << from;
        let exchange = self.view.keeps_material(Capture { to, piece, gain, emptied });
        let occupied = self.view.occupied & !emptied;
        let seen = match piece {
            KNIGHT => attacks::knight_attacks(Square::new(to.into())).0,
            BISHOP => bishop(to, occupied),
            ROOK => rook(to, occupied),
            _ => bishop(to, occupied) | rook(to, occupied),
        };
        let check = seen & self.view.pieces[THEIRS][KING] != 0 || self.uncovers(from, to);
        let promoted = piece - KNIGHT;
        let (from_file, to_file) = (usize::from(from & 7), usize::from(to & 7));
        let triple = promotion_triple(promoted, from_file, to_file);
        together(triple, 6 * 64 + 8 * promoted + to_file, exchange, check, capture.is_some())
    }

    fn en_passant(&self, from: u8, to: u8) -> Rows {
        let emptied = 1 << from | 1 << (to - 8);
        let capture = Capture { to, piece: PAWN, gain: VALUES[PAWN], emptied };
        let exchange = self.view.keeps_material(capture);
        let occupied = self.view.occupied & !emptied | 1 << to;
        let check = self.targets[PAWN] >> to & 1 != 0 || self.slides(occupied);
        let triple = TRIPLE[PAWN][usize::from(from)][usize::from(to)];
        together(triple.into(), usize::from(to), exchange, check, true)
    }

    fn castling(&self, m: Move, side: CastlingSide) -> Rows {
        let view = self.view;
        let (king, to) = squares(m);
        let rook_from = m.to();
        let lands = Square::from_coords(side.rook_to_file(), king.rank());
        let bit = |square: Square| 1u64 << view.square(square);
        let occupied = view.occupied & !bit(king) & !bit(rook_from) | bit(to) | bit(lands);
        let check = rook(view.square(lands), occupied) & view.pieces[THEIRS][KING] != 0;
        let to = usize::from(view.square(to));
        let kind = CASTLING_TARGETS.iter().position(|target| *target == to).unwrap_or(3);
        together(CASTLING + kind, 64 * KING + to, true, check, false)
    }

    fn slides(&self, occupied: u64) -> bool {
        let [bishops, rooks] = self.view.sliders(OWN);
        let king = self.king as u8;
        bishop(king, occupied) & bishops != 0 || rook(king, occupied) & rooks != 0
    }
}

#[inline]
fn promotion_triple(promoted: usize, from_file: usize, to_file: usize) -> usize {
    PROMOTIONS + PROMOTIONS_EACH * promoted + 2 * from_file + to_file
}

#[inline]
fn together(triple: usize, target: usize, exchange: bool, check: bool, capture: bool) -> Rows {
    let exchange = u16::from(exchange);
    Rows {
        a: 2 * triple as u16 + exchange,
        b: 8 * target as u16 + exchange + 2 * u16::from(check) + 4 * u16::from(capture),
    }
}
