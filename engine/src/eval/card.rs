//! What a network file says of itself (`philidor.*` in the ONNX metadata).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::encoding::{Input, Policy};

/// The version of the card that this engine reads.
pub const FORMAT: &str = "1";

/// The families of networks: what a network's family is makes no difference to how it is played.
const FAMILIES: [&str; 5] = ["resnet", "mlp", "linear", "trm", "lc0"];

/// The fewest golden answers that a card must bring.
pub const MIN_GOLDEN: usize = 4;

/// A network's card.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The network's name.
    pub name: String,
    /// `resnet`, `mlp`, `linear`, `trm` or `lc0`.
    pub family: String,
    /// How it sees positions, names moves and values what it sees.
    pub schemes: Schemes,
    /// `fp32` or `int8`.
    pub precision: String,
    /// The training configuration, JSON.
    pub config: String,
    /// Answers that the network must give.
    pub golden: Vec<Golden>,
}

/// The schemes of a network's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    /// Of its input.
    pub input: Input,
    /// Of its policy.
    pub policy: Policy,
    /// Of its value.
    pub value: Value,
}

/// What a network says of a position's worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Win, draw and loss.
    Wdl,
    /// Nothing: it has a policy only, and positions are valued [classically](super::lesson).
    None,
}

impl Value {
    /// All of them.
    pub const ALL: [Value; 2] = [Value::Wdl, Value::None];

    /// The name in cards.
    pub const fn name(self) -> &'static str {
        match self {
            Value::Wdl => "wdl",
            Value::None => "none",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Value> {
        Value::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl Schemes {
    /// Those of Leela's classical networks.
    pub const LC0: Schemes = Schemes { input: Input::Lc0112, policy: Policy::Lc01858, value: Value::Wdl };

    /// Reads them from a card.
    ///
    /// # Errors
    ///
    /// As [`Card::read`].
    pub fn read(property: impl Fn(&str) -> Option<String>) -> Result<Schemes, CardError> {
        let get = |name: &'static str| property(name).ok_or(CardError::Missing(name));
        known(get, "philidor.format", &[FORMAT])?;
        let input = known(get, "philidor.input", &Input::ALL.map(Input::name))?;
        let policy = known(get, "philidor.policy", &Policy::ALL.map(Policy::name))?;
        let value = known(get, "philidor.value", &Value::ALL.map(Value::name))?;
        let schemes = || {
            let (input, policy) = (Input::named(&input)?, Policy::named(&policy)?);
            Some(Schemes { input, policy, value: Value::named(&value)? })
        };
        Ok(schemes().expect("known names have schemes"))
    }
}

/// The property's value, if it is among those that are known.
fn known(
    get: impl Fn(&'static str) -> Result<String, CardError>,
    property: &'static str,
    known: &[&str],
) -> Result<String, CardError> {
    let found = get(property)?;
    if known.contains(&found.as_str()) {
        return Ok(found);
    }
    let quoted: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
    let expected = match &quoted[..] {
        [others @ .., one, last] => [others, &[format!("{one} or {last}")]].concat().join(", "),
        _ => quoted.concat(),
    };
    Err(CardError::Unknown { property, found, expected })
}

/// What the network answers for one position, as its exporter computed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// Where the game starts.
    pub fen: String,
    /// The moves from there, UCI, separated by spaces.
    pub moves: String,
    /// Win, draw and loss for the mover; of no meaning in a network without a value.
    #[serde(default)]
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
        expected: String,
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
        let schemes = Schemes::read(&property)?;
        Ok(Card {
            schemes,
            name: get("philidor.name")?,
            family: known(get, "philidor.family", &FAMILIES)?,
            precision: known(get, "philidor.precision", &["fp32", "int8"])?,
            config: get("philidor.config")?,
            golden: parse_golden(&get("philidor.golden")?)?,
        })
    }

    /// The card of a network that lc0's own converter wrote, which has none: it has no golden answers either.
    pub(super) fn of_lc0(name: String) -> Card {
        Card {
            name,
            family: "lc0".into(),
            schemes: Schemes::LC0,
            precision: "fp32".into(),
            config: "{}".into(),
            golden: Vec::new(),
        }
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
        assert_eq!(
            message,
            "philidor.input is \"planes99/1\", expected \"planes72/1\", \"planes19/1\", \"planes14/1\", \
             \"onehot832/1\" or \"lc0-112/1\""
        );
        let mut few = properties();
        few.insert("philidor.golden", "[]".into());
        assert!(matches!(read(&few), Err(CardError::Golden(_))));
    }
}
