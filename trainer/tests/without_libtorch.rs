#![cfg(not(feature = "libtorch"))]

use std::process::{Command, Output};

fn trainer(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_philidor-trainer")).args(args).output().expect("the binary runs")
}

#[test]
fn commands_that_need_libtorch_say_how_to_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.json");
    let text = r#"{ "model": { "family": "resnet" }, "sources": [{ "name": "a", "paths": ["a.h5"] }] }"#;
    std::fs::write(&config, text).expect("a file");
    for args in [
        // `config` is a resnet: the family sparse would train without libtorch.
        &["train", "--config", config.to_str().expect("a path"), "--run", "runs/first"][..],
        &["overfit", "--config", config.to_str().expect("a path")],
        &["lr-finder", "--config", config.to_str().expect("a path")],
        &["verify", "net.onnx", "--checkpoint", "other.safetensors"],
        &["quantise", "net.onnx"],
        &["rl", "--preset", "tiny", "--device", "cpu"],
    ] {
        let output = trainer(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{args:?}");
        for part in ["built without it", "scripts/setup.sh", "cargo build --release -p trainer"] {
            assert!(error.contains(part), "{args:?}: {error}");
        }
        assert_eq!(output.stdout, b"", "{args:?}");
    }
}

#[test]
fn the_other_commands_are_there() {
    for command in [
        "fetch-games",
        "import",
        "mine",
        "annotate",
        "self-play",
        "arena",
        "compare",
        "verify",
        "rl",
        "inspect",
        "export-pgn",
        "rate",
        "plot",
        "convert-lc0",
        "evaluate",
        "heatmap",
        "work",
    ] {
        let output = trainer(&[command, "--help"]);
        assert!(output.status.success(), "{command}: {output:?}");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("Usage: ") && !help.contains("libtorch"), "{command}: {help}");
    }
}
