use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

const FORMAT: &str = "philidor-unit/2";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    SelfPlay,
    /// Pairs of games between two players.
    Arena,
    /// Labels by a UCI engine for a block of games.
    Annotate,
    /// Pairs of games between two search settings.
    Match,
}

impl UnitKind {
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::SelfPlay => "self-play",
            UnitKind::Arena => "arena",
            UnitKind::Annotate => "annotate",
            UnitKind::Match => "match",
        }
    }

    pub fn ending(self) -> &'static str {
        if self == UnitKind::Match { "json" } else { "h5" }
    }
}

/// Equal inputs give equal results on every machine, unless the network runtime rounds differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    pub format: String,
    pub kind: UnitKind,
    /// Input file names by [`hash_of`](super::hash_of). `self-play`: the network, and another if `share` > 0; `arena`
    /// and `match`: two networks or names of classical players; `annotate`: the games.
    pub inputs: Vec<String>,
    /// Name of the rules file (JSON) by hash.
    pub rules: String,
    pub seed: u64,
    /// Share of games that the second network plays.
    pub share: f64,
    pub number: u64,
    pub count: u64,
}

impl Unit {
    pub fn new(kind: UnitKind, inputs: Vec<String>, rules: String, seed: u64, numbers: Range<u64>) -> Unit {
        let (number, count) = (numbers.start, numbers.end - numbers.start);
        Unit { format: FORMAT.to_owned(), kind, inputs, rules, seed, share: 0.0, number, count }
    }

    pub fn read(path: &Path) -> Result<Unit> {
        let at = || path.display().to_string();
        let unit: Unit = serde_json::from_slice(&std::fs::read(path).with_context(at)?).with_context(at)?;
        ensure!(unit.format == FORMAT, "{}: format is \"{}\", expected \"{FORMAT}\"", at(), unit.format);
        Ok(unit)
    }

    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers and text make JSON")
    }

    /// Kind, first number, and a hash of all fields.
    pub fn name(&self) -> String {
        format!("{}-{:08}-{:016x}", self.kind.name(), self.number, xxh3_64(self.json().as_bytes()))
    }

    pub fn file(&self) -> String {
        format!("{}.{}", self.name(), self.kind.ending())
    }

    /// The text by which a result names its unit.
    pub fn source(&self) -> String {
        format!("unit {}", self.name())
    }

    pub fn numbers(&self) -> Range<u64> {
        self.number..self.number + self.count
    }

    /// Splits into parts of `each`; the last may be smaller.
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
