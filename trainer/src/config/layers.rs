//! Merges JSON configuration files and keys from the command line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json;

/// The configuration files, lowest layer first. A resumed run's own `config.json` is the lowest, unless a preset
/// replaces it; with a preset but no `config` nothing would change, which is an error.
pub fn files(resumed: Option<&Path>, preset: bool, config: Option<&Path>) -> Result<Vec<PathBuf>> {
    let own = resumed.map(|run| run.join("config.json"));
    if let Some(own) = own.as_ref().filter(|own| !own.exists()) {
        let run = own.parent().unwrap_or(own).display();
        bail!(
            "{run} holds no run to resume: it has no config.json; name another folder, or start without --resume"
        );
    }
    match (own, config) {
        (Some(own), None) if preset => bail!(
            "--preset changes nothing with --resume: {} has every key; change some with --set, or name a --config",
            own.display()
        ),
        (own, config) => Ok(own.filter(|_| !preset).into_iter().chain(config.map(Path::to_owned)).collect()),
    }
}

/// Merges the files over `below`, each over the one before.
pub fn lay_files(below: &mut Value, files: &[PathBuf]) -> Result<()> {
    for path in files {
        lay_over(below, read(path)?);
    }
    Ok(())
}

pub fn merged(mut below: Value, files: &[PathBuf], overrides: &[String]) -> Result<Value> {
    let layers: Vec<Value> = files.iter().map(|path| read(path)).collect::<Result<_>>()?;
    layers.iter().for_each(|layer| lay_over(&mut below, layer.clone()));
    set(&mut below, overrides)?;
    refuse_hidden(&below, (files, &layers), overrides)?;
    Ok(below)
}

/// Refuses to set a key whose value another key of a lower layer replaces.
fn refuse_hidden(json: &Value, (files, layers): (&[PathBuf], &[Value]), overrides: &[String]) -> Result<()> {
    let set = |key| overrides.iter().find(|entry| entry.split('=').next() == Some(key));
    for (key, stronger) in [("samples", "epochs"), ("validate_every", "validate_epochs")] {
        let value = json[stronger].as_f64().unwrap_or(0.0);
        if value <= 0.0 {
            continue;
        }
        if let Some(entry) = set(key) {
            bail!("--set {entry}: no effect, because {stronger} {value} sets {key}; add --set {stronger}=0");
        }
        // The highest file with one of the two keys decides. A run's own configuration has both.
        let has = |layer: &Value, key| layer.get(key).is_some();
        let highest = layers.iter().rposition(|layer| has(layer, key) || has(layer, stronger));
        if let Some(index) =
            highest.filter(|index| !has(&layers[*index], stronger) && set(stronger).is_none())
        {
            bail!(
                "{}: {key} has no effect, because {stronger} {value} sets it; add \"{stronger}\": 0",
                files[index].display()
            );
        }
    }
    Ok(())
}

/// Merges every source over the object `source_defaults` and removes that key.
pub fn give_defaults(json: &mut Value) {
    let Some(defaults) = json.as_object_mut().and_then(|json| json.remove("source_defaults")) else { return };
    for list in ["/sources", "/ewc/sources"] {
        for source in json.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let own = std::mem::replace(source, defaults.clone());
            lay_over(source, own);
        }
    }
}

pub fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut json = json::parse(&text).with_context(|| path.display().to_string())?;
    uncomment(&mut json);
    Ok(json)
}

/// `comment` documents sources in shipped configurations.
pub(crate) fn uncomment(json: &mut Value) {
    json.as_object_mut().and_then(|json| json.remove("comment"));
}

pub fn place(files: &[PathBuf]) -> String {
    files.last().map_or("the configuration".into(), |path| path.display().to_string())
}

/// Merges `above` over `below`, objects key by key. Another network family drops the old family's keys. A list replaces
/// the old list, but its items are merged over old items of the same `name`.
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

/// Errors name the key.
pub fn parsed<T: DeserializeOwned>(json: Value) -> Result<T> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let (key, why) = (error.path().to_string(), error.inner().to_string());
        // Some types name their key themselves, and "." is no key.
        let is_named = key == "." || why.starts_with(&format!("{key}: "));
        if is_named { anyhow!(why) } else { anyhow!("{key}: {why}") }
    })
}

