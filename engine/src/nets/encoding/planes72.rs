//! `planes72/1`: 72 planes of 8 × 8, mover's view, after NeuralMatePlay.
//!
//! [`Planes72`] holds one bit mask per row, the form that training sends to its device; [`Planes72::write`] expands it
//! to the network's input.
//!
//! | planes | content |
//! |---|---|
//! | 0–11 | current board: own P N B R Q K, then the opponent's |
//! | 12–23, 24–35, 36–47 | the same one, two, three plies ago, from the current mover's view; zero without history |
//! | 48 | all ones |
//! | 49 | full-move number, min(n, 200)/200 |
//! | 50–53 | castling rights: own king side, own queen side, theirs, theirs (whole plane) |
//! | 54 | en-passant target square after any double push |
//! | 55 | half-move clock, min(n, 100)/100 |
//! | 56 | repetition: 0.5 at the second occurrence of the position, 1.0 from the third |
//! | 57 | in check (whole plane) |
//! | 58, 59 | squares attacked by the mover; by the opponent (pins ignored) |
//! | 60, 61 | own pieces that attack the enemy king's zone (king and neighbours); the own king's zone |
//! | 62, 63 | squares that own knights, own bishops can legally move to |
//! | 64, 65 | own passed pawns; own isolated pawns |
//! | 66 | squares of the own half that no own pawn attacks |
//! | 67 | centre: 1.0 on d4 e4 d5 e5, 0.5 on the rest of c3–f6, where attacked by the mover |
//! | 68 | own pieces pinned to the own king |
//! | 69 | own pieces but the king, attacked and not defended |
//! | 70 | own pieces that attack an enemy piece of higher value (P1 N3 B3 R5 Q9 K0) |
//! | 71 | own N B R Q with fewer than two legal moves |

use shakmaty::{Bitboard, Board, CastlingSide, Color, Move, Position, Role, Square, attacks};

use super::planes::{boards, castling, pieces, whole, write};
use crate::chess::position::Game;

pub const NAME: &str = "planes72/1";

pub const PLANES: usize = 72;

/// One row per plane, and a second one for [`CENTRE`].
pub const ROWS: usize = PLANES + 1;

/// Rows whose value depends on the position.
pub const SCALARS: usize = 3;

/// `scalars[i]` multiplies row `SCALAR_ROWS[i]`.
pub const SCALAR_ROWS: [usize; SCALARS] = [MOVE_NUMBER, HALFMOVE_CLOCK, REPETITION];

/// The sum of rows 67 and 72, each of value 0.5.
pub const CENTRE: usize = 67;

pub const INPUT_SIZE: usize = PLANES * 64;

/// Boards, the current one included.
pub const HISTORY: usize = 4;

const ONES: usize = 48;
const MOVE_NUMBER: usize = 49;
const CASTLING: usize = 50;
const EN_PASSANT: usize = 54;
const HALFMOVE_CLOCK: usize = 55;
const REPETITION: usize = 56;
const CHECK: usize = 57;
const ATTACKED: usize = 58;
const KING_ZONES: usize = 60;
const MINOR_TARGETS: usize = 62;
const PASSED: usize = 64;
const ISOLATED: usize = 65;
const WEAK_SQUARES: usize = 66;
const PINNED: usize = 68;
const HANGING: usize = 69;
const ATTACKS_HIGHER: usize = 70;
const IMMOBILE: usize = 71;
const CENTRE_CORE: usize = 72;

const CORE: Bitboard = Bitboard(0x0000_0018_1800_0000);
const WIDE_CENTRE: Bitboard = Bitboard(0x0000_3c3c_3c3c_0000);
const FILE_A: u64 = 0x0101_0101_0101_0101;

/// Row `r` is `value(r)` on the squares of `masks[r]`, else zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes72 {
    /// a1 = bit 0; all ones for a constant plane.
    pub masks: [u64; ROWS],
    /// Move number / 200, half-move clock / 100, repetition 0, 0.5 or 1.
    pub scalars: [f32; SCALARS],
}

