//! Configurations in JSON: one laid over another, and single keys set from the command line.

use serde_json::Value;

/// Replaces in `below` what `above` says; objects are merged key by key, unless they are networks of different
/// families, whose keys are others.
pub fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            if let (Some(old), Some(new)) = (below.get("family"), above.get("family"))
                && old != new
            {
                below.clear();
            }
            for (key, value) in above {
                lay_over(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

/// Applies overrides, each `key=value` with dots in the key for nesting (`model.filters=96`) and a JSON value (or bare
/// text).
///
/// # Errors
/// One line: which override can't be understood.
pub fn set(json: &mut Value, overrides: &[String]) -> Result<(), String> {
    for entry in overrides {
        let (key, value) =
            entry.split_once('=').ok_or_else(|| format!("--set {entry}: expected key=value"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let mut place = &mut *json;
        for part in key.split('.') {
            if !place.is_object() && !place.is_null() {
                return Err(format!("--set {entry}: there is nothing inside of {part}'s parent"));
            }
            place = &mut place[part];
        }
        *place = value;
    }
    Ok(())
}