/// Applies overrides `key=value`: dots for nesting (`model.filters=96`), the value JSON or bare text.
pub fn set(json: &mut Value, overrides: &[String]) -> Result<()> {
    for entry in overrides {
        let (key, value) =
            entry.split_once('=').with_context(|| format!("--set {entry}: expected key=value"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let mut place = &mut *json;
        for part in key.split('.') {
            if !place.is_object() && !place.is_null() {
                bail!("--set {entry}: the parent of {part} is no object");
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
    use crate::config::{RlConfig, RlPreset, TrainConfig};
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
    fn a_value_of_another_kind_is_named_by_its_key() {
        for (set, expected) in [
            ("lr=x", r#"lr: invalid type: string "x", expected f64"#),
            ("model.filters=x", r#"model: invalid type: string "x""#),
            ("teacher.alpha=[]", "teacher.alpha: invalid type: sequence"),
        ] {
            let error = TrainConfig::parse("{}", &[set.to_owned()]).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let load = |set: &str| RlConfig::load(RlPreset::default(), &[], &[set.to_owned()]).unwrap_err();
        let error = format!("{:#}", load("play.visits=x"));
        assert!(error.contains(r#": play.visits: invalid type: string "x""#), "{error}");
        let error = format!("{:#}", load("train.lr=x"));
        assert!(error.contains(r#"train: lr: invalid type: string "x""#), "{error}");
    }

    #[test]
    fn a_key_that_another_one_replaces_is_not_set_in_silence() {
        let set = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|entry| (*entry).to_owned()).collect();
            merged(json!({ "epochs": 2.5, "samples": 10, "validate_every": 5 }), &[], &overrides)
        };
        let error = set(&["samples=40"]).unwrap_err().to_string();
        assert_eq!(error, "--set samples=40: no effect, because epochs 2.5 sets samples; add --set epochs=0");
        assert_eq!(set(&["samples=40", "epochs=0"]).unwrap()["samples"], 40);
        assert_eq!(set(&["validate_every=7"]).unwrap()["validate_every"], 7);
        let error = set(&["validate_every=7", "validate_epochs=1"]).unwrap_err().to_string();
        assert!(error.contains("validate_epochs 1 sets validate_every"), "{error}");

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("own.json"), r#"{ "epochs": 2.5, "samples": 10 }"#).unwrap();
        std::fs::write(at("more.json"), r#"{ "samples": 40 }"#).unwrap();
        std::fs::write(at("none.json"), r#"{ "samples": 40, "epochs": 0 }"#).unwrap();
        let laid = |names: &[&str], overrides: &[String]| {
            let files: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
            merged(json!({ "epochs": 1 }), &files, overrides)
        };
        for names in [&["more.json"][..], &["own.json", "more.json"]] {
            let error = laid(names, &[]).unwrap_err().to_string();
            let why = error.strip_prefix(&at("more.json").display().to_string());
            assert!(
                why.is_some_and(|why| why.starts_with(": samples has no effect, because epochs")),
                "{error}"
            );
        }
        for names in [&["own.json"][..], &["none.json"], &["more.json", "own.json"]] {
            laid(names, &[]).unwrap();
        }
        for epochs in ["epochs=0", "epochs=3"] {
            laid(&["more.json"], &[epochs.to_owned()]).unwrap();
        }
    }

    #[test]
    fn a_resumed_run_has_its_own_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("config.json");
        let (run, file, more) =
            (Some(folder.path()), Some(Path::new("more.json")), PathBuf::from("more.json"));
        assert_eq!(files(None, true, None).unwrap(), Vec::<PathBuf>::new());
        assert_eq!(files(None, false, file).unwrap(), std::slice::from_ref(&more));
        for preset in [false, true] {
            let error = files(run, preset, file).unwrap_err().to_string();
            assert!(error.contains("holds no run to resume: it has no config.json"), "{error}");
        }
        std::fs::write(&own, "{}").unwrap();
        assert_eq!(files(run, false, None).unwrap(), std::slice::from_ref(&own));
        assert_eq!(files(run, false, file).unwrap(), [own, more.clone()]);
        assert_eq!(files(run, true, file).unwrap(), [more]);
        assert!(files(run, true, None).unwrap_err().to_string().contains("config.json has every key"));
    }
}
