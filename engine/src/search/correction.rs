//! Correction history: how far the evaluator was off in positions with the same pawns, and with the same material
//! (after the correction histories of Stockfish and Caissa, with means of visits in place of search results).
//!
//! A node's error is its mean result less the evaluator's value. It is learnt when the node chooses a move and its visits
//! are a power of two, which visits in a row may skip, and the mean error corrects the values of later leaves with the same pawns or material.

use std::sync::atomic::{AtomicI32, Ordering};

use shakmaty::{Board, Color, Position, Role};

use crate::chess::position::{Game, scrambled};
use crate::nets::eval::Wdl;

/// Entries for each side to move, by pawns and by material.
const PAWNS: usize = 1 << 14;
const MATERIAL: usize = 1 << 12;

/// The fixed-point representation of 1.
const ONE: f32 = (1 << 24) as f32;

/// A node is learnt from so many visits on.
const FROM_VISITS: u32 = 8;

/// The weight of a node's error in the mean is this times the logarithm to base 2 of its visits.
const RATE: f32 = 1.0 / 64.0;

/// Mean errors for the side to move, −2 to 2.
pub(super) struct Corrections {
    pawns: Box<[AtomicI32]>,
    material: Box<[AtomicI32]>,
}

impl Corrections {
    /// No error is known.
    pub fn new() -> Corrections {
        let table = |entries| (0..2 * entries).map(|_| AtomicI32::new(0)).collect();
        Corrections { pawns: table(PAWNS), material: table(MATERIAL) }
    }

    fn entries(&self, game: &Game) -> [&AtomicI32; 2] {
        let (board, turn) = (game.position().board(), game.turn() as usize);
        let pawns = scrambled(u64::from(board.pawns() & board.white()) ^ scrambled(board.pawns().into()));
        let material = scrambled(material(board));
        [
            &self.pawns[turn * PAWNS + pawns as usize % PAWNS],
            &self.material[turn * MATERIAL + material as usize % MATERIAL],
        ]
    }

    /// Whether a node with so many visits is learnt now.
    #[inline]
    pub fn is_due(visits: u32) -> bool {
        visits >= FROM_VISITS && visits.is_power_of_two()
    }

    /// Learns the error of a node with so many visits, for the side to move at `game`.
    pub fn learn(&self, game: &Game, visits: u32, error: f32) {
        for entry in self.entries(game) {
            let mean = entry.load(Ordering::Relaxed) as f32 / ONE;
            let rate = (RATE * visits.ilog2() as f32).min(1.0);
            // What another worker learns between the two may be lost: it is a statistic.
            entry.store(((mean + rate * (error - mean)) * ONE) as i32, Ordering::Relaxed);
        }
    }

    /// An evaluator's value, corrected by `weight` times the mean of the two errors.
    pub fn correct(&self, game: &Game, wdl: Wdl, weight: f32) -> Wdl {
        let errors = self.entries(game).map(|entry| entry.load(Ordering::Relaxed) as f32 / ONE);
        // Win and loss change by half of it each.
        let shift = (weight * (errors[0] + errors[1]) / 4.0).clamp(-wdl.win, wdl.loss);
        Wdl { win: wdl.win + shift, loss: wdl.loss - shift, ..wdl }
    }
}

/// The numbers of men of each kind, four bits each.
fn material(board: &Board) -> u64 {
    let mut counts = 0;
    for side in Color::ALL {
        for role in [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen] {
            counts = counts << 4 | (board.by_role(role) & board.by_color(side)).count() as u64;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const WDL: Wdl = Wdl { win: 0.4, draw: 0.2, loss: 0.4 };

    #[test]
    fn errors_of_the_same_pawns_and_of_the_same_material_correct() {
        let game = |fen: &str| Game::from_fen(fen).unwrap();
        let corrections = Corrections::new();
        let root = game("4k3/pp6/8/8/8/8/PP6/R3K3 w - - 0 1");
        let q = |fen: &str| corrections.correct(&game(fen), WDL, 1.0).q();
        (0..200).for_each(|_| corrections.learn(&root, 16, 0.3));
        // Both tables know it.
        assert!((q("4k3/pp6/8/8/8/8/PP6/R3K3 w - - 9 30") - 0.3).abs() < 1e-3);
        // Other pawns, the same material; the same pawns, other material: one of two.
        assert!((q("4k3/p1p5/8/8/8/8/PP6/R3K3 w - - 0 1") - 0.15).abs() < 1e-3);
        assert!((q("4k3/pp6/8/8/8/8/PP6/N3K3 w - - 0 1") - 0.15).abs() < 1e-3);
        assert_eq!(q("4k3/pp6/8/8/8/8/PP6/R3K3 b - - 0 1"), 0.0, "the other side to move");
        let weighted = corrections.correct(&root, WDL, 0.5);
        assert!((weighted.q() - 0.15).abs() < 1e-3 && (weighted.win - 0.475).abs() < 1e-3);
        assert_eq!(weighted.draw, WDL.draw);
        assert_eq!(corrections.correct(&root, Wdl::WIN, 1.0), Wdl::WIN, "more than a win there is not");
    }

    #[test]
    fn one_error_weighs_by_its_visits() {
        let (game, corrections) = (Game::new(), Corrections::new());
        corrections.learn(&game, 256, 0.8);
        assert!((corrections.correct(&game, WDL, 1.0).q() - 0.8 * 8.0 / 64.0).abs() < 1e-4);
        assert_eq!([4, 8, 12, 64].map(Corrections::is_due), [false, true, false, true]);
    }
}
