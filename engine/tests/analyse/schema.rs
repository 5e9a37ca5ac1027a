//! The documentation's JSON Schema, checked with the subset of JSON Schema that it uses.

use serde_json::{Map, Value};

pub struct Schema(Value);

impl Schema {
    pub fn of_the_docs() -> Schema {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/analysis.schema.json");
        Schema(serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON"))
    }

    pub fn definition(&self, name: &str) -> &Value {
        self.0["$defs"].get(name).unwrap_or_else(|| panic!("no definition {name}"))
    }

    pub fn check(&self, name: &str, value: &Value) {
        if let Err(error) = self.matches(self.definition(name), value) {
            panic!("{error}, in {value}");
        }
    }

    fn matches(&self, schema: &Value, value: &Value) -> Result<(), String> {
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            let wrong = || Err(format!("not {keyword} {rule}: {value}"));
            let is_right = match keyword.as_str() {
                "description" | "default" | "examples" => true,
                "$ref" => {
                    let name = rule.as_str().and_then(|path| path.strip_prefix("#/$defs/"));
                    self.matches(self.definition(name.expect("a definition")), value)?;
                    true
                }
                "oneOf" => {
                    let found = list(rule).iter().map(|rule| self.matches(rule, value));
                    let errors: Vec<String> = found.filter_map(Result::err).collect();
                    if errors.len() + 1 != list(rule).len() {
                        return Err(format!("not one of {}: {errors:?}", list(rule).len()));
                    }
                    true
                }
                "type" => is_type(rule.as_str().expect("a type"), value),
                "enum" => list(rule).contains(value),
                "const" => rule == value,
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
                "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number")),
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= rule.as_u64().expect("a number")),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 <= rule.as_u64().expect("a number")),
                "uniqueItems" => value
                    .as_array()
                    .is_none_or(|items| (1..items.len()).all(|at| !items[..at].contains(&items[at]))),
                "maxLength" => value
                    .as_str()
                    .is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().expect("a number")),
                "minProperties" => {
                    value.as_object().is_none_or(|map| map.len() as u64 >= rule.as_u64().expect("a number"))
                }
                "maxProperties" => {
                    value.as_object().is_none_or(|map| map.len() as u64 <= rule.as_u64().expect("a number"))
                }
                "items" => {
                    value.as_array().into_iter().flatten().try_for_each(|item| self.matches(rule, item))?;
                    true
                }
                "required" => list(rule).iter().all(|key| value.get(key.as_str().expect("a key")).is_some()),
                "properties" => {
                    let properties = rule.as_object().expect("properties");
                    self.properties(properties, value)?;
                    true
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    let is_other = |key: &String| known.is_none_or(|known| !known.contains_key(key));
                    let mut others = value.as_object().into_iter().flatten().filter(|(key, _)| is_other(key));
                    match rule {
                        Value::Bool(false) => others.next().is_none(),
                        rule => {
                            others.try_for_each(|(_, value)| self.matches(rule, value))?;
                            true
                        }
                    }
                }
                _ => panic!("the schema has a keyword that is not checked: {keyword}"),
            };
            if !is_right {
                return wrong();
            }
        }
        Ok(())
    }

    fn properties(&self, properties: &Map<String, Value>, value: &Value) -> Result<(), String> {
        let Some(map) = value.as_object() else { return Ok(()) };
        map.iter().try_for_each(|(key, value)| {
            properties
                .get(key)
                .map_or(Ok(()), |rule| self.matches(rule, value).map_err(|error| format!("{key}: {error}")))
        })
    }
}

fn list(rule: &Value) -> &Vec<Value> {
    rule.as_array().expect("a list")
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("no type {name}"),
    }
}
