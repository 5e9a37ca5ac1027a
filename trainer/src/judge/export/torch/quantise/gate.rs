//! Limits on the quantisation error. A network beyond them is refused.

use super::compare::{ErrorStatistics, QuantisationQuality};

/// Limit on the mean policy KL (nats) and on the mean WDL error.
const MEAN: f64 = 0.01;

/// Limit on the policy KL and on the WDL error that 99 % of the positions stay within.
const HIGH: f64 = 0.1;

/// Limit on the decrease in top-1 accuracy.
const TOP1_LOSS: f64 = 0.005;

/// Standard errors subtracted from a mean, so that a few positions cannot refuse a network.
const CONFIDENCE: f64 = 2.0;

/// One message per exceeded limit.
pub fn exceeded_limits(quality: &QuantisationQuality) -> Vec<String> {
    let mut exceeded = Vec::new();
    let errors = [("policy KL", Some(quality.policy_kl)), ("WDL error", quality.wdl_error)];
    for (what, statistics) in errors.into_iter().filter_map(|(what, error)| Some((what, error?))) {
        let ErrorStatistics { mean, error, high } = statistics;
        if exceeds(mean - CONFIDENCE * error, MEAN) {
            exceeded.push(format!("the mean {what}, {mean:.5} ± {error:.5}, is above {MEAN}"));
        }
        if exceeds(high, HIGH) {
            exceeded.push(format!("the {what} of one position in a hundred, {high:.5}, is above {HIGH}"));
        }
    }
    let loss = quality.top1_before - quality.top1_after;
    if exceeds(loss - CONFIDENCE * quality.top1_error, TOP1_LOSS) {
        exceeded
            .push(format!("the loss of top-1, {loss:.5} ± {:.5}, is above {TOP1_LOSS}", quality.top1_error));
    }
    exceeded
}

/// NaN exceeds every limit.
fn exceeds(value: f64, limit: f64) -> bool {
    value.is_nan() || value > limit
}

#[cfg(test)]
mod tests {
    use super::super::compare::tests::sample;
    use super::*;

    #[test]
    fn each_limit_is_enforced_also_for_nan() {
        let statistics = |mean, high| ErrorStatistics { mean, error: 0.0, high };
        let good = QuantisationQuality {
            policy_kl: statistics(0.01, 0.1),
            wdl_error: Some(statistics(0.01, 0.1)),
            top1_before: 0.5,
            top1_after: 0.496,
            ..QuantisationQuality::default()
        };
        assert!(exceeded_limits(&good).is_empty());
        let kl = |policy_kl| QuantisationQuality { policy_kl, ..good };
        let wdl = |wdl| QuantisationQuality { wdl_error: Some(wdl), ..good };
        let bad = [
            (kl(statistics(0.0101, 0.1)), "mean policy KL"),
            (kl(statistics(f64::NAN, 0.1)), "mean policy KL"),
            (kl(statistics(0.01, 0.101)), "policy KL of one position in a hundred"),
            (kl(statistics(0.01, f64::NAN)), "policy KL of one position in a hundred"),
            (wdl(statistics(0.0101, 0.1)), "mean WDL error"),
            (wdl(statistics(f64::NAN, 0.1)), "mean WDL error"),
            (wdl(statistics(0.01, 0.101)), "WDL error of one position in a hundred"),
            (QuantisationQuality { top1_after: f64::NAN, ..good }, "top-1"),
            (QuantisationQuality { top1_after: 0.494, ..good }, "top-1"),
        ];
        for (quality, what) in bad {
            let exceeded = exceeded_limits(&quality);
            assert!(exceeded.len() == 1 && exceeded[0].contains(what), "{quality:?}: {exceeded:?}");
        }
        assert!(
            exceeded_limits(&QuantisationQuality { wdl_error: None, ..good }).is_empty(),
            "a network without a value"
        );
        let better = QuantisationQuality { top1_after: 0.6, ..good };
        assert!(exceeded_limits(&better).is_empty());
    }

    #[test]
    fn one_position_of_200_rejects_no_network_and_several_do() {
        assert!(exceeded_limits(&QuantisationQuality::of(&sample(2))).is_empty());
        let exceeded = exceeded_limits(&QuantisationQuality::of(&sample(20))).join("; ");
        for what in ["mean policy KL", "one position in a hundred", "top-1"] {
            assert!(exceeded.contains(what), "{exceeded}");
        }
        let none = exceeded_limits(&QuantisationQuality::of(&[]));
        assert!(none.iter().any(|limit| limit.contains("policy KL")), "no positions: {none:?}");
    }
}
