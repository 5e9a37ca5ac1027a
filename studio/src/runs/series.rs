//! The curves of a run, by name. A run may have a million lines, so numbers are parsed straight into curves, without a
//! JSON tree.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::thin::thinned;

/// Step or iteration, and value. NaN is a gap, where nothing was measured.
pub type Point = (f64, f64);

/// Further curves are dropped.
const MOST_CURVES: usize = 400;

/// A longer curve is thinned to half.
const MOST_POINTS: usize = 1 << 17;

/// Deepest nesting of objects that is read.
const DEEPEST: usize = 6;

/// `validation.policy_loss` is the number `policy_loss` in the object `validation`.
#[derive(Clone, Debug, Default)]
pub struct RunSeries {
    places: HashMap<String, usize>,
    curves: Vec<(String, Curve)>,
    // Buffers reused for every line.
    path: String,
    found: Vec<(usize, f64)>,
}

#[derive(Clone, Debug, Default)]
struct Curve {
    points: Vec<Point>,
    /// Survives thinning.
    last: f64,
}

impl RunSeries {
    /// Returns false if the line is not an object with a step or an iteration.
    pub fn add(&mut self, line: &[u8]) -> bool {
        self.path.clear();
        self.found.clear();
        if !line.trim_ascii_start().starts_with(b"{") {
            return false;
        }
        let RunSeries { places, curves, path, found } = self;
        let mut text = serde_json::Deserializer::from_slice(line);
        let numbers = Numbers { places, curves, path, found, depth: 0 };
        if numbers.deserialize(&mut text).is_err() || text.end().is_err() {
            return false;
        }
        let of = |name: &str| {
            let place = *self.places.get(name)?;
            self.found.iter().find(|(at, _)| *at == place).map(|(_, number)| *number)
        };
        let x = of("step").or_else(|| of("iteration")).filter(|x| !x.is_nan());
        let Some(x) = x else { return false };
        for &(place, y) in &self.found {
            let curve = &mut self.curves[place].1;
            if y.is_nan() && curve.points.last().is_none_or(|(_, before)| before.is_nan()) {
                continue;
            }
            curve.points.push((x, y));
            if !y.is_nan() {
                curve.last = y;
            }
            if curve.points.len() > MOST_POINTS {
                curve.points = thinned(&curve.points, MOST_POINTS / 2);
            }
        }
        true
    }

    /// Sorted by name.
    pub fn curves(&self) -> impl Iterator<Item = (&str, &[Point])> {
        let mut named: Vec<(&str, &[Point])> =
            self.curves.iter().map(|(name, curve)| (name.as_str(), curve.points.as_slice())).collect();
        named.retain(|(_, points)| !points.is_empty());
        named.sort_by_key(|(name, _)| *name);
        named.into_iter()
    }

    pub fn curve(&self, name: &str) -> Option<&[Point]> {
        Some(&self.curves[*self.places.get(name)?].1.points)
    }

    pub fn last(&self, name: &str) -> Option<f64> {
        let (_, curve) = &self.curves[*self.places.get(name)?];
        (!curve.points.is_empty()).then_some(curve.last)
    }
}

struct Numbers<'a> {
    places: &'a mut HashMap<String, usize>,
    curves: &'a mut Vec<(String, Curve)>,
    path: &'a mut String,
    found: &'a mut Vec<(usize, f64)>,
    depth: usize,
}

impl Numbers<'_> {
    fn number(self, number: f64) {
        let place = match self.places.get(self.path.as_str()) {
            Some(place) => *place,
            None if self.curves.len() >= MOST_CURVES => return,
            None => {
                let place = self.curves.len();
                self.places.insert(self.path.clone(), place);
                self.curves.push((self.path.clone(), Curve::default()));
                place
            }
        };
        self.found.push((place, if number.is_finite() { number } else { f64::NAN }));
    }
}

impl<'de> DeserializeSeed<'de> for Numbers<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Numbers<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of metrics")
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.number(number);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    /// Null means that nothing was measured.
    fn visit_unit<E>(self) -> Result<(), E> {
        self.number(f64::NAN);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Numbers { places, curves, path, found, depth } = self;
        let outer = path.len();
        loop {
            if outer > 0 {
                path.push('.');
            }
            if map.next_key_seed(KeyName(path))?.is_none() {
                path.truncate(outer);
                return Ok(());
            }
            if depth < DEEPEST {
                let depth = depth + 1;
                map.next_value_seed(Numbers { places, curves, path, found, depth })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            path.truncate(outer);
        }
    }
}

struct KeyName<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for KeyName<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyName<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        self.0.push_str(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_wherever_they_stand() {
        let mut series = RunSeries::default();
        assert!(series.add(
            br#"{"step": 5, "lr": 0.1, "name": "x", "no": null, "is": true, "validation": {"top1": 0.5, "a": {"b": 2}}}"#
        ));
        assert!(series.add(br#" {"iteration": 6, "lr": -2e-1, "list": [1, {"x": 2}], "k\u00e4y": -3}"#));
        for damaged in [&br#"{"lr": 0.3}"#[..], b"[1]", b"3", b"", b"{\"step\":1", b"{\"step\":1} x"] {
            assert!(!series.add(damaged), "{:?}", std::str::from_utf8(damaged));
        }
        let names: Vec<&str> = series.curves().map(|(name, _)| name).collect();
        assert_eq!(names, ["iteration", "käy", "lr", "step", "validation.a.b", "validation.top1"]);
        let lr = series.curves().find(|(name, _)| *name == "lr").unwrap().1;
        assert_eq!(lr, [(5.0, 0.1), (6.0, -0.2)]);
        assert_eq!((series.last("lr"), series.last("none")), (Some(-0.2), None));
    }

    #[test]
    fn what_was_not_measured_is_a_gap() {
        let mut series = RunSeries::default();
        for (step, loss) in (1..).zip(["null", "2", "null", "null", "1", "null"]) {
            assert!(
                series.add(format!("{{\"step\":{step},\"policy_loss\":{loss},\"top1\":null}}").as_bytes())
            );
        }
        let curves: Vec<_> = series.curves().filter(|(name, _)| *name != "step").collect();
        let [("policy_loss", points)] = curves.as_slice() else { panic!("{curves:?}") };
        let seen: Vec<(f64, Option<f64>)> =
            points.iter().map(|(x, y)| (*x, Some(*y).filter(|y| !y.is_nan()))).collect();
        assert_eq!(seen, [(2.0, Some(2.0)), (3.0, None), (5.0, Some(1.0)), (6.0, None)]);
        assert_eq!(series.last("policy_loss"), Some(1.0));
        assert!(!series.add(b"{\"step\":null,\"policy_loss\":1}"));
    }

    #[test]
    fn curves_are_bounded() {
        let mut series = RunSeries::default();
        for step in 0..2 * MOST_POINTS {
            let lr = if step == 1000 { 9 } else { 1 };
            assert!(series.add(format!("{{\"step\":{step},\"lr\":{lr}}}").as_bytes()));
        }
        let lr = series.curves().find(|(name, _)| *name == "lr").unwrap().1;
        assert!(lr.len() <= MOST_POINTS && lr.contains(&(1000.0, 9.0)));
        assert_eq!((lr[0].0, lr[lr.len() - 1].0), (0.0, (2 * MOST_POINTS - 1) as f64));
        let many: String = (0..500).map(|n| format!(",\"c{n}\":1")).collect();
        let mut series = RunSeries::default();
        assert!(series.add(format!("{{\"step\":1{many}}}").as_bytes()));
        assert_eq!(series.curves().count(), MOST_CURVES);
    }
}
