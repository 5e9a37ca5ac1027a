//! Configurations in JSON: one laid over another, and single keys set from the command line.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The files that a run is configured by, the lowest first: one that goes on, `resumed`, keeps its own configuration but
/// for what `config` says, unless a preset is to lie below that.
///
/// # Errors
/// One line, if a preset would change nothing.
pub fn files(resumed: Option<&Path>, preset: bool, config: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let own = resumed.map(|run| run.join("config.json"));
    match (own, config) {
        (Some(own), None) if preset => Err(format!(
            "--preset changes nothing with --resume: {} has every key; change some with --set, or name a --config",
            own.display()
        )),
        (own, config) => Ok(own.filter(|_| !preset).into_iter().chain(config.map(Path::to_owned)).collect()),
    }
}

/// Lays JSON files over `below`, each over the one before it.
///
/// # Errors
/// One line: what can't be read.
pub fn lay_files(below: &mut Value, files: &[PathBuf]) -> Result<(), String> {
    for path in files {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("can't read {}: {error}", path.display()))?;
        let above = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        lay_over(below, above);
    }
    Ok(())
}

/// Where to look for what is wrong with a configuration that these files were laid over.
pub fn place(files: &[PathBuf]) -> String {
    files.last().map_or("the configuration".into(), |path| path.display().to_string())
}

/// Replaces in `below` what `above` says. Objects are merged key by key, unless they are networks of different
/// families, whose keys are others; in a list, as of sources, those that have the same name.
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
        (Value::Array(below), Value::Array(above)) => {
            let old = std::mem::replace(below, above);
            for item in below.iter_mut().filter(|item| item.get("name").is_some()) {
                if let Some(same) = old.iter().find(|other| other.get("name") == item.get("name")) {
                    let above = std::mem::replace(item, same.clone());
                    lay_over(item, above);
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_is_replaced_but_what_has_the_same_name_keeps_its_other_keys() {
        let mut below = json!({ "sources": [
            { "name": "a", "weight": 2, "select": { "min_elo": 2200 } }, { "name": "b", "weight": 3 }
        ], "list": [1, 2] });
        lay_over(
            &mut below,
            json!({ "sources": [{ "name": "c" }, { "name": "a", "weight": 5 }], "list": [3] }),
        );
        let expected = json!({ "sources": [
            { "name": "c" }, { "name": "a", "weight": 5, "select": { "min_elo": 2200 } }
        ], "list": [3] });
        assert_eq!(below, expected);
    }

    #[test]
    fn a_run_that_goes_on_has_a_configuration_of_its_own() {
        let (run, file) = (Some(Path::new("run")), Some(Path::new("more.json")));
        let paths = |names: &[&str]| Ok(names.iter().map(PathBuf::from).collect());
        assert_eq!(files(None, true, None), paths(&[]));
        assert_eq!(files(None, false, file), paths(&["more.json"]));
        assert_eq!(files(run, false, None), paths(&["run/config.json"]));
        assert_eq!(files(run, false, file), paths(&["run/config.json", "more.json"]));
        assert_eq!(files(run, true, file), paths(&["more.json"]));
        assert!(files(run, true, None).unwrap_err().contains("run/config.json has every key"));
    }
}
