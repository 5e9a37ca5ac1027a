//! The curves of a run, by name.

use std::collections::BTreeMap;

use serde_json::Value;

/// A point of a curve: steps or iterations, and the value.
pub type Point = (f64, f64);

/// Curves that a run may have; further ones are left out.
const MOST_CURVES: usize = 400;

/// Depth of the objects that are looked into.
const DEEPEST: usize = 6;

/// The curves of a run: `validation.policy_loss` is the number `policy_loss` in the object `validation`.
#[derive(Clone, Debug, Default)]
pub struct RunSeries {
    curves: BTreeMap<String, Vec<Point>>,
}

impl RunSeries {
    /// Adds the numbers of a line of metrics; `false` if it has no step or iteration.
    pub fn add(&mut self, line: &Value) -> bool {
        let number = |key: &str| line.get(key).and_then(Value::as_f64);
        let Some(x) = number("step").or_else(|| number("iteration")) else { return false };
        self.add_numbers("", line, x, 0);
        true
    }

    fn add_numbers(&mut self, prefix: &str, value: &Value, x: f64, depth: usize) {
        let Value::Object(fields) = value else { return };
        for (key, value) in fields {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Number(number) => self.add_number(name, x, number.as_f64()),
                Value::Object(_) if depth < DEEPEST => self.add_numbers(&name, value, x, depth + 1),
                _ => (),
            }
        }
    }

    fn add_number(&mut self, name: String, x: f64, y: Option<f64>) {
        let Some(y) = y.filter(|y| y.is_finite()) else { return };
        if self.curves.len() < MOST_CURVES || self.curves.contains_key(&name) {
            self.curves.entry(name).or_default().push((x, y));
        }
    }

    /// The curves, by name.
    pub fn curves(&self) -> &BTreeMap<String, Vec<Point>> {
        &self.curves
    }

    /// The last value of a curve.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.curves.get(name)?.last().map(|(_, y)| *y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_found_wherever_they_stand() {
        let mut series = RunSeries::default();
        assert!(
            series
                .add(&json!({"step": 5, "lr": 0.1, "name": "x", "validation": {"top1": 0.5, "a": {"b": 2}}}))
        );
        assert!(series.add(&json!({"iteration": 6, "lr": 0.2, "list": [1]})));
        assert!(!series.add(&json!({"lr": 0.3})) && !series.add(&json!([1])));
        let names: Vec<&str> = series.curves().keys().map(String::as_str).collect();
        assert_eq!(names, ["iteration", "lr", "step", "validation.a.b", "validation.top1"]);
        assert_eq!(series.curves()["lr"], [(5.0, 0.1), (6.0, 0.2)]);
        assert_eq!((series.last("lr"), series.last("none")), (Some(0.2), None));
    }
}
