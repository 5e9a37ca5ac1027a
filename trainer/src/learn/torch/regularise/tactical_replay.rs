//! Tactical replay (NeuralMatePlay): repeats captures, checks and promotions that had a high policy loss.

use crate::config::TacticalReplay;
use crate::data::loader::{Batch, Origin};
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HardPositions(Vec<Origin>);

impl HardPositions {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn draw(&self, count: usize, seed: u64) -> Vec<Origin> {
        Rng::with_seed(seed).choose_multiple(self.0.iter().copied(), count)
    }

    /// The last `shown` samples of `batch` came from the buffer. They leave if their policy loss (nats) is below the
    /// threshold. New tactical positions at or above it enter; beyond the capacity the oldest are dropped.
    pub fn update(&mut self, batch: &Batch, shown: usize, losses: &[f32], config: &TacticalReplay) {
        let is_hard = |row: usize| f64::from(losses[row]) >= config.threshold;
        let fresh = batch.size - shown;
        let learnt: HashSet<Origin> =
            (fresh..batch.size).filter(|&row| !is_hard(row)).map(|row| batch.origin(row)).collect();
        self.0.retain(|origin| !learnt.contains(origin));
        self.0.extend(
            (0..fresh).filter(|&row| batch.tactical[row] && is_hard(row)).map(|row| batch.origin(row)),
        );
        let surplus = self.0.len().saturating_sub(config.capacity);
        self.0.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(draw: u64) -> Origin {
        Origin(1, draw)
    }

    fn batch(draws: &[u64], tactical: bool) -> Batch {
        Batch {
            size: draws.len(),
            source: vec![1; draws.len()],
            draw: draws.to_vec(),
            tactical: vec![tactical; draws.len()],
            ..Batch::default()
        }
    }

    #[test]
    fn hard_tactical_positions_are_kept_until_they_are_learnt_or_displaced() {
        let config = TacticalReplay { share: 0.5, capacity: 3, threshold: 2.0 };
        let mut hard = HardPositions::default();
        hard.update(&batch(&[1, 2, 3], true), 0, &[2.5, 1.0, 2.0], &config);
        hard.update(&batch(&[4], false), 0, &[9.0], &config);
        assert_eq!(hard.0, [1, 3].map(origin), "hard and tactical");
        hard.update(&batch(&[5, 1, 3], true), 2, &[3.0, 1.9, 2.1], &config);
        assert_eq!(hard.0, [3, 5].map(origin), "what was learnt goes, what is still hard stays once");
        hard.update(&batch(&[6, 7], true), 0, &[3.0, 3.0], &config);
        assert_eq!(hard.0, [5, 6, 7].map(origin), "the oldest goes");
    }

    #[test]
    fn draws_are_distinct_and_repeat_with_their_seed() {
        let hard = HardPositions((0..10).map(origin).collect());
        let drawn = hard.draw(4, 7);
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 4);
        assert_eq!(hard.draw(4, 7), drawn);
        assert_ne!(hard.draw(4, 8), drawn);
        assert_eq!(hard.draw(20, 7).len(), 10, "no more than there are");
    }
}