impl Planes72 {
    pub fn value(&self, row: usize) -> f32 {
        match row {
            MOVE_NUMBER => self.scalars[0],
            HALFMOVE_CLOCK => self.scalars[1],
            REPETITION => self.scalars[2],
            _ => constant_value(row),
        }
    }

    /// Clears the repetition and all but the last `boards` earlier boards.
    pub fn forget(&mut self, boards: usize) {
        self.masks[12 * HISTORY.min(boards + 1)..12 * HISTORY].fill(0);
        self.scalars[2] = 0.0;
    }

    /// `[72, 8, 8]`, a1 first.
    pub fn write(&self, out: &mut [f32]) {
        assert_eq!(out.len(), INPUT_SIZE, "one input tensor");
        for (row, plane) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
            write(self.masks[row], self.value(row), plane);
        }
        let centre = &mut out[CENTRE * 64..][..64];
        for square in Bitboard(self.masks[CENTRE_CORE]) {
            centre[square as usize] += constant_value(CENTRE_CORE);
        }
    }
}

/// Value of a row outside [`SCALAR_ROWS`].
pub const fn constant_value(row: usize) -> f32 {
    if row == CENTRE || row == CENTRE_CORE { 0.5 } else { 1.0 }
}

pub fn encode(game: &Game) -> Planes72 {
    encode_given(game, &game.legal_moves())
}

pub fn encode_given(game: &Game, legal: &[Move]) -> Planes72 {
    let position = game.position();
    let us = position.turn();
    let mut masks = [0; ROWS];

    let history = masks[..12 * HISTORY].as_chunks_mut::<12>().0;
    for (masks, (board, _)) in history.iter_mut().zip(boards(game)) {
        pieces(board, us, masks);
    }
    masks[ONES] = u64::MAX;
    let castling = castling(game, [CastlingSide::KingSide, CastlingSide::QueenSide]);
    masks[CASTLING..][..4].copy_from_slice(&castling);
    masks[EN_PASSANT] = position.maybe_ep_square().map_or(0, |square| Bitboard::from(square).0);
    masks[CHECK] = whole(position.is_check());
    for row in [MOVE_NUMBER, HALFMOVE_CLOCK, REPETITION] {
        masks[row] = u64::MAX;
    }
    attack_features(position.board(), us, &mut masks);
    pawn_features(position.board(), us, &mut masks);
    mobility_features(position.board(), us, legal, &mut masks);
    masks[PINNED] = pinned(position.board(), us).0;

    if us.is_black() {
        for mask in &mut masks {
            *mask = mask.swap_bytes();
        }
    }
    let repetition = match game.repetitions() {
        0 => 0.0,
        1 => 0.5,
        _ => 1.0,
    };
    let scalars = [
        position.fullmoves().get().min(200) as f32 / 200.0,
        position.halfmoves().min(100) as f32 / 100.0,
        repetition,
    ];
    Planes72 { masks, scalars }
}

fn attack_features(board: &Board, us: Color, masks: &mut [u64; ROWS]) {
    let (own, theirs) = (board.by_color(us), board.by_color(!us));
    let zone = |color| {
        board.king_of(color).map_or(Bitboard(0), |king| attacks::king_attacks(king) | Bitboard::from(king))
    };
    let zones = [zone(!us), zone(us)];
    let targets = higher_valued(board, theirs);
    let mut attacked = Bitboard(0);
    let mut zone_attackers = [Bitboard(0); 2];
    let mut ambitious = Bitboard(0);
    for (square, role, reach) in reaches(board, own, us) {
        attacked |= reach;
        for (attackers, zone) in zone_attackers.iter_mut().zip(zones) {
            if (reach & zone).any() {
                attackers.add(square);
            }
        }
        if (reach & targets[role as usize - 1]).any() {
            ambitious.add(square);
        }
    }
    let attacked_by_them =
        reaches(board, theirs, !us).fold(Bitboard(0), |squares, (_, _, reach)| squares | reach);

    masks[ATTACKED] = attacked.0;
    masks[ATTACKED + 1] = attacked_by_them.0;
    masks[KING_ZONES] = zone_attackers[0].0;
    masks[KING_ZONES + 1] = zone_attackers[1].0;
    masks[CENTRE] = (attacked & WIDE_CENTRE).0;
    masks[CENTRE_CORE] = (attacked & CORE).0;
    masks[HANGING] = (own & !board.kings() & attacked_by_them & !attacked).0;
    masks[ATTACKS_HIGHER] = ambitious.0;
}

