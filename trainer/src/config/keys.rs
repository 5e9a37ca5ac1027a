//! The keys of a configuration with their meanings, which are the comments of the structs.

use std::collections::BTreeMap;

use anyhow::Result;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

use super::layers;
use super::rl::{RlConfig, RlPreset};
use super::sparse::{SparseTrainConfig, is_sparse};
use super::train::TrainPreset;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyRow {
    /// Dots for nesting.
    pub key: String,
    pub value: Value,
    pub meaning: String,
    /// Of an enumeration.
    pub choices: Vec<String>,
}

pub fn train_keys(preset: TrainPreset, overrides: &[String]) -> Result<Vec<KeyRow>> {
    let json = layers::merged(preset.json(), &[], overrides)?;
    if is_sparse(&json) {
        return rows(&SparseTrainConfig::try_from(json)?);
    }
    rows(&preset.parse("{}", overrides)?)
}

/// Without the keys that the loop sets.
pub fn rl_keys(preset: RlPreset, overrides: &[String]) -> Result<Vec<KeyRow>> {
    let config = preset.unchecked(overrides)?;
    Ok(rows_of::<RlConfig>(&config.to_json()))
}

fn rows<T: JsonSchema + Serialize>(config: &T) -> Result<Vec<KeyRow>> {
    // By way of text, which has a number of 32 bits as it was written: 0.1.
    Ok(rows_of::<T>(&serde_json::from_str(&serde_json::to_string(config)?)?))
}

fn rows_of<T: JsonSchema>(config: &Value) -> Vec<KeyRow> {
    // As it is written: reading accepts other forms too.
    let generator = SchemaSettings::default().for_serialize().into_generator();
    let schema = Schema::to_value(generator.into_root_schema_for::<T>());
    let mut rows = Vec::new();
    Walk { root: &schema }.object(&schema, config, "", &mut rows);
    rows
}

struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    fn object(&self, schema: &'a Value, value: &Value, prefix: &str, rows: &mut Vec<KeyRow>) {
        let (alternative, properties) = self.alternative_for(schema, value);
        for (name, value) in value.as_object().into_iter().flatten() {
            let key = format!("{prefix}{name}");
            let property = properties.get(name.as_str()).copied().unwrap_or(&Value::Null);
            if value.as_object().is_some_and(|value| !value.is_empty()) {
                self.object(property, value, &format!("{key}."), rows);
                continue;
            }
            let choices = self.choices(property);
            // A key that selects an alternative means what that is.
            let selects = property.get("const").is_some() && description(property).is_none();
            let meaning = meaning(if selects { alternative } else { property });
            rows.push(KeyRow { key, value: value.clone(), meaning, choices });
        }
    }

    /// The alternative that has all keys of the value, and its properties.
    fn alternative_for(&self, schema: &'a Value, value: &Value) -> (&'a Value, BTreeMap<&'a str, &'a Value>) {
        let has_all = |properties: &BTreeMap<&str, &Value>| {
            value.as_object().into_iter().flatten().all(|(key, value)| {
                let property = properties.get(key.as_str());
                property.is_some_and(|property| property.get("const").is_none_or(|only| only == value))
            })
        };
        let mut alternatives = self.alternatives(schema).into_iter().map(|one| (one, self.properties(one)));
        alternatives.find(|(_, properties)| has_all(properties)).unwrap_or((&Value::Null, BTreeMap::new()))
    }

    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        let path = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(path)
    }

    fn alternatives(&self, schema: &'a Value) -> Vec<&'a Value> {
        let lists = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        let inner: Vec<&Value> = lists.flatten().collect();
        match self.target(schema) {
            Some(target) if schema.get("properties").is_none() => self.alternatives(target),
            _ if inner.is_empty() => vec![schema],
            _ => inner.into_iter().flat_map(|one| self.alternatives(one)).collect(),
        }
    }

    /// Also those of a schema that this one refers to.
    fn properties(&self, schema: &'a Value) -> BTreeMap<&'a str, &'a Value> {
        let own = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut properties: BTreeMap<&str, &Value> = own.map(|(key, value)| (key.as_str(), value)).collect();
        if let Some(target) = self.target(schema) {
            properties.extend(self.properties(target));
        }
        properties
    }

    fn choices(&self, schema: &'a Value) -> Vec<String> {
        let alternatives = self.alternatives(schema);
        let listed = alternatives.iter().flat_map(|one| {
            let many = one.get("enum").and_then(Value::as_array).into_iter().flatten();
            many.chain(one.get("const"))
        });
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

fn description(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}

/// Without the brackets of links between comments.
fn meaning(schema: &Value) -> String {
    let text = description(schema).unwrap_or_default();
    text.replace("[`", "`").replace("`]", "`").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn find<'a>(rows: &'a [KeyRow], key: &str) -> &'a KeyRow {
        rows.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("no {key} in {rows:?}"))
    }

    fn all_explained(rows: &[KeyRow]) {
        let silent: Vec<&str> =
            rows.iter().filter(|row| row.meaning.is_empty()).map(|row| row.key.as_str()).collect();
        assert!(silent.is_empty(), "without a meaning: {silent:?}");
    }

    #[test]
    fn every_preset_has_its_keys_with_values_meanings_and_choices() {
        for preset in TrainPreset::value_variants() {
            let rows = train_keys(*preset, &[]).unwrap();
            assert!(find(&rows, "samples").meaning.starts_with("The run ends"), "{preset:?}");
            all_explained(&rows);
        }
        let rows = train_keys(TrainPreset::First, &["lr=0.25".to_owned()]).unwrap();
        assert_eq!(find(&rows, "lr").value, 0.25);
        assert_eq!(find(&rows, "adam.weight_decay").value, 0.1);
        assert!(find(&rows, "model.policy").meaning.contains("a multiple of 128"));
        assert!(find(&rows, "schedule").choices.contains(&"plateau".to_owned()));
        let rows = train_keys(TrainPreset::Chesstrm, &[]).unwrap();
        assert_eq!(
            (find(&rows, "model.family").value.as_str(), find(&rows, "model.width").value.as_i64()),
            (Some("trm"), Some(256))
        );
        assert!(find(&rows, "model.step_weights").choices.contains(&"linear".to_owned()));
    }

    #[test]
    fn the_keys_of_the_loop_are_those_of_the_learner_too_without_those_that_it_sets() {
        for preset in RlPreset::value_variants() {
            for sparse in [&[][..], &["train.model.family=sparse".to_owned()]] {
                let rows = rl_keys(*preset, sparse).unwrap();
                all_explained(&rows);
                assert!(find(&rows, "games_per_iteration").meaning.contains("per iteration"));
                assert!(
                    !find(&rows, "kl.alarm").meaning.is_empty() && find(&rows, "play.visits").value.is_u64()
                );
                assert!(rows.iter().all(|row| row.key != "train.samples" && row.key != "train.seed"));
                let learner = if sparse.is_empty() { "train.batch" } else { "train.self_play.stride" };
                assert!(find(&rows, learner).value.is_u64());
            }
        }
    }
}
