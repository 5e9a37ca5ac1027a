//! Static exchange evaluation (SEE).

use shakmaty::{Color, Square, attacks};

use super::view::{BISHOP, KING, KNIGHT, OWN, PAWN, QUEEN, ROOK, THEIRS, View, bishop, pawns_down, rook};

/// P N B R Q in centipawns; 0 for the king, which is never lost.
pub const VALUES: [i32; 6] = [100, 450, 450, 650, 1250, 0];

/// The first move of an exchange, with squares as seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    pub to: u8,
    /// The piece on the target after the move, 0 to 5.
    pub piece: usize,
    /// Value of the captured piece, plus the gain of a promotion.
    pub gain: i32,
    pub emptied: u64,
}

impl View {
    /// Whether the SEE of the move is at least 0: both sides capture on its target as long as that pays, the least
    /// valuable piece first (among equals, the lowest square). X-rays join in, pins are ignored, a king captures only
    /// undefended pieces, and recaptures do not promote.
    #[inline(always)]
    pub(super) fn keeps_material(&self, first: Capture) -> bool {
        let to = 1u64 << first.to;
        let reached = self.attacks[THEIRS] & to != 0 || self.their_slides & first.emptied != 0;
        if !reached || first.gain >= VALUES[first.piece] || first.piece == KING {
            return true;
        }
        let by_pawn = pawns_down(self.pieces[THEIRS][PAWN]) & to != 0;
        if by_pawn && first.gain + VALUES[PAWN] < VALUES[first.piece] {
            return false;
        }
        self.swap(first)
    }

    /// The swap algorithm (chessprogramming.org, "SEE - The Swap Algorithm") with a threshold of 0.
    #[inline(always)]
    fn swap(&self, first: Capture) -> bool {
        let square = Square::new(u32::from(first.to));
        let [own, theirs] = [self.sliders(OWN), self.sliders(THEIRS)];
        let [diagonal, straight] = [own[0] | theirs[0], own[1] | theirs[1]];
        let mut occupied = self.occupied & !first.emptied;
        let mut attackers = self.attackers(square, occupied, diagonal, straight);
        // The balance of the side that has just captured, if it now loses the capturing piece.
        let mut balance = first.gain - VALUES[first.piece];
        let mut side = THEIRS;
        loop {
            attackers &= occupied;
            let mine = attackers & self.by_side[side];
            if mine == 0 {
                break;
            }
            let pieces = &self.pieces[side];
            let piece = (PAWN..KING).find(|piece| mine & pieces[*piece] != 0).unwrap_or(KING);
            let candidates = mine & pieces[piece];
            occupied ^= candidates & candidates.wrapping_neg();
            if matches!(piece, PAWN | BISHOP | QUEEN) {
                attackers |= bishop(first.to, occupied) & diagonal;
            }
            if matches!(piece, ROOK | QUEEN) {
                attackers |= rook(first.to, occupied) & straight;
            }
            side ^= 1;
            balance = -balance - 1 - VALUES[piece];
            if balance >= 0 {
                if piece == KING && attackers & occupied & self.by_side[side] != 0 {
                    side ^= 1;
                }
                break;
            }
        }
        // `side` has no capture that pays, so it has lost the exchange.
        side != OWN
    }

    /// Of both sides.
    #[inline(always)]
    fn attackers(&self, square: Square, occupied: u64, diagonal: u64, straight: u64) -> u64 {
        let [own, theirs] = &self.pieces;
        // A black pawn on the square would attack exactly the white pawns that attack it.
        attacks::pawn_attacks(Color::Black, square).0 & own[PAWN]
            | attacks::pawn_attacks(Color::White, square).0 & theirs[PAWN]
            | attacks::knight_attacks(square).0 & (own[KNIGHT] | theirs[KNIGHT])
            | attacks::king_attacks(square).0 & (own[KING] | theirs[KING])
            | bishop(square as u8, occupied) & diagonal
            | rook(square as u8, occupied) & straight
    }
}
