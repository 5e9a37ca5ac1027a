//! Butterfly history: how well moves did wherever they were made, by side, origin and target (Monty, after the history
//! heuristic of Schaeffer 1989). It changes the policy of positions that are expanded later, in the next searches of the
//! game too.

use std::sync::atomic::{AtomicI32, Ordering};

use shakmaty::Color;

use crate::chess::position::PackedMove;

/// The fixed-point representation of 1.
const ONE: f32 = (1 << 24) as f32;

/// The weight of a result's logit in the mean (Monty: 400/8140).
const RATE: f32 = 400.0 / 8140.0;

/// Results are taken to be at most so certain: P(win) + P(draw)/2 of 0.999.
const CERTAIN: f32 = 0.998;

/// One number for each side and pair of squares, −1 to 1.
pub(super) struct MoveHistory(Box<[AtomicI32]>);

impl MoveHistory {
    /// A history in which nothing has happened.
    pub fn new() -> MoveHistory {
        MoveHistory((0..2 * 64 * 64).map(|_| AtomicI32::new(0)).collect())
    }

    fn entry(&self, side: Color, packed: PackedMove) -> &AtomicI32 {
        // Promotions count as the move of the pawn.
        &self.0[usize::from(packed.0 & 0xfff) | (side as usize) << 12]
    }

    /// Adds a visit by this move with a result for the side that makes it, −1 to 1.
    pub fn add(&self, side: Color, packed: PackedMove, q: f32) {
        let gain = RATE * 2.0 * libm::atanhf(q.clamp(-CERTAIN, CERTAIN));
        let entry = self.entry(side, packed);
        let before = entry.load(Ordering::Relaxed) as f32 / ONE;
        let after = (before + gain - before * gain.abs()).clamp(-1.0, 1.0);
        // A visit of another worker may be lost between the two: it is a statistic.
        entry.store((after * ONE) as i32, Ordering::Relaxed);
    }

    /// How well the move did, −1 to 1.
    pub fn of(&self, side: Color, packed: PackedMove) -> f32 {
        self.entry(side, packed).load(Ordering::Relaxed) as f32 / ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_approaches_one_and_forgets() {
        let history = MoveHistory::new();
        let (e4, e5) = (PackedMove(12 | 28 << 6), PackedMove(12 | 36 << 6));
        // Q 0.5 has the logit ln 3.
        history.add(Color::White, e4, 0.5);
        let once = RATE * 3f32.ln();
        assert!((history.of(Color::White, e4) - once).abs() < 1e-6);
        history.add(Color::White, e4, 0.5);
        assert!((history.of(Color::White, e4) - (2.0 * once - once * once)).abs() < 1e-6);
        (0..1000).for_each(|_| history.add(Color::White, e4, 1.0));
        assert!((0.99..=1.0).contains(&history.of(Color::White, e4)));
        (0..1000).for_each(|_| history.add(Color::White, e4, -0.2));
        assert!(history.of(Color::White, e4) < -0.9);
        assert_eq!((history.of(Color::Black, e4), history.of(Color::White, e5)), (0.0, 0.0));
    }
}
