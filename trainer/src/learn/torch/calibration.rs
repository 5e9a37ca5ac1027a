//! Calibration of the WDL output against results.

use tch::{Device, Kind, Tensor};

use crate::learn::run::metrics::{BINS, Calibration, diagram};

const COUNT: i64 = BINS as i64;

pub struct CalibrationCounts {
    /// `[4, COUNT, 3]`: samples, sum of predictions and sum of outcomes per bin of score, win, draw and loss.
    sums: Tensor,
    /// Scalar: predictions with a known outcome that are not finite.
    missing: Tensor,
}

impl CalibrationCounts {
    pub fn new(device: Device) -> CalibrationCounts {
        let zeros = |size: &[i64]| Tensor::zeros(size, (Kind::Float, device));
        CalibrationCounts { sums: zeros(&[4, COUNT, 3]), missing: zeros(&[]) }
    }

    /// Adds WDL predictions and outcomes `[n, 3]`. An unknown outcome is all zero and does not count.
    pub fn add(&mut self, predicted: &Tensor, outcome: &Tensor) {
        let known = outcome.sum_dim_intlist([1i64].as_slice(), true, Kind::Float);
        let finite = predicted.isfinite().all_dim(1, true).to_kind(Kind::Float);
        let counted = &known * finite;
        _ = self.missing.g_add_(&(known - &counted).sum(Kind::Float));
        let counted = counted.unsqueeze(2);
        let [predicted, outcome] = [&predicted.nan_to_num(0.0, 0.0, 0.0), outcome].map(with_score);
        let bins = (&predicted * COUNT as f64).floor().clamp(0, COUNT - 1);
        let owner = bins.to_kind(Kind::Int64).one_hot(COUNT).to_kind(Kind::Float);
        let sample = Tensor::stack(&[predicted.ones_like(), predicted, outcome], 2) * counted;
        // [4, COUNT, n] times [4, n, 3].
        _ = self.sums.g_add_(&owner.permute([1, 2, 0]).bmm(&sample.permute([1, 0, 2])));
    }

    /// Synchronises with the device.
    pub fn calibration(&self) -> Calibration {
        let diagram = |quantity: i64| {
            let sums = self.sums.get(quantity).reshape([-1]).to_kind(Kind::Double);
            diagram(&Vec::<f64>::try_from(sums).expect("three numbers a bin"))
        };
        let missing = self.missing.double_value(&[]).round() as u64;
        Calibration { score: diagram(0), win: diagram(1), draw: diagram(2), loss: diagram(3), missing }
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
    fn a_missing_prediction_is_counted_and_in_no_bin() {
        let (nan, infinite) = (f32::NAN, f32::INFINITY);
        // 0.75 and 0.25 for wins, and two missing ones; the last row has no known outcome.
        let predicted = [0.75, 0.25, 0.0, nan, nan, nan, 0.25, infinite, 0.0, 0.25, 0.75, 0.0, nan, nan, nan];
        let outcome = [1f32, 0.0, 0.0].repeat(4).into_iter().chain([0.0; 3]).collect::<Vec<_>>();
        let mut counts = CalibrationCounts::new(Device::Cpu);
        let rows = |all: &[f32]| Tensor::from_slice(all).view([-1, 3]);
        counts.add(&rows(&predicted), &rows(&outcome));
        let calibration = counts.calibration();
        assert_eq!(calibration.missing, 2);
        assert_eq!(calibration.win.bins, [Bin(0.25, 1.0, 1), Bin(0.75, 1.0, 1)]);
        // The bins' errors are 0.25 and 0.75 for wins and draws, 0.125 and 0.375 for scores.
        let errors = [&calibration.win, &calibration.draw, &calibration.score].map(|part| part.error);
        assert_eq!(errors, [0.5, 0.5, 0.25]);
        assert_eq!(calibration.loss.bins, [Bin(0.0, 0.0, 2)]);
    }

    #[test]
    fn without_samples_there_are_no_bins() {
        assert_eq!(CalibrationCounts::new(Device::Cpu).calibration(), Calibration::default());
    }
}
