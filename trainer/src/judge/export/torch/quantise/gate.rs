//! Limits on the quantisation error, beyond which a network is rejected.

use std::cmp::Ordering;

use super::compare::QuantisationQuality;

/// Limit of the policy's mean Kullback–Leibler divergence, nat.
const POLICY_KL: f64 = 0.01;

/// Limit of the mean absolute error of the WDL probabilities.
const WDL_ERROR: f64 = 0.01;

/// Limit of the decrease of the top-1 accuracy (share of positions whose played move is preferred).
const TOP1_LOSS: f64 = 0.005;

/// The limits that `quality` exceeds, one message each; NaN exceeds every limit.
pub fn exceeded_limits(quality: &QuantisationQuality) -> Vec<String> {
    let top1_loss = quality.top1_before - quality.top1_after;
    let wdl = quality.wdl_error.map(|error| ("WDL error", error, WDL_ERROR));
    let limits = [("policy KL", quality.policy_kl, POLICY_KL), ("loss of top-1", top1_loss, TOP1_LOSS)];
    // Not `>`, so that NaN exceeds the limit too.
    let exceeded = limits.into_iter().chain(wdl).filter(|(_, value, limit)| {
        !matches!(value.partial_cmp(limit), Some(Ordering::Less | Ordering::Equal))
    });
    exceeded.map(|(what, value, limit)| format!("{what} {value:.5} is above {limit}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_enforced_also_for_nan() {
        let good = QuantisationQuality {
            policy_kl: 0.01,
            wdl_error: Some(0.01),
            top1_before: 0.5,
            top1_after: 0.496,
            ..QuantisationQuality::default()
        };
        assert!(exceeded_limits(&good).is_empty());
        let bad = [
            (QuantisationQuality { policy_kl: 0.0101, ..good }, "policy KL"),
            (QuantisationQuality { wdl_error: Some(0.0101), ..good }, "WDL error"),
            (QuantisationQuality { wdl_error: Some(f64::NAN), ..good }, "WDL error"),
            (QuantisationQuality { top1_after: f64::NAN, ..good }, "top-1"),
            (QuantisationQuality { top1_after: 0.494, ..good }, "top-1"),
            (QuantisationQuality { policy_kl: f64::NAN, ..good }, "policy KL"),
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
}
