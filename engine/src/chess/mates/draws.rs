//! Draws by the history of the game: repetition and fifty moves.

use shakmaty::{Chess, Color, Move, Position};

use super::numbers::MOST_MOVES;
use crate::chess::position::{Game, scrambled};

/// Positions of the game so far that the attacker must not repeat.
///
/// A position is drawn if it has occurred twice before: it would be the third time. A position that has occurred once,
/// or occurs twice on a path of the search, needs no care. Where there is a mate, there is one whose distance
/// falls with each move of the attacker, and that visits no position twice.
pub(super) struct HistoryDraws {
    /// Hashes of the positions that are drawn when they occur again.
    repeated: Vec<u64>,
    /// Whether fifty moves can end before the mate. The counter is then a part of the key.
    counter: bool,
    /// Separates the keys of searches whose results differ.
    salt: u64,
}

impl HistoryDraws {
    pub fn new() -> HistoryDraws {
        // A hundred plies since the last capture or pawn move.
        HistoryDraws { repeated: Vec::with_capacity(101), counter: false, salt: 0 }
    }

    /// Prepares for a search from the end of `game` for mates by `attacker` within `moves` moves.
    pub fn begin(&mut self, game: &Game, attacker: Color, moves: u8) {
        let clock = game.position().halfmoves();
        self.counter = clock + 2 * u32::from(moves.min(MOST_MOVES)) > 100;
        self.repeated.clear();
        let reversible = game.past().iter().rev().take(clock.min(100) as usize);
        self.repeated.extend(reversible.filter(|past| past.repetitions > 0).map(|past| past.hash()));
        if game.repetitions() > 0 {
            self.repeated.push(game.hash());
        }
        self.repeated.sort_unstable();
        self.repeated.dedup();
        let side = scrambled(attacker as u64 + 1);
        self.salt = self.repeated.iter().fold(side, |salt, &hash| salt.wrapping_add(scrambled(hash)));
    }

    pub fn key(&self, hash: u64, position: &Chess) -> u64 {
        self.keyed(hash, position.halfmoves())
    }

    /// The key of the position after a move: `hash` is its own, `position` the one before.
    pub fn key_after(&self, hash: u64, position: &Chess, m: Move) -> u64 {
        self.keyed(hash, if m.is_zeroing() { 0 } else { position.halfmoves() + 1 })
    }

    /// Whether a position, not mate, is the third of its kind.
    pub fn repeats(&self, hash: u64) -> bool {
        // Nearly always there is none.
        self.repeated.contains(&hash)
    }

    /// Whether a position, not mate, is drawn by the fifty-move rule.
    pub fn fifty_moves(&self, position: &Chess) -> bool {
        self.counter && position.halfmoves() >= 100
    }

    fn keyed(&self, hash: u64, halfmoves: u32) -> u64 {
        let key = hash ^ self.salt;
        if self.counter { key ^ scrambled(u64::from(halfmoves) + 1) } else { key }
    }
}
