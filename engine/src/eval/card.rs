//! What a network file says of itself (`philidor.*` in the ONNX metadata).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::encoding::{az4672, planes72};

/// The version of the card that this engine reads.
pub const FORMAT: &str = "1";

/// The fewest golden answers that a card must bring.
pub const MIN_GOLDEN: usize = 4;

/// A network's card.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The network's name.
    pub name: String,
    /// `resnet`, `mlp`, `linear`, `trm` or `lc0`.
    pub family: String,
    /// The input scheme, for example `planes72/1`.
    pub input: String,
    /// The policy scheme, for example `az4672/1`.
    pub policy: String,
    /// `wdl`, or `none` for a network without a value head.
    pub value: String,
    /// `fp32` or `int8`.
    pub precision: String,
    /// The training configuration, JSON.
    pub config: String,
    /// Answers that the network must give.
    pub golden: Vec<Golden>,
}

/// What the network answers for one position, as its exporter computed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// Where the game starts.
    pub fen: String,
    /// The moves from there, UCI, separated by spaces.
    pub moves: String,
    /// Win, draw and loss for the mover.
    pub wdl: [f32; 3],
    /// The probability of each legal move, by its UCI name.
    pub policy: BTreeMap<String, f32>,
}

/// Why a card can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardError {
    /// The file has no property of this name: it isn't one of ours.
    Missing(&'static str),
    /// A property has a value that this engine does not know.
    Unknown {
        /// The property.
        property: &'static str,
        /// Its value.
        found: String,
        /// The values that would do.
        expected: &'static str,
    },
    /// The golden answers can't be read, or are too few.
    Golden(String),
}

impl fmt::Display for CardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CardError::Missing(property) => {
                write!(f, "not a Philidor network: the ONNX metadata lack {property}")
            }
            CardError::Unknown { property, found, expected } => {
                write!(f, "{property} is \"{found}\", expected {expected}")
            }
            CardError::Golden(why) => write!(f, "philidor.golden: {why}"),
        }
    }
}

impl std::error::Error for CardError {}

impl Card {
    /// Reads a card by looking its properties up one by one.
    ///
    /// # Errors
    ///
    /// If a property is missing, or says something that this engine doesn't know.
    pub fn read(property: impl Fn(&str) -> Option<String>) -> Result<Card, CardError> {
        let get = |name: &'static str| property(name).ok_or(CardError::Missing(name));
        let known = |name: &'static str, known: &[&str], expected: &'static str| {
            let found = get(name)?;
            let fits = known.contains(&found.as_str());
            if fits { Ok(found) } else { Err(CardError::Unknown { property: name, found, expected }) }
        };
        known("philidor.format", &[FORMAT], "\"1\"")?;
        Ok(Card {
            name: get("philidor.name")?,
            family: known("philidor.family", &["resnet"], "\"resnet\"")?,
            input: known("philidor.input", &[planes72::NAME], "\"planes72/1\"")?,
            policy: known("philidor.policy", &[az4672::NAME], "\"az4672/1\"")?,
            value: known("philidor.value", &["wdl"], "\"wdl\"")?,
            precision: known("philidor.precision", &["fp32", "int8"], "\"fp32\" or \"int8\"")?,
            config: get("philidor.config")?,
            golden: parse_golden(&get("philidor.golden")?)?,
        })
    }

    /// How far an answer may be from its golden one, at this file's precision.
    pub fn tolerance(&self) -> f32 {
        if self.precision == "int8" { 0.05 } else { 0.005 }
    }
}

fn parse_golden(text: &str) -> Result<Vec<Golden>, CardError> {
    let golden: Vec<Golden> =
        serde_json::from_str(text).map_err(|error| CardError::Golden(error.to_string()))?;
    if golden.len() < MIN_GOLDEN {
        return Err(CardError::Golden(format!("{} positions, expected at least {MIN_GOLDEN}", golden.len())));
    }
    Ok(golden)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties() -> BTreeMap<&'static str, String> {
        let golden = Golden {
            fen: "8/8/8/8/8/8/8/8 w - - 0 1".into(),
            moves: String::new(),
            wdl: [0.5, 0.25, 0.25],
            policy: BTreeMap::from([("e2e4".into(), 1.0)]),
        };
        let golden = serde_json::to_string(&vec![golden; 4]).unwrap();
        BTreeMap::from([
            ("philidor.format", "1".into()),
            ("philidor.name", "test".into()),
            ("philidor.family", "resnet".into()),
            ("philidor.input", "planes72/1".into()),
            ("philidor.policy", "az4672/1".into()),
            ("philidor.value", "wdl".into()),
            ("philidor.precision", "int8".into()),
            ("philidor.config", "{}".into()),
            ("philidor.golden", golden),
        ])
    }

    fn read(properties: &BTreeMap<&'static str, String>) -> Result<Card, CardError> {
        Card::read(|name| properties.get(name).cloned())
    }

    #[test]
    fn a_full_card_is_read() {
        let card = read(&properties()).unwrap();
        assert_eq!((card.name.as_str(), card.golden.len(), card.tolerance()), ("test", 4, 0.05));
    }

    #[test]
    fn every_property_is_needed() {
        for name in properties().keys() {
            let mut some = properties();
            some.remove(name);
            assert_eq!(read(&some), Err(CardError::Missing(name)));
        }
    }

    #[test]
    fn unknown_values_are_named() {
        let mut foreign = properties();
        foreign.insert("philidor.input", "planes99/1".into());
        let message = read(&foreign).unwrap_err().to_string();
        assert_eq!(message, "philidor.input is \"planes99/1\", expected \"planes72/1\"");
        let mut few = properties();
        few.insert("philidor.golden", "[]".into());
        assert!(matches!(read(&few), Err(CardError::Golden(_))));
    }
}
