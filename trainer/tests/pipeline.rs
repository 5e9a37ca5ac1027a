//! PGN → games/1 → training → ONNX → a move by the engine.

use std::io::{self, Cursor, Write};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use engine::chess::position::Game;

/// Famous short games, few enough for a small network to memorise.
const GAMES: &str = include_str!("famous.pgn");

/// Panics if the command fails.
fn trainer(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_philidor-trainer");
    let output = Command::new(program).args(arguments).output().expect("the trainer starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Receives the engine's output.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic while writing").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn engine(commands: String) -> String {
    let output = SharedBuffer::default();
    engine::apps::uci::run(Cursor::new(commands), output.clone(), false).unwrap();
    let bytes = output.0.lock().expect("the engine has ended").clone();
    String::from_utf8(bytes).expect("UCI is text")
}

fn metrics(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Also returns the configuration's `sources`.
fn imported() -> (tempfile::TempDir, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("games.pgn"), GAMES).expect("a file");
    trainer(&["import", &path("games.pgn"), "--out", &path("data")]);
    let sources = serde_json::json!([{ "name": "famous", "paths": [path("data/*.h5")] }]);
    (folder, sources)
}

/// Takes the newest checkpoint of the run `name`. The engine plays with and without search.
fn export_verify_and_play(folder: &Path, name: &str) {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let checkpoint = newest(&folder.join(name).join("checkpoints"));
    let net = path(&format!("nets/{name}.onnx"));
    let weights = path(&format!("nets/{name}.safetensors"));
    trainer(&["export", "--checkpoint", &checkpoint, "--out", &net, "--weights", &weights]);
    let verified = trainer(&["verify", &net, "--checkpoint", &weights, "--positions", "256"]);
    assert!(String::from_utf8_lossy(&verified.stdout).starts_with("256 positions"));

    for nodes in [1, 200] {
        let output = engine(format!(
            "setoption name Precision value fp32\nsetoption name WeightsFile value {net}\n\
             setoption name Threads value 1\nisready\n\
             position startpos moves e2e4 e7e5\ngo nodes {nodes}\n"
        ));
        let best = output.lines().find_map(|line| line.strip_prefix("bestmove ")).expect("a bestmove");
        let game = Game::from_uci(None, ["e2e4", "e7e5"]).expect("a legal game");
        let chosen = best.split(' ').next().expect("a move");
        assert!(game.parse_uci(chosen).is_ok(), "{output}");
        // Until another network is named, the engine has the embedded network, which has no fp32.
        let told = |line: &&str| line.starts_with("info string") && !line.contains("Precision fp32");
        assert_eq!(output.lines().find(told), None, "the network was loaded without a warning: {output}");
    }
}

#[test]
fn games_become_a_network_that_plays() {
    let (folder, sources) = imported();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let config = serde_json::json!({
        "sources": sources,
        "model": { "filters": 16, "blocks": 1, "value_hidden": 16 },
        "batch": 24, "samples": 24 * 120, "lr": 0.01, "warmup_steps": 5, "ema": 0.9, "precision": "fp32", "torch_threads": 1,
        "report_every": 40, "validate_every": 60
    });
    std::fs::write(path("config.json"), config.to_string()).expect("a file");
    // In two halves, to test that an interrupted run is resumed.
    let half = format!("samples={}", 24 * 60);
    trainer(&[
        "train",
        "--config",
        &path("config.json"),
        "--run",
        &path("run"),
        "--device",
        "cpu",
        "--set",
        &half,
    ]);
    trainer(&[
        "train",
        "--config",
        &path("config.json"),
        "--run",
        &path("run"),
        "--device",
        "cpu",
        "--resume",
    ]);

    let metrics = metrics(&folder.path().join("run"));
    let reports: Vec<_> = metrics.iter().filter(|line| line.get("policy_loss").is_some()).collect();
    let loss = |line: &serde_json::Value| line["policy_loss"].as_f64().expect("a number");
    let (first, last) = (reports[0], reports[reports.len() - 1]);
    assert!(loss(last) < loss(first) / 2.0, "the policy loss halves: {first} to {last}");
    assert_eq!(last["step"], 120, "both halves together");
    export_verify_and_play(folder.path(), "run");
}

#[test]
fn every_family_becomes_a_network_that_plays() {
    let (folder, sources) = imported();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let convolutions = serde_json::json!({
        "family": "mlp", "convolutions": [8, 8], "hidden": [16], "activation": "gelu"
    });
    for (name, model) in [
        ("linear", serde_json::json!({ "family": "linear" })),
        ("mlp", serde_json::json!({ "family": "mlp", "hidden": [32, 16] })),
        ("mlp-convolutions", convolutions),
        ("policy", serde_json::json!({ "family": "mlp", "hidden": [16], "value": false })),
    ] {
        let config = serde_json::json!({
            "sources": sources, "model": model, "mask_illegal": false, "validation_percent": 20,
            "batch": 24, "samples": 24 * 40, "lr": 0.01, "warmup_steps": 5, "ema": 0.9, "torch_threads": 1,
            "precision": "fp32", "report_every": 10, "validate_every": 20
        });
        std::fs::write(path("config.json"), config.to_string()).expect("a file");
        trainer(&["train", "--config", &path("config.json"), "--run", &path(name), "--device", "cpu"]);
        let metrics = metrics(&folder.path().join(name));
        let reports: Vec<_> = metrics.iter().filter_map(|line| line["policy_loss"].as_f64()).collect();
        assert!(reports[3] < reports[0], "{name}: the policy loss decreases: {reports:?}");
        assert_eq!(metrics[0].get("wdl_loss").is_some(), name.starts_with("mlp"), "{}", metrics[0]);
        export_verify_and_play(folder.path(), name);
    }
}

#[test]
fn each_of_three_epochs_is_validated() {
    let (folder, sources) = imported();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let config = serde_json::json!({
        "sources": sources, "model": { "family": "linear" }, "mask_illegal": false, "validation_percent": 20,
        "batch": 24, "epochs": 3, "validate_epochs": 1, "torch_threads": 1, "precision": "fp32"
    });
    std::fs::write(path("config.json"), config.to_string()).expect("a file");
    trainer(&["train", "--config", &path("config.json"), "--run", &path("run"), "--device", "cpu"]);
    let metrics = metrics(&folder.path().join("run"));
    let validated = metrics.iter().filter(|line| line.get("validation").is_some());
    let steps: Vec<u64> = validated.filter_map(|line| line["step"].as_u64()).collect();
    let &[first, second, last] = steps.as_slice() else { panic!("{steps:?}") };
    // The last batch may belong to two epochs.
    assert!(first > 1 && second == 2 * first && (3 * first - 2..=3 * first).contains(&last), "{steps:?}");
}

fn newest(folder: &Path) -> String {
    let path = folder.join("last.safetensors");
    assert!(path.exists(), "a checkpoint");
    path.to_str().expect("UTF-8").to_owned()
}
