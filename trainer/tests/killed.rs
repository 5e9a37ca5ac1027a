//! A training run killed at any moment continues from its last checkpoint with the same result.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const GAMES: &str = include_str!("famous.pgn");

fn trainer(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
    command.current_dir(folder).args(arguments);
    command
}

fn succeeds(mut command: Command) {
    let output = command.output().expect("the trainer starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Without times and rates.
fn curve(run: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    lines
        .map(|mut line| {
            let fields = line.as_object_mut().expect("an object");
            fields.retain(|key, _| !["time_s", "samples_per_s"].contains(&key.as_str()));
            line.to_string()
        })
        .collect()
}

/// Trains in one go, and killed twice and resumed.
fn is_resumed_as_it_was(config: &serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("games.pgn"), GAMES).expect("a file");
    succeeds(trainer(at, &["import", "games.pgn", "--out", "data"]));
    std::fs::write(at.join("config.json"), config.to_string()).expect("a file");
    let train = |run: &str, resume: bool| {
        let mut arguments = vec!["train", "--config", "config.json", "--device", "cpu", "--run", run];
        if resume {
            arguments.push("--resume");
        }
        trainer(at, &arguments)
    };
    succeeds(train("whole", false));

    for attempt in 0.. {
        let mut child =
            train("killed", attempt > 0).stderr(Stdio::piped()).spawn().expect("the trainer starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        // At the first line of progress some steps and checkpoints are done, but many are not.
        let progress =
            stderr.lines().map_while(Result::ok).find(|line| line.contains("samples ") && line.contains('%'));
        assert!(progress.is_some(), "a line of progress");
        child.kill().expect("it can be killed");
        assert!(!child.wait().expect("it ends").success(), "killed, not finished");
        if attempt == 1 {
            break;
        }
    }
    succeeds(train("killed", true));
    assert_eq!(curve(&at.join("killed")), curve(&at.join("whole")));
}

#[test]
fn a_killed_run_is_resumed_with_the_same_result() {
    is_resumed_as_it_was(&serde_json::json!({
        "sources": [{ "name": "famous", "paths": ["data/*.h5"] }],
        "model": { "filters": 8, "blocks": 1, "se_ratio": 4, "value_hidden": 8, "value_dropout": 0.2 },
        "batch": 8, "samples": 8 * 90, "lr": 0.01, "warmup_steps": 5, "ema": 0.9, "swa_from": 0.5,
        "precision": "fp32", "torch_threads": 1,
        "report_every": 7, "validate_every": 1000, "checkpoint_every_s": 0
    }));
}

#[test]
fn so_is_one_of_the_family_sparse() {
    is_resumed_as_it_was(&serde_json::json!({
        "sources": [{ "name": "famous", "paths": ["data/*.h5"] }],
        "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
        "batch": 32, "block": 2, "samples": 32 * 60, "lr": 0.01, "warmup_samples": 64, "threads": 1, "adam": { "lazy": true },
        "average_samples": 500, "report_every": 7, "validate_every": 1000, "checkpoint_every_s": 0
    }));
}
