use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::measures::{TrainReport, Validations};
use crate::data::samples::Phase;

/// Means over the reports of some steps, and their last validation, as part of a run's progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainSummary {
    pub skipped: u64,
    /// As in `metrics.jsonl`; null without a validation.
    pub validation: Value,
    /// The last validation by game phase.
    pub phases: Value,
    reports: u64,
    /// Reports without a policy loss.
    unmeasured: u64,
    /// Reports with a WDL loss.
    valued: u64,
    // Sums over the reports.
    policy_loss: f64,
    wdl_loss: f64,
    top1: f64,
    top5: f64,
    samples_per_s: f64,
}

impl TrainSummary {
    pub fn add(&mut self, report: &TrainReport, samples_per_s: f64) {
        self.skipped += report.skipped;
        self.reports += 1;
        self.samples_per_s += samples_per_s;
        if report.measures.policy_loss.is_nan() {
            self.unmeasured += 1;
        } else {
            self.policy_loss += report.measures.policy_loss;
            self.top1 += report.measures.top1;
            self.top5 += report.measures.top5;
        }
        if let Some(loss) = report.measures.wdl_loss.filter(|loss| !loss.is_nan()) {
            self.valued += 1;
            self.wdl_loss += loss;
        }
    }

    pub fn note_validation(&mut self, validations: &Validations) {
        let phases = Phase::ALL.map(Phase::name).into_iter().zip(&validations.phases);
        self.validation = json!(validations.all);
        self.phases = json!(phases.collect::<BTreeMap<_, _>>());
    }

    /// In nats; none without a report.
    pub fn policy_loss(&self) -> Option<f64> {
        mean(self.policy_loss, self.reports - self.unmeasured)
    }

    /// In nats; none without a report or a value head.
    pub fn wdl_loss(&self) -> Option<f64> {
        mean(self.wdl_loss, self.valued)
    }

    /// Top-1 accuracy among legal moves.
    pub fn top1(&self) -> Option<f64> {
        mean(self.top1, self.reports - self.unmeasured)
    }

    /// Top-5 accuracy among legal moves.
    pub fn top5(&self) -> Option<f64> {
        mean(self.top5, self.reports - self.unmeasured)
    }

    pub fn samples_per_s(&self) -> Option<f64> {
        mean(self.samples_per_s, self.reports)
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::run::metrics::Measures;

    #[test]
    fn reports_are_averaged_and_skipped_steps_summed() {
        let report = |policy_loss, wdl_loss, skipped| TrainReport {
            measures: Measures { policy_loss, wdl_loss, ..Measures::default() },
            steps: 10,
            skipped,
        };
        let mut summary = TrainSummary::default();
        assert_eq!((summary.policy_loss(), summary.wdl_loss()), (None, None));
        summary.add(&report(3.0, None, 0), 100.0);
        summary.add(&report(2.0, Some(0.5), 5), 200.0);
        assert_eq!((summary.policy_loss(), summary.wdl_loss()), (Some(2.5), Some(0.5)));
        assert_eq!((summary.samples_per_s(), summary.skipped), (Some(150.0), 5));
        summary.add(&report(f64::NAN, Some(f64::NAN), 0), 150.0);
        assert_eq!((summary.policy_loss(), summary.wdl_loss()), (Some(2.5), Some(0.5)), "nothing measured");
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<TrainSummary>(&text).unwrap(), summary);
    }
}
