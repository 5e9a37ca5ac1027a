//! Calibration of the WDL output against results.

use tch::{Device, Kind, Tensor};

use crate::learn::run::metrics::{BINS, Calibration, diagram};

const COUNT: i64 = BINS as i64;

pub struct CalibrationCounts {
    /// `[4, COUNT, 3]`: samples, sum of predictions and sum of outcomes per bin of score, win, draw and loss.
    sums: Tensor,
}

impl CalibrationCounts {
    pub fn new(device: Device) -> CalibrationCounts {
        CalibrationCounts { sums: Tensor::zeros([4, COUNT, 3], (Kind::Float, device)) }
    }

    /// Adds WDL predictions and outcomes `[n, 3]`. An unknown outcome is all zero and does not count.
    pub fn add(&mut self, predicted: &Tensor, outcome: &Tensor) {
        let known = outcome.sum_dim_intlist([1i64].as_slice(), true, Kind::Float).unsqueeze(2);
        let [predicted, outcome] = [predicted, outcome].map(with_score);
        let bins = (&predicted * COUNT as f64).nan_to_num(0.0, 0.0, 0.0).floor().clamp(0, COUNT - 1);
        let owner = bins.to_kind(Kind::Int64).one_hot(COUNT).to_kind(Kind::Float);
        let sample = Tensor::stack(&[predicted.ones_like(), predicted, outcome], 2) * known;
        // [4, COUNT, n] times [4, n, 3].
        _ = self.sums.g_add_(&owner.permute([1, 2, 0]).bmm(&sample.permute([1, 0, 2])));
    }

    /// Synchronises with the device.
    pub fn calibration(&self) -> Calibration {
        let diagram = |quantity: i64| {
            let sums = self.sums.get(quantity).reshape([-1]).to_kind(Kind::Double);
            diagram(&Vec::<f64>::try_from(sums).expect("three numbers a bin"))
        };
        Calibration { score: diagram(0), win: diagram(1), draw: diagram(2), loss: diagram(3) }
    }
}

/// Returns `[n, 4]`: score, win, draw, loss.
fn with_score(wdl: &Tensor) -> Tensor {
    let score = wdl.select(1, 0) + wdl.select(1, 1) / 2.0;
    Tensor::cat(&[score.unsqueeze(1), wdl.shallow_clone()], 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::run::metrics::Bin;

    #[test]
    fn predictions_are_compared_with_outcomes_by_bin() {
        // "85 % win" twice, won once and lost once; a certain draw, drawn; and a game with an unknown result.
        let predicted = [0.85f32, 0.1, 0.05, 0.85, 0.1, 0.05, 0.0, 1.0, 0.0, 0.5, 0.5, 0.0];
        let outcome = [1f32, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let mut counts = CalibrationCounts::new(Device::Cpu);
        for rows in [0..6, 6..12] {
            let part = |all: &[f32]| Tensor::from_slice(&all[rows.clone()]).view([-1, 3]);
            counts.add(&part(&predicted), &part(&outcome));
        }
        let calibration = counts.calibration();
        let near = |bin: Bin, expected: Bin| {
            let close = (bin.0 - expected.0).abs() < 1e-6 && (bin.1 - expected.1).abs() < 1e-6;
            assert!(close && bin.2 == expected.2, "{bin:?}, expected {expected:?}");
        };
        let [low, high] = calibration.win.bins[..] else { panic!("{:?}", calibration.win) };
        near(low, Bin(0.0, 0.0, 1));
        near(high, Bin(0.85, 0.5, 2));
        assert!((calibration.win.error - 0.35 * 2.0 / 3.0).abs() < 1e-6);
        let [level, winning] = calibration.score.bins[..] else { panic!("{:?}", calibration.score) };
        near(level, Bin(0.5, 0.5, 1));
        near(winning, Bin(0.9, 0.5, 2));
        let last = calibration.draw.bins.last().unwrap();
        near(*last, Bin(1.0, 1.0, 1));
        assert_eq!(calibration.loss.bins.len(), 1, "0.05 and 0 share the first bin");
    }

    #[test]
    fn without_samples_there_are_no_bins() {
        assert_eq!(CalibrationCounts::new(Device::Cpu).calibration(), Calibration::default());
    }
}