fn reaches(
    board: &Board,
    squares: Bitboard,
    color: Color,
) -> impl Iterator<Item = (Square, Role, Bitboard)> + '_ {
    let occupied = board.occupied();
    Role::ALL.into_iter().flat_map(move |role| {
        (board.by_role(role) & squares)
            .into_iter()
            .map(move |square| (square, role, attacks::attacks(square, role.of(color), occupied)))
    })
}

/// For attackers P N B R Q K: the pieces of `theirs` with a higher value.
fn higher_valued(board: &Board, theirs: Bitboard) -> [Bitboard; 6] {
    let minors = board.knights() | board.bishops();
    let above_minor = board.rooks_and_queens() & theirs;
    let above_pawn = above_minor | (minors & theirs);
    let queens = board.queens() & theirs;
    let any_but_king = theirs & !board.kings();
    [above_pawn, above_minor, above_minor, queens, Bitboard(0), any_but_king]
}

fn pawn_features(board: &Board, us: Color, masks: &mut [u64; ROWS]) {
    let own = (board.pawns() & board.by_color(us)).0;
    let theirs = (board.pawns() & board.by_color(!us)).0;
    // Mirrored for Black, so that own pawns advance upwards.
    let up = |mask: u64| if us.is_white() { mask } else { mask.swap_bytes() };
    let (own_up, theirs_up) = (up(own), up(theirs));

    let mut covered = theirs_up >> 8;
    covered |= covered >> 8;
    covered |= covered >> 16;
    covered |= covered >> 32;
    let blocked = covered | beside(covered);
    masks[PASSED] = up(own_up & !blocked);

    let files = (0..8).map(|file| FILE_A << file).filter(|file| own & file != 0).fold(0, |a, b| a | b);
    masks[ISOLATED] = own & !beside(files);

    let pawn_attacks = beside(own_up << 8);
    masks[WEAK_SQUARES] = up(0xffff_ffff & !pawn_attacks);
}

const fn beside(mask: u64) -> u64 {
    (mask & !FILE_A) >> 1 | (mask & !(FILE_A << 7)) << 1
}

fn mobility_features(board: &Board, us: Color, legal: &[Move], masks: &mut [u64; ROWS]) {
    let mut once = Bitboard(0);
    let mut twice = Bitboard(0);
    let mut minor_targets = [Bitboard(0); 2];
    for m in legal {
        if let Move::Normal { role, from, to, .. } = *m {
            match role {
                Role::Knight => minor_targets[0].add(to),
                Role::Bishop => minor_targets[1].add(to),
                _ => {}
            }
            twice |= once & Bitboard::from(from);
            once.add(from);
        }
    }
    let pieces = board.by_color(us) & !board.pawns() & !board.kings();
    masks[MINOR_TARGETS] = minor_targets[0].0;
    masks[MINOR_TARGETS + 1] = minor_targets[1].0;
    masks[IMMOBILE] = (pieces & !twice).0;
}

/// Pieces that stand alone between the king of `us` and an enemy slider.
fn pinned(board: &Board, us: Color) -> Bitboard {
    let Some(king) = board.king_of(us) else { return Bitboard(0) };
    let theirs = board.by_color(!us);
    let snipers = (attacks::rook_attacks(king, theirs) & board.rooks_and_queens()
        | attacks::bishop_attacks(king, theirs) & board.bishops_and_queens())
        & theirs;
    let mut pinned = Bitboard(0);
    for sniper in snipers {
        let between = attacks::between(king, sniper) & board.occupied();
        if between.any() && !between.more_than_one() {
            pinned |= between & board.by_color(us);
        }
    }
    pinned
}
