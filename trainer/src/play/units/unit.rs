//! A unit of work.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Format of a unit's file.
const FORMAT: &str = "philidor-unit/2";

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// Games of a network against itself.
    SelfPlay,
    /// Pairs of games of two players.
    Arena,
    /// A block of games, labelled by a UCI engine.
    Annotate,
    /// Pairs of games of two settings of the search.
    Match,
}

impl UnitKind {
    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::SelfPlay => "self-play",
            UnitKind::Arena => "arena",
            UnitKind::Annotate => "annotate",
            UnitKind::Match => "match",
        }
    }

    /// The ending of a result's file.
    pub fn ending(self) -> &'static str {
        if self == UnitKind::Match { "json" } else { "h5" }
    }
}

/// A unit of work, a value: with the same files every machine makes the same result of it, except where a network's
/// runtime rounds differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// The format's name and version.
    pub format: String,
    /// What is to be done.
    pub kind: UnitKind,
    /// The files that it is done with, by [`hash_of`](super::hash_of): `self-play` has the network, and the other one if
    /// `share` is above 0; `arena` and `match` the two players' networks, or names of classical players; `annotate` the
    /// games.
    pub inputs: Vec<String>,
    /// The file of the rules, JSON, by its hash.
    pub rules: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Share of the games that the other network plays.
    pub share: f64,
    /// Number of the first game or pair.
    pub number: u64,
    /// How many games or pairs.
    pub count: u64,
}

impl Unit {
    /// A unit of one of the kinds, without a share.
    pub fn new(kind: UnitKind, inputs: Vec<String>, rules: String, seed: u64, numbers: Range<u64>) -> Unit {
        let (number, count) = (numbers.start, numbers.end - numbers.start);
        Unit { format: FORMAT.to_owned(), kind, inputs, rules, seed, share: 0.0, number, count }
    }

    /// Reads a unit.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no unit that this program knows.
    pub fn read(path: &Path) -> Result<Unit> {
        let at = || path.display().to_string();
        let unit: Unit = serde_json::from_slice(&std::fs::read(path).with_context(at)?).with_context(at)?;
        ensure!(unit.format == FORMAT, "{}: format is \"{}\", expected \"{FORMAT}\"", at(), unit.format);
        Ok(unit)
    }

    /// The unit as its file holds it.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers and text make JSON")
    }

    /// Its name: the kind, the first number, and a hash of everything that it says.
    pub fn name(&self) -> String {
        format!("{}-{:08}-{:016x}", self.kind.name(), self.number, xxh3_64(self.json().as_bytes()))
    }

    /// The name of its result's file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name(), self.kind.ending())
    }

    /// What its result says where it comes from.
    pub fn source(&self) -> String {
        format!("unit {}", self.name())
    }

    /// The numbers of its games or pairs.
    pub fn numbers(&self) -> Range<u64> {
        self.number..self.number + self.count
    }

    /// These numbers in parts of `each`; the last one may be smaller.
    pub fn parts(numbers: Range<u64>, each: u64) -> impl Iterator<Item = Range<u64>> {
        let end = numbers.end;
        let each = each.max(1);
        numbers.step_by(usize::try_from(each).unwrap_or(usize::MAX)).map(move |first| {
            let next = first.saturating_add(each);
            first..next.min(end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_units_name_depends_on_all_that_it_says() {
        let unit = Unit::new(UnitKind::SelfPlay, vec!["a.onnx".into()], "r.json".into(), 7, 32..48);
        assert!(unit.name().starts_with("self-play-00000032-") && unit.file().ends_with(".h5"));
        assert_eq!((unit.numbers(), unit.count), (32..48, 16));
        let other = [
            Unit { kind: UnitKind::Arena, ..unit.clone() },
            Unit { inputs: vec!["b.onnx".into()], ..unit.clone() },
            Unit { rules: "s.json".into(), ..unit.clone() },
            Unit { seed: 8, ..unit.clone() },
            Unit { share: 0.5, ..unit.clone() },
            Unit { count: 15, ..unit.clone() },
        ];
        assert!(other.iter().all(|other| other.name() != unit.name()));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("unit.json");
        std::fs::write(&path, unit.json()).unwrap();
        assert_eq!(Unit::read(&path).unwrap(), unit);
        std::fs::write(&path, unit.json().replace("unit/2", "unit/3")).unwrap();
        let error = Unit::read(&path).unwrap_err().to_string();
        assert!(error.ends_with("format is \"philidor-unit/3\", expected \"philidor-unit/2\""), "{error}");
    }

    #[test]
    fn parts_cover_all_numbers_once() {
        let parts = |numbers, each| Unit::parts(numbers, each).collect::<Vec<_>>();
        assert_eq!(parts(5..12, 3), [5..8, 8..11, 11..12]);
        assert_eq!(parts(5..12, 100), vec![5..12; 1]);
        assert_eq!(parts(5..12, u64::MAX), vec![5..12; 1]);
        assert!(parts(5..5, 3).is_empty());
    }
}
