//! The best of many runs, by the validations in their `metrics.jsonl`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::judge::metrics_line::measured;

const DEPTH: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BestMeasure {
    /// Lowest policy loss, which every network has
    #[default]
    PolicyLoss,
    /// Lowest WDL loss
    WdlLoss,
    /// Highest top-1 accuracy
    Top1,
}

impl BestMeasure {
    fn name(self) -> &'static str {
        match self {
            BestMeasure::PolicyLoss => "policy loss",
            BestMeasure::WdlLoss => "WDL loss",
            BestMeasure::Top1 => "top-1 accuracy",
        }
    }
}

/// The moves in the softmax of a run's policy loss. Over all outputs losses are higher, because illegal moves take
/// probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossOver {
    Legal,
    AllOutputs,
    /// `config.json` is missing or unreadable.
    Unknown,
}

impl LossOver {
    /// `sparse` networks have outputs for legal moves only.
    fn of_run(folder: &Path) -> LossOver {
        let text = fs::read_to_string(folder.join("config.json")).ok();
        match text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
            None => LossOver::Unknown,
            Some(config) if config["mask_illegal"] == false => LossOver::AllOutputs,
            Some(_) => LossOver::Legal,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            LossOver::Legal => "legal moves",
            LossOver::AllOutputs => "all outputs, legal or not (mask_illegal false)",
            LossOver::Unknown => "unknown moves (no config.json)",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct BestOfRun {
    pub folder: PathBuf,
    pub samples: u64,
    /// In nats.
    pub policy_loss: Option<f64>,
    pub loss_over: LossOver,
    /// In nats; `None` without a value head.
    pub wdl_loss: Option<f64>,
    pub top1: Option<f64>,
    /// The run's `best` checkpoint, or else its last.
    pub network: Option<PathBuf>,
}

impl BestOfRun {
    /// Lower is better.
    fn key(&self, by: BestMeasure) -> Option<f64> {
        match by {
            BestMeasure::PolicyLoss => self.policy_loss,
            BestMeasure::WdlLoss => self.wdl_loss,
            BestMeasure::Top1 => self.top1.map(|top1| -top1),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct BestOfRuns {
    /// Best first; for the policy loss grouped by [`LossOver`].
    pub runs: Vec<BestOfRun>,
    /// What was not compared: a sentence each.
    pub left_out: Vec<String>,
}

/// The best validation of each run in and below `folders`. Fails if there is none.
pub fn best_of_runs(folders: &[PathBuf], by: BestMeasure) -> Result<BestOfRuns> {
    let mut files = Vec::new();
    for folder in folders {
        find(folder, DEPTH, &mut files).with_context(|| folder.display().to_string())?;
    }
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let folder = file.parent().unwrap_or(Path::new("."));
        let loss_over = LossOver::of_run(folder);
        let mut lines = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(line) => lines.push(line),
                Err(_) => left_out.push(format!("{}:{}: no JSON object", file.display(), number + 1)),
            }
        }
        let validations: Vec<BestOfRun> =
            lines.iter().filter_map(|line| validation(folder, loss_over, line)).collect();
        if !validations.is_empty() && validations.iter().all(|run| run.key(by).is_none()) {
            left_out.push(format!("{}: no validation has a finite {}", folder.display(), by.name()));
        }
        let known = validations.into_iter().filter_map(|run| run.key(by).map(|key| (key, run)));
        runs.extend(known.min_by(|(a, _), (b, _)| a.total_cmp(b)));
    }
    ensure!(
        !runs.is_empty(),
        "no validation yet in {} metrics.jsonl below {}: a run with held-out games validates every `validate_every` steps and at its end",
        files.len(),
        folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    );
    let group = |run: &BestOfRun| (by == BestMeasure::PolicyLoss).then_some(run.loss_over);
    runs.sort_by(|(a, first), (b, second)| group(first).cmp(&group(second)).then(a.total_cmp(b)));
    let runs = runs.into_iter().map(|(_, run)| BestOfRun { network: network(&run.folder), ..run }).collect();
    Ok(BestOfRuns { runs, left_out })
}

/// `depth` is in levels below `folder`.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let metrics = folder.join("metrics.jsonl");
    if metrics.is_file() {
        files.push(metrics);
    }
    let mut below: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    below.sort();
    // Links could form a cycle.
    for path in below.iter().filter(|path| depth > 0 && path.is_dir() && !path.is_symlink()) {
        find(path, depth - 1, files)?;
    }
    Ok(())
}

fn validation(folder: &Path, loss_over: LossOver, line: &Value) -> Option<BestOfRun> {
    let measures = line.get("validation")?;
    let number = |key: &str| measured(measures, key);
    Some(BestOfRun {
        folder: folder.to_owned(),
        samples: line["samples"].as_u64()?,
        policy_loss: number("policy_loss"),
        loss_over,
        wdl_loss: number("wdl_loss"),
        top1: number("top1"),
        network: None,
    })
}

/// `checkpoints/best.safetensors`, or else the last checkpoint by name.
fn network(folder: &Path) -> Option<PathBuf> {
    let checkpoints = folder.join("checkpoints");
    let mut all: Vec<PathBuf> = fs::read_dir(&checkpoints)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    all.sort();
    let best = checkpoints.join("best.safetensors");
    if all.contains(&best) { Some(best) } else { all.pop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(root: &Path, name: &str, lines: &str, checkpoints: &[&str]) {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("checkpoints")).unwrap();
        fs::write(folder.join("metrics.jsonl"), lines).unwrap();
        for checkpoint in checkpoints {
            fs::write(folder.join("checkpoints").join(checkpoint), "").unwrap();
        }
    }

    #[test]
    fn the_best_validation_of_each_run_is_found_and_runs_are_sorted() {
        let root = tempfile::tempdir().unwrap();
        let line = |samples: u64, policy: f64, wdl: &str, top1: f64| {
            format!(
                "{{\"samples\": {samples}, \"step\": 1, \"validation\": \
                 {{\"policy_loss\": {policy}, \"wdl_loss\": {wdl}, \"top1\": {top1}}}}}\n"
            )
        };
        let first = line(10, 3.0, "0.9", 0.2)
            + "{\"samples\": 15, \"policy_loss\": 1.0}\n"
            + &line(20, 2.5, "1.0", 0.3)
            + &line(30, 2.7, "0.95", 0.25)
            + "a torn li";
        run(root.path(), "a/first", &first, &["step-10.safetensors", "best.safetensors"]);
        run(root.path(), "second", &line(5, 2.6, "null", 0.4), &["last.safetensors"]);
        run(root.path(), "none", "{\"samples\": 15, \"policy_loss\": 1.0}\n", &[]);
        let folders = [root.path().to_owned()];
        let best = |by| {
            let found = best_of_runs(&folders, by).unwrap().runs;
            let name = |run: &BestOfRun| run.folder.file_name().unwrap().to_str().unwrap().to_owned();
            found.iter().map(|run| (name(run), run.samples)).collect::<Vec<_>>()
        };
        let named = |name: &str, samples| (name.to_owned(), samples);
        assert_eq!(best(BestMeasure::PolicyLoss), [named("first", 20), named("second", 5)]);
        assert_eq!(best(BestMeasure::Top1), [named("second", 5), named("first", 20)]);
        assert_eq!(best(BestMeasure::WdlLoss), [named("first", 10)]);
        let BestOfRuns { runs: found, left_out } = best_of_runs(&folders, BestMeasure::PolicyLoss).unwrap();
        let [torn] = left_out.as_slice() else { panic!("{left_out:?}") };
        assert!(torn.ends_with("first/metrics.jsonl:5: no JSON object"), "{torn}");
        let by_wdl = best_of_runs(&folders, BestMeasure::WdlLoss).unwrap().left_out;
        assert!(
            by_wdl.iter().any(|why| why.ends_with("second: no validation has a finite WDL loss")),
            "{by_wdl:?}"
        );
        let files: Vec<String> = found
            .iter()
            .map(|run| run.network.as_ref().unwrap().file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(files, ["best.safetensors", "last.safetensors"]);
        let error = best_of_runs(&[root.path().join("none")], BestMeasure::Top1).unwrap_err().to_string();
        assert!(error.contains("no validation yet in 1 metrics.jsonl"), "{error}");
        assert!(best_of_runs(&[root.path().join("missing")], BestMeasure::Top1).is_err());
    }

    /// An untrained network guesses among 30 legal moves: 3.4 nat, less than a trained network's loss over all outputs.
    #[test]
    fn losses_over_other_moves_are_ranked_apart() {
        let root = tempfile::tempdir().unwrap();
        let line = |policy: f64, top1: f64| {
            format!("{{\"samples\": 9, \"validation\": {{\"policy_loss\": {policy}, \"top1\": {top1}}}}}\n")
        };
        let with_config = |name: &str, policy, top1, config: &str| {
            run(root.path(), name, &line(policy, top1), &[]);
            fs::write(root.path().join(name).join("config.json"), config).unwrap();
        };
        with_config("untrained", 3.4, 0.03, r#"{"mask_illegal": true}"#);
        with_config("sparse", 2.2, 0.5, r#"{"policy_width": 128}"#);
        with_config("trained", 3.6, 0.4, r#"{"mask_illegal": false}"#);
        with_config("worse", 3.9, 0.3, r#"{"mask_illegal": false}"#);
        run(root.path(), "old", &line(2.0, 0.45), &[]);
        with_config("value only", 0.0, 0.0, r#"{"mask_illegal": true}"#);
        let names = |by| -> Vec<String> {
            let found = best_of_runs(&[root.path().to_owned()], by).unwrap().runs;
            found.iter().map(|run| run.folder.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(BestMeasure::PolicyLoss), ["sparse", "untrained", "trained", "worse", "old"]);
        assert_eq!(names(BestMeasure::Top1), ["sparse", "old", "trained", "worse", "untrained"]);
    }
}
