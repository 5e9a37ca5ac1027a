//! Draws by the game's history: repetition and the fifty-move rule.

use shakmaty::{Chess, Color, Move, Position};

use super::numbers::MOST_MOVES;
use crate::chess::position::{Game, scrambled};

/// Positions that the attacker must not repeat: those that occurred twice in the game.
///
/// Other repetitions need no care: some mating line gets shorter with every move of the attacker, so it visits no
/// position twice.
pub(super) struct HistoryDraws {
    /// By hash.
    repeated: Vec<u64>,
    /// The fifty-move rule can end the game before the mate; keys then include its counter.
    counter: bool,
    /// Separates the keys of searches with different histories or attackers.
    salt: u64,
}

impl HistoryDraws {
    pub fn new() -> HistoryDraws {
        HistoryDraws { repeated: Vec::with_capacity(101), counter: false, salt: 0 }
    }

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

    /// `hash` is that after the move, `position` that before it.
    pub fn key_after(&self, hash: u64, position: &Chess, m: Move) -> u64 {
        self.keyed(hash, if m.is_zeroing() { 0 } else { position.halfmoves() + 1 })
    }

    /// Whether the position occurs for the third time. It cannot be mate: the game would have ended before.
    pub fn repeats(&self, hash: u64) -> bool {
        self.repeated.contains(&hash)
    }

    pub fn fifty_moves(&self, position: &Chess) -> bool {
        self.counter && position.halfmoves() >= 100
    }

    fn keyed(&self, hash: u64, halfmoves: u32) -> u64 {
        let key = hash ^ self.salt;
        if self.counter { key ^ scrambled(u64::from(halfmoves) + 1) } else { key }
    }
}
