//! The checkpoint from which a run goes on, and which games it must go on to hold out. `learn/torch/resume.rs` and
//! `learn/sparse/resume.rs` restore what it holds; a run of `rl` goes on in `play/rl/run/resume.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use serde::Serialize;
use serde_json::Value;

use super::RunFolder;
use super::folder::list;

impl RunFolder {
    /// Returns the result of `read` for the newest readable checkpoint, or the error of the newest.
    pub fn resumed<T>(&self, read: impl Fn(&Path) -> Result<T>) -> Result<T> {
        let mut newest = None;
        for path in list(self.path()).iter().rev() {
            match read(path) {
                Ok(value) => return Ok(value),
                Err(error) => {
                    log::warn!("{error:#}; skipped");
                    newest.get_or_insert(error);
                }
            }
        }
        let none = || anyhow!("it contains no checkpoint; start it again without --resume");
        Err(newest.unwrap_or_else(none))
            .with_context(|| format!("{} cannot be resumed", self.path().display()))
    }
}

/// Keys of a model that concern only training, so that a run that is resumed may have others.
const OF_TRAINING: [&str; 6] =
    ["dropout", "policy_dropout", "value_dropout", "rounding", "step_weights", "kept_steps"];

/// Fails if a resumed run would have weights of another structure.
pub fn same_model(before: &impl Serialize, now: &impl Serialize) -> Result<()> {
    let (before, now) = (serde_json::to_value(before)?, serde_json::to_value(now)?);
    let keys = |model: &Value| model.as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>());
    let keys: BTreeSet<String> = [&before, &now].into_iter().filter_map(keys).flatten().collect();
    let is_other = |key: &&String| !OF_TRAINING.contains(&key.as_str()) && before[*key] != now[*key];
    let text = |key: &String| format!("model.{key} was {} and cannot become {}", before[key], now[key]);
    let changes: Vec<String> = keys.iter().filter(is_other).map(text).collect();
    ensure!(
        changes.is_empty(),
        "{}: the model of a run is fixed; leave it as it is, or start a new run",
        changes.join(", ")
    );
    Ok(())
}

/// Fails if a resumed run would split the games differently: it would train on held-out games, or validate on games
/// that it has learnt.
pub fn same_split(before: u64, now: u64) -> Result<()> {
    ensure!(
        before == now,
        "validation_percent was {before} and cannot become {now} in a run that is resumed: {}; keep it, or start a new \
         run",
        if now < before {
            "held-out games would become training games"
        } else {
            "games that were learnt would become held-out games"
        }
    );
    Ok(())
}

/// What to warn of when a run that holds out `now` per cent of the games begins with a network whose run held out
/// `before`: with more of them held out, some were learnt.
pub fn seen_before(before: u64, now: u64) -> Option<String> {
    (now > before).then(|| {
        format!(
            "the initial network was trained with validation_percent {before}, this run has {now}: it may have learnt \
             games that are held out here, and validations then flatter it"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_changed_keys_of_a_model_are_named() {
        let before = json!({ "family": "resnet", "filters": 64, "blocks": 5, "value_dropout": 0.0 });
        let now = json!({ "family": "resnet", "filters": 8, "blocks": 5, "value_dropout": 0.5 });
        let error = same_model(&before, &now).unwrap_err().to_string();
        assert!(
            error.starts_with("model.filters was 64 and cannot become 8: the model of a run is fixed"),
            "{error}"
        );
        let dropout = json!({ "family": "resnet", "filters": 64, "blocks": 5, "value_dropout": 0.5 });
        assert!(same_model(&before, &dropout).is_ok());
        // Other steps: another network, whose losses do not compare with those of `best`.
        let steps = |steps: u32, kept: u32| json!({ "family": "trm", "steps": steps, "kept_steps": kept });
        assert!(same_model(&steps(16, 1), &steps(16, 4)).is_ok());
        let error = same_model(&steps(16, 1), &steps(8, 1)).unwrap_err().to_string();
        assert!(error.starts_with("model.steps was 16 and cannot become 8: "), "{error}");
        let more =
            json!({ "family": "resnet", "filters": 64, "blocks": 6, "se": true, "value_dropout": 0.0 });
        let error = same_model(&before, &more).unwrap_err().to_string();
        assert!(
            error.starts_with("model.blocks was 5 and cannot become 6, model.se was null and"),
            "{error}"
        );
    }
}
