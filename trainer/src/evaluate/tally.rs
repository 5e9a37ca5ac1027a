//! What a network knows of moves and results, summed up.

use engine::eval::Wdl;
use shakmaty::Move;

use super::player::Opinion;

/// What is measured of one player on some positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Positions counted.
    pub positions: usize,
    /// Positions whose game has a known result.
    pub decided: usize,
    // Sums.
    top1: usize,
    top5: usize,
    policy_loss: f64,
    wdl_loss: f64,
    /// How many of the decided positions it told win, draw and loss of.
    valued: usize,
    /// Positions asked about with all outputs, and how often the move played was the first, among the first five.
    raw: [usize; 3],
    /// Positions whose mover went on to win, to draw, to lose.
    results: [usize; 3],
}

impl Tally {
    /// Counts an opinion: the move played, and what came of it for the mover, 0 a win, 1 a draw, 2 a loss.
    pub fn add(&mut self, opinion: &Opinion, played: Move, result: Option<usize>) {
        let share = opinion.policy.iter().find(|(m, _)| *m == played).map_or(0.0, |(_, share)| *share);
        // A tie counts against the network.
        let rank = opinion.policy.iter().filter(|(_, other)| *other >= share).count();
        self.positions += 1;
        self.top1 += usize::from(rank <= 1);
        self.top5 += usize::from(rank <= 5);
        self.policy_loss += cost(share);
        if let Some(result) = result {
            self.decided += 1;
            self.results[result] += 1;
            if opinion.valued {
                let Wdl { win, draw, loss } = opinion.wdl;
                self.valued += 1;
                self.wdl_loss += cost([win, draw, loss][result]);
            }
        }
    }

    /// Counts where the move played stands among all outputs of a network, legal or not: from 1, ties before it; 0 is
    /// nowhere.
    pub fn add_raw(&mut self, rank: usize) {
        self.raw[0] += 1;
        self.raw[1] += usize::from(rank == 1);
        self.raw[2] += usize::from((1..=5).contains(&rank));
    }

    /// The tally of these positions and the other's.
    pub fn merged(self, other: &Tally) -> Tally {
        let sum = |i: usize| self.results[i] + other.results[i];
        Tally {
            positions: self.positions + other.positions,
            decided: self.decided + other.decided,
            top1: self.top1 + other.top1,
            top5: self.top5 + other.top5,
            policy_loss: self.policy_loss + other.policy_loss,
            wdl_loss: self.wdl_loss + other.wdl_loss,
            valued: self.valued + other.valued,
            raw: std::array::from_fn(|i| self.raw[i] + other.raw[i]),
            results: [sum(0), sum(1), sum(2)],
        }
    }

    /// Top-1 and top-5 shares, mean losses in nats; no WDL loss of a network without a value.
    pub fn measures(&self) -> [Option<f64>; 4] {
        let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
        [
            mean(self.top1 as f64, self.positions),
            mean(self.top5 as f64, self.positions),
            mean(self.policy_loss, self.positions),
            mean(self.wdl_loss, self.valued),
        ]
    }

    /// Top-1 and top-5 shares among all outputs, if these were asked for.
    pub fn raw(&self) -> [Option<f64>; 2] {
        let [positions, first, five] = self.raw;
        [first, five].map(|count| (positions > 0).then(|| count as f64 / positions as f64))
    }

    /// The WDL loss of answering always how often these positions were won, drawn and lost.
    pub fn base_loss(&self) -> Option<f64> {
        let total = self.decided as f64;
        let entropy = |count: &usize| match *count {
            0 => 0.0,
            count => -(count as f64 / total) * (count as f64 / total).ln(),
        };
        (self.decided > 0).then(|| self.results.iter().map(entropy).sum())
    }
}

/// Nats that an outcome costs who gave it this probability.
pub fn cost(probability: f32) -> f64 {
    -f64::from(probability.max(1e-9)).ln()
}
