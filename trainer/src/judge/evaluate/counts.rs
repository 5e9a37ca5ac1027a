use engine::nets::eval::Wdl;
use shakmaty::Move;

use super::judged_network::Prediction;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccuracyCounts {
    pub positions: usize,
    pub decided: usize,
    top1: usize,
    top5: usize,
    policy_loss: f64,
    entropy: f64,
    wdl_loss: f64,
    with_wdl: usize,
    /// Positions ranked among all outputs: all, with the right move first, with it in the first five.
    raw: [usize; 3],
    /// Sums of outcomes. For game results: positions won, drawn and lost by the side to move.
    outcomes: [f64; 3],
}

impl AccuracyCounts {
    /// `outcome` is WDL for the side to move.
    pub fn add(&mut self, prediction: &Prediction, right: Move, outcome: Option<[f32; 3]>) {
        let prior = prediction.policy.iter().find(|(m, _)| *m == right).map_or(0.0, |(_, prior)| *prior);
        // In ties the right move ranks last.
        let rank = prediction.policy.iter().filter(|(_, other)| *other >= prior).count();
        self.positions += 1;
        self.top1 += usize::from(rank <= 1);
        self.top5 += usize::from(rank <= 5);
        self.policy_loss += nats(prior);
        let entropy = |prior: f32| f64::from(prior) * nats(prior);
        self.entropy += prediction.policy.iter().map(|(_, prior)| entropy(*prior)).sum::<f64>();
        if let Some(outcome) = outcome.map(|outcome| outcome.map(f64::from)) {
            self.decided += 1;
            self.outcomes = sum(self.outcomes, outcome);
            if prediction.has_value {
                let Wdl { win, draw, loss } = prediction.wdl;
                self.with_wdl += 1;
                let losses = [win, draw, loss].map(nats);
                self.wdl_loss += outcome.iter().zip(losses).map(|(share, loss)| share * loss).sum::<f64>();
            }
        }
    }

    /// `rank` is among all outputs, from 1, last in ties; 0 for a NaN logit.
    pub fn add_raw(&mut self, rank: usize) {
        self.raw[0] += 1;
        self.raw[1] += usize::from(rank == 1);
        self.raw[2] += usize::from((1..=5).contains(&rank));
    }

    pub fn merged(self, other: &AccuracyCounts) -> AccuracyCounts {
        AccuracyCounts {
            positions: self.positions + other.positions,
            decided: self.decided + other.decided,
            top1: self.top1 + other.top1,
            top5: self.top5 + other.top5,
            policy_loss: self.policy_loss + other.policy_loss,
            entropy: self.entropy + other.entropy,
            wdl_loss: self.wdl_loss + other.wdl_loss,
            with_wdl: self.with_wdl + other.with_wdl,
            raw: std::array::from_fn(|i| self.raw[i] + other.raw[i]),
            outcomes: sum(self.outcomes, other.outcomes),
        }
    }

    /// Top-1 and top-5 accuracy, mean policy and WDL loss in nats.
    pub fn measures(&self) -> [Option<f64>; 4] {
        let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
        [
            mean(self.top1 as f64, self.positions),
            mean(self.top5 as f64, self.positions),
            mean(self.policy_loss, self.positions),
            mean(self.wdl_loss, self.with_wdl),
        ]
    }

    /// Mean policy entropy over legal moves, in nats.
    pub fn entropy(&self) -> Option<f64> {
        (self.positions > 0).then(|| self.entropy / self.positions as f64)
    }

    /// Top-1 and top-5 accuracy among all outputs.
    pub fn raw(&self) -> [Option<f64>; 2] {
        let [positions, first, five] = self.raw;
        [first, five].map(|count| (positions > 0).then(|| count as f64 / positions as f64))
    }

    /// WDL loss of always predicting the base rates: the entropy of the mean outcome.
    pub fn base_loss(&self) -> Option<f64> {
        let total = self.decided as f64;
        let entropy = |sum: &f64| if *sum > 0.0 { -(sum / total) * (sum / total).ln() } else { 0.0 };
        (self.decided > 0).then(|| self.outcomes.iter().map(entropy).sum())
    }
}

fn sum(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + b[i])
}

/// Cross-entropy in nats.
pub fn nats(probability: f32) -> f64 {
    -f64::from(probability.max(1e-9)).ln()
}
