//! Starting a run: what a person chose in the form, which is made from the trainer's own table of keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::follow::RunKind;
use crate::play::ActionError;

/// In characters.
const LONGEST_NAME: usize = 60;
const MOST_KEYS: usize = 500;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOrder {
    pub command: RunKind,
    pub preset: String,
    /// Of the run's folder.
    pub name: String,
    /// Keys that differ from the preset.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Of `rl`; without them it runs until it is paused.
    #[serde(default)]
    pub iterations: Option<u64>,
}

/// What the form shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysQuery {
    pub command: RunKind,
    #[serde(default)]
    pub preset: String,
    /// Of `rl`: the network is of the family `sparse`.
    #[serde(default)]
    pub sparse: bool,
}

fn is_plain(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(is_known)
}

impl RunOrder {
    pub fn check(&self) -> Result<(), ActionError> {
        let invalid = |text: &str| Err(ActionError::Invalid(text.to_owned()));
        if !is_plain(&self.name) || self.name.len() > LONGEST_NAME {
            return invalid("A run's name has letters, digits, '-', '_' and '.', at most 60.");
        }
        if !is_plain(&self.preset) {
            return invalid("There is no such preset: choose another.");
        }
        if self.set.len() > MOST_KEYS || self.set.keys().any(|key| !key.split('.').all(is_plain)) {
            return invalid("That is no key of a configuration.");
        }
        Ok(())
    }

    /// Of `philidor-trainer`.
    pub fn arguments(&self, folder: &Path) -> Vec<String> {
        let command = self.command.command();
        let mut arguments = vec![command.to_owned(), "--preset".to_owned(), self.preset.clone()];
        arguments.extend(["--run".to_owned(), folder.display().to_string()]);
        // The JSON of a text is a text in any case, as `true` and `7` are not without their quotation marks.
        arguments
            .extend(self.set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]));
        arguments
            .extend(self.iterations.iter().flat_map(|count| ["--iterations".to_owned(), count.to_string()]));
        arguments
    }
}

impl KeysQuery {
    /// Of `philidor-trainer`.
    pub fn arguments(&self) -> Result<Vec<String>, ActionError> {
        let mut arguments = vec!["keys", self.command.command(), "--json"];
        if !self.preset.is_empty() {
            if !is_plain(&self.preset) {
                return Err(ActionError::Invalid("There is no such preset: choose another.".to_owned()));
            }
            arguments.extend(["--preset", &self.preset]);
        }
        if self.sparse {
            arguments.extend(["--set", "train.model.family=sparse"]);
        }
        Ok(arguments.into_iter().map(str::to_owned).collect())
    }
}

/// Folders of runs in a folder, by name.
pub fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_run = |path: &PathBuf| {
        ["config.json", "metrics.jsonl", super::control::LOG].iter().any(|name| path.join(name).exists())
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_run).collect();
    found.sort();
    found
}

/// Networks in a folder, by name.
pub fn networks_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_network = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        path.is_file() && ending.is_some_and(|ending| ["onnx", "safetensors"].contains(&ending))
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_network).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(value: Value) -> RunOrder {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_order_becomes_the_trainers_command_line() {
        let order = order(json!({"command": "rl", "preset": "tiny", "name": "loop-1", "iterations": 4,
            "set": {"play.visits": 9, "start": "7", "train.adam": {"lazy": true}}}));
        order.check().unwrap();
        assert_eq!(
            order.arguments(Path::new("runs/loop-1")).join(" "),
            "rl --preset tiny --run runs/loop-1 --set play.visits=9 --set start=\"7\" \
             --set train.adam={\"lazy\":true} --iterations 4"
        );
        let query = |preset: &str| KeysQuery { command: RunKind::Rl, preset: preset.into(), sparse: true };
        assert_eq!(
            query("cpu").arguments().unwrap().join(" "),
            "keys rl --json --preset cpu --set train.model.family=sparse"
        );
        assert!(query("--help").arguments().is_err());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let named = |name: &str, preset: &str, key: &str| {
            order(json!({"command": "train", "preset": preset, "name": name, "set": {key: 1}})).check()
        };
        named("first.2", "cpu", "model.policy").unwrap();
        for (name, preset, key) in [
            ("../x", "cpu", "lr"),
            ("a/b", "cpu", "lr"),
            ("", "cpu", "lr"),
            (".git", "cpu", "lr"),
            ("-x", "cpu", "lr"),
            ("a", "--config", "lr"),
            ("a", "cpu", "lr=1 x"),
            ("a", "cpu", "--resume"),
            ("a", "cpu", "a..b"),
        ] {
            assert!(named(name, preset, key).is_err(), "{name} {preset} {key}");
        }
    }

    #[test]
    fn runs_and_networks_are_found_in_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        for (name, file) in [("b", "config.json"), ("a", "metrics.jsonl"), ("c", "notes.txt")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join(file), "").unwrap();
        }
        std::fs::write(folder.path().join("net.int8.onnx"), "").unwrap();
        std::fs::write(folder.path().join("net.md"), "").unwrap();
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            paths.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(runs_in(folder.path())), ["a", "b"]);
        assert_eq!(names(networks_in(folder.path())), ["net.int8.onnx"]);
        assert!(runs_in(Path::new("/nonexistent")).is_empty());
    }
}
