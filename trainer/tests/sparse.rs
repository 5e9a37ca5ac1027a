//! The family `sparse`, by the built program: it needs no libtorch.

use std::path::Path;
use std::process::{Command, Output};

use engine::position::{Game, PackedMove};
use serde_json::{Value, json};
use trainer::dataset::{self, ChunkWriter};
use trainer::record::{GameRecord, GameResult};

fn trainer(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
    command.current_dir(folder).args(arguments).output().expect("the trainer starts")
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = trainer(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = trainer(folder, arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("text")
}

/// Writes `games-00000.h5`: short random games with evaluations.
fn write_games(folder: &Path, count: i64) {
    let mut writer = ChunkWriter::new(folder, "games", "random games", 1_000_000).expect("a folder");
    let mut rng = fastrand::Rng::with_seed(1);
    for number in 0..count {
        let mut game = Game::new();
        let mut moves = Vec::new();
        for _ in 0..rng.usize(8..20) {
            let m = rng.choice(game.legal_moves()).expect("a legal move");
            game.play(m);
            moves.push(PackedMove::new(m));
        }
        let result = GameResult::from_code((number % 3 - 1) as i8).expect("a result");
        let evals = (0..moves.len()).map(|_| rng.i16(-200..200)).collect();
        writer.push(&GameRecord { moves, result, evals, ..GameRecord::default() }).expect("a game");
    }
    writer.finish().expect("a file");
}

fn write_config(folder: &Path) {
    let config = json!({
        "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
        "sources": [{ "name": "games", "paths": ["games-*.h5"], "stride": 2 }],
        "batch": 32, "block": 4, "samples": 640, "lr": 0.01, "warmup_samples": 0, "threads": 2,
        "validation_percent": 20, "validate_every": 10, "report_every": 4, "validation_samples": 50
    });
    std::fs::write(folder.join("config.json"), config.to_string()).expect("a file");
}

#[test]
fn a_network_is_trained_exported_judged_and_plays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_games(at, 80);
    write_config(at);
    succeeds(at, &["train", "--config", "config.json", "--run", "run"]);
    let checkpoint = "run/checkpoints/last.safetensors";
    succeeds(at, &["export", "--checkpoint", checkpoint, "--out", "net.onnx"]);
    for net in ["net.onnx", "net.int8.onnx"] {
        let said = succeeds(at, &["verify", net, "--checkpoint", checkpoint, "--positions", "40"]);
        assert!(said.starts_with("40 positions"), "{said}");
    }

    // Both forms are the same integers to the engine, beside a network that ONNX Runtime runs.
    let nets = ["net.onnx", "net.int8.onnx", "embedded.int8"];
    let judged = |command: &str, more: &[&str]| -> Value {
        succeeds(at, &[&["evaluate", command][..], &nets, &["--json", "out.json"], more].concat());
        serde_json::from_slice(&std::fs::read(at.join("out.json")).expect("numbers")).expect("JSON")
    };
    let parts = judged("accuracy", &["--games", "games-00000.h5", "--split", "all", "--positions", "200"]);
    let networks = &parts.as_array().expect("parts").last().expect("all of it")["networks"];
    assert_eq!(networks["net.onnx"], networks["net.int8.onnx"]);
    assert!(networks["net.onnx"]["wdl_loss"].is_f64() && networks["embedded.int8"]["top1"].is_f64());
    judged("canaries", &["--nodes", "10"]);
    let error = fails(at, &["evaluate", "accuracy", "net.onnx", "--raw", "--games", "games-00000.h5"]);
    assert!(
        error.contains("--raw, accuracy among all outputs, does not apply to networks of the family sparse")
    );
    let error =
        fails(at, &["evaluate", "accuracy", "net.onnx", "--think-steps", "2", "--games", "games-00000.h5"]);
    assert!(error.contains("--think-steps does not apply"), "{error}");
    let error = fails(at, &["heatmap", "net.onnx", "--piece", "N"]);
    assert!(error.contains("does not apply to networks of the family sparse"), "{error}");

    // It plays; the same seed gives the same games.
    let rules = ["--set", "visits=20", "--set", "max_plies=20", "--set", "workers=1"];
    for (name, net) in [("one", "net.onnx"), ("two", "net.int8.onnx")] {
        let more = ["self-play", "--net", net, "--games", "4", "--out", "data", "--name", name];
        succeeds(at, &[&more[..], &rules].concat());
    }
    let games = |name: &str| dataset::read(&at.join(format!("data/{name}-00000.h5"))).expect("a file");
    let moves = |name: &str| (0..4).map(|game| games(name).game(game).moves).collect::<Vec<_>>();
    assert_eq!(moves("one"), moves("two"));
    let said = succeeds(
        at,
        &["arena", "net.onnx", "random", "--visits", "10", "--games", "4", "--workers", "1", "--plies", "30"],
    );
    assert!(said.contains("pairs 0 ½ 1 1½ 2: "), "{said}");
}
