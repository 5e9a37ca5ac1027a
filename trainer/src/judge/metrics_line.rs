use serde_json::Value;

/// The measure `key` of a line of `metrics.jsonl`; `None` if not measured.
///
/// Newer runs write null for policy loss and accuracies if no position had a policy target; older runs wrote zeros,
/// which no network has all at once.
pub fn measured(measures: &Value, key: &str) -> Option<f64> {
    let number = |key: &str| measures[key].as_f64().filter(|number| number.is_finite());
    let of_policy = ["policy_loss", "top1", "top5"];
    let is_zero = |key: &&str| number(key) == Some(0.0);
    let unmeasured = of_policy.contains(&key) && is_zero(&"policy_loss") && is_zero(&"top1");
    number(key).filter(|_| !unmeasured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_and_a_policy_of_zeros_are_not_measured() {
        let unmeasured = json!({"policy_loss": 0.0, "top1": 0.0, "top5": 0.0, "wdl_loss": 0.9});
        assert_eq!(["policy_loss", "top1", "top5"].map(|key| measured(&unmeasured, key)), [None; 3]);
        assert_eq!(measured(&unmeasured, "wdl_loss"), Some(0.9));
        let bad = json!({"policy_loss": 3.5, "top1": 0.0, "wdl_loss": null});
        assert_eq!(
            ["policy_loss", "top1", "wdl_loss"].map(|key| measured(&bad, key)),
            [Some(3.5), Some(0.0), None]
        );
    }
}
