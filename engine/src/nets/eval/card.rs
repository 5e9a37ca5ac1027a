//! A network file's card: its `philidor.*` metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::nets::encoding::{Input, Policy};

pub const FORMAT: &str = "1";

const FAMILIES: [&str; 5] = ["resnet", "mlp", "linear", "trm", "lc0"];

pub const MIN_GOLDEN: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub name: String,
    pub family: String,
    pub schemes: Schemes,
    /// `fp32` or `int8`.
    pub precision: String,
    pub config: String,
    pub golden: Vec<Golden>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schemes {
    pub input: Input,
    pub policy: Policy,
    pub value: ValueScheme,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueScheme {
    /// Logits of win, draw and loss.
    Wdl,
    /// Policy only; [material](super::material) gives the value.
    None,
}

impl ValueScheme {
    pub const ALL: [ValueScheme; 2] = [ValueScheme::Wdl, ValueScheme::None];

    pub const fn name(self) -> &'static str {
        match self {
            ValueScheme::Wdl => "wdl",
            ValueScheme::None => "none",
        }
    }

    pub fn named(name: &str) -> Option<ValueScheme> {
        ValueScheme::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl Schemes {
    /// Of Leela's classical networks.
    pub const LC0: Schemes =
        Schemes { input: Input::Lc0112, policy: Policy::Lc01858, value: ValueScheme::Wdl };

    pub fn read(property: impl Fn(&str) -> Option<String>) -> Result<Schemes, CardError> {
        let get = |name: &'static str| property(name).ok_or(CardError::Missing(name));
        known(get, "philidor.format", &[FORMAT])?;
        let input = known(get, "philidor.input", &Input::ALL.map(Input::name))?;
        let policy = known(get, "philidor.policy", &Policy::ALL.map(Policy::name))?;
        let value = known(get, "philidor.value", &ValueScheme::ALL.map(ValueScheme::name))?;
        let schemes = || {
            let (input, policy) = (Input::named(&input)?, Policy::named(&policy)?);
            Some(Schemes { input, policy, value: ValueScheme::named(&value)? })
        };
        Ok(schemes().expect("known names have schemes"))
    }
}

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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    pub fen: String,
    /// UCI moves, separated by spaces.
    pub moves: String,
    /// For the mover; ignored without a value output.
    #[serde(default)]
    pub wdl: [f32; 3],
    /// Probabilities of all legal moves.
    pub policy: BTreeMap<String, f32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CardError {
    #[error("not a Philidor network: the ONNX metadata lack {0}")]
    Missing(&'static str),
    #[error("{property} is {}, expected {expected}", quoted(found))]
    Unknown { property: &'static str, found: String, expected: String },
    /// They cannot be parsed or are fewer than [`MIN_GOLDEN`].
    #[error("philidor.golden: {0}")]
    Golden(String),
}

fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

impl Card {
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

    /// lc0's converter writes neither card nor golden answers.
    pub(crate) fn of_lc0(name: String) -> Card {
        Card {
            name,
            family: "lc0".into(),
            schemes: Schemes::LC0,
            precision: "fp32".into(),
            config: "{}".into(),
            golden: Vec::new(),
        }
    }

    /// Largest difference of a probability from its golden answer.
    pub fn tolerance(&self) -> f32 {
        if self.precision == "int8" { 0.05 } else { 0.005 }
    }
}

pub(in crate::nets) fn parse_golden(text: &str) -> Result<Vec<Golden>, CardError> {
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
    fn every_property_is_required() {
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
             \"onehot832/1\", \"lc0-112/1\" or \"planes119/1\""
        );
        foreign.insert("philidor.input", "odd\n".repeat(100));
        let message = read(&foreign).unwrap_err().to_string();
        assert!(message.starts_with(r#"philidor.input is "odd\nodd"#) && message.len() < 300, "{message}");
        let mut few = properties();
        few.insert("philidor.golden", "[]".into());
        assert!(matches!(read(&few), Err(CardError::Golden(_))));
    }
}
