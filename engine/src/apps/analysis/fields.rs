//! Takes the keys of a JSON object one by one, so that each error names its key.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub key: String,
    pub error: String,
}

impl FieldError {
    pub fn new(key: &str, error: impl fmt::Display) -> FieldError {
        FieldError { key: key.to_owned(), error: error.to_string() }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// `None` if the key is absent or `null`.
    pub fn take<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, FieldError> {
        let Some(place) = self.0.iter().position(|(name, _)| name == key) else { return Ok(None) };
        let (_, value) = self.0.remove(place);
        if self.0.iter().any(|(name, _)| name == key) {
            return Err(FieldError::new(key, "the key is given more than once"));
        }
        serde_json::from_value(value)
            .map_err(|error| FieldError::new(key, in_words_of_json(&error.to_string())))
    }

    /// Fails if a key was not taken.
    pub fn end(&self) -> Result<(), FieldError> {
        self.0.first().map_or(Ok(()), |(key, _)| Err(FieldError::new(key, "unknown key")))
    }
}

/// Replaces Serde's Rust type names by JSON's.
fn in_words_of_json(error: &str) -> String {
    let Some((found, expected)) = error.rsplit_once(", expected ") else { return error.to_owned() };
    let expected = match expected {
        "u64" | "usize" => "a whole number, 0 or more",
        "i64" => "a whole number",
        "a sequence" => "a list",
        other => other,
    };
    format!("{}, expected {expected}", found.replace("unknown variant", "unknown value"))
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    fields.push(pair);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
