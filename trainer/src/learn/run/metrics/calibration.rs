//! Calibration of the WDL output against results.

use serde::Serialize;

/// Bins of a probability, of equal width.
pub const BINS: usize = 10;

/// Mean prediction, mean outcome, number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin(pub f64, pub f64, pub u64);

/// A reliability diagram (DeGroot and Fienberg 1983).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReliabilityDiagram {
    /// Expected calibration error (Naeini et al. 2015).
    pub error: f64,
    /// The bins that contain samples, in ascending order.
    pub bins: Vec<Bin>,
}

/// For the side to move.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// Expected score, P(win) + P(draw)/2.
    pub score: ReliabilityDiagram,
    pub win: ReliabilityDiagram,
    pub draw: ReliabilityDiagram,
    pub loss: ReliabilityDiagram,
    /// Predictions with a known outcome that are not finite. No bin contains them.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationTally {
    /// Samples, sum of predictions and sum of outcomes per bin of score, win, draw and loss.
    sums: [[[f64; 3]; BINS]; 4],
    missing: u64,
}

impl CalibrationTally {
    /// An unknown outcome is all zero and does not count.
    pub fn add(&mut self, predicted: [f32; 3], outcome: [f32; 3]) {
        if outcome == [0.0; 3] {
            return;
        }
        if !predicted.iter().all(|p| p.is_finite()) {
            self.missing += 1;
            return;
        }
        let score = |wdl: [f32; 3]| [wdl[0] + wdl[1] / 2.0, wdl[0], wdl[1], wdl[2]].map(f64::from);
        for (bins, (p, seen)) in self.sums.iter_mut().zip(score(predicted).into_iter().zip(score(outcome))) {
            let bin = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
            bin[0] += 1.0;
            bin[1] += p;
            bin[2] += seen;
        }
    }

    pub fn merge(&mut self, other: &CalibrationTally) {
        self.missing += other.missing;
        let numbers = |sums: &[[[f64; 3]; BINS]; 4]| *sums;
        for (mine, theirs) in self.sums.iter_mut().zip(numbers(&other.sums)) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
            }
        }
    }

    pub fn calibration(&self) -> Calibration {
        let [score, win, draw, loss] = self.sums.each_ref().map(|bins| diagram(bins.as_flattened()));
        Calibration { score, win, draw, loss, missing: self.missing }
    }
}

/// `sums` has samples, sum of predictions and sum of outcomes of each bin.
pub fn diagram(sums: &[f64]) -> ReliabilityDiagram {
    let filled = sums.as_chunks::<3>().0.iter().filter(|[samples, ..]| *samples > 0.0);
    let bins: Vec<Bin> = filled.map(|[n, predicted, seen]| Bin(predicted / n, seen / n, *n as u64)).collect();
    let total: u64 = bins.iter().map(|bin| bin.2).sum();
    let distance: f64 = bins.iter().map(|Bin(predicted, seen, n)| (predicted - seen).abs() * *n as f64).sum();
    ReliabilityDiagram { error: distance / total.max(1) as f64, bins }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_compared_with_outcomes_by_bin() {
        // "85 % win" twice, won once and lost once; and a game with an unknown result.
        let mut tally = CalibrationTally::default();
        tally.add([0.85, 0.1, 0.05], [1.0, 0.0, 0.0]);
        tally.add([0.5, 0.5, 0.0], [0.0; 3]);
        let mut more = CalibrationTally::default();
        more.add([0.85, 0.1, 0.05], [0.0, 0.0, 1.0]);
        tally.merge(&more);
        let calibration = tally.calibration();
        let [Bin(predicted, seen, 2)] = calibration.win.bins[..] else { panic!("{:?}", calibration.win) };
        assert!((predicted - 0.85).abs() < 1e-6 && (seen - 0.5).abs() < 1e-9);
        assert!((calibration.win.error - 0.35).abs() < 1e-6);
        assert_eq!(CalibrationTally::default().calibration(), Calibration::default());
    }

    #[test]
    fn a_missing_prediction_is_counted_and_in_no_bin() {
        let win = [1.0, 0.0, 0.0];
        let [mut tally, mut more] = [CalibrationTally::default(), CalibrationTally::default()];
        tally.add([0.75, 0.25, 0.0], win);
        tally.add([f32::NAN; 3], win);
        // With an unknown outcome it would not count either way.
        tally.add([f32::NAN; 3], [0.0; 3]);
        more.add([0.25, f32::INFINITY, 0.0], win);
        more.add([0.25, 0.75, 0.0], win);
        tally.merge(&more);
        let calibration = tally.calibration();
        assert_eq!(calibration.missing, 2);
        // Two predictions: 0.75 and 0.25 where the outcome is 1, an error of (0.25 + 0.75) / 2.
        assert_eq!(
            calibration.win,
            ReliabilityDiagram { error: 0.5, bins: vec![Bin(0.25, 1.0, 1), Bin(0.75, 1.0, 1)] }
        );
        // Draws: 0.75 and 0.25 where the outcome is 0. Scores: 0.625 and 0.875 where it is 1.
        assert_eq!(calibration.draw.error, 0.5);
        assert_eq!(calibration.score.error, 0.25);
        assert_eq!(calibration.loss, ReliabilityDiagram { error: 0.0, bins: vec![Bin(0.0, 0.0, 2)] });
        let json = serde_json::to_value(&calibration).unwrap();
        assert_eq!(json["missing"], 2);
        let json = serde_json::to_value(CalibrationTally::default().calibration()).unwrap();
        assert!(json.get("missing").is_none(), "{json}");
    }
}
