//! The family `sparse` by the built program, without libtorch.

use std::path::Path;
use std::process::{Command, Output};

use engine::chess::position::{Game, PackedMove};
use engine::nets::eval::SplitEvaluator;
use engine::nets::sparse::SparseNetwork;
use serde_json::{Value, json};
use trainer::data::dataset::{self, Chunk, ChunkWriter};
use trainer::data::record::{GameRecord, GameResult};
use trainer::learn::sparse::SparseCheckpoint;

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

fn config() -> Value {
    json!({
        "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
        "sources": [{ "name": "games", "paths": ["games-*.h5"], "stride": 2 }],
        "batch": 32, "block": 4, "samples": 640, "lr": 0.01, "warmup_samples": 0, "threads": 2,
        "validation_percent": 20, "validate_every": 10, "report_every": 4, "validation_samples": 50
    })
}

fn write_config(folder: &Path, config: &Value) {
    std::fs::write(folder.join("config.json"), config.to_string()).expect("a file");
}

#[test]
fn a_network_is_trained_exported_judged_and_plays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_games(at, 80);
    write_config(at, &config());
    succeeds(at, &["train", "--config", "config.json", "--run", "run"]);
    let checkpoint = "run/checkpoints/last.safetensors";
    let before = std::fs::read(at.join(checkpoint)).expect("a checkpoint");
    let said = succeeds(at, &["train", "--run", "run", "--resume"]);
    let go_on = "640 samples learnt: complete; to go on: philidor-trainer train --run run --resume --set samples=1280\n";
    assert!(said.starts_with(go_on) && said.contains("so far: run/checkpoints/"), "{said}");
    let said = fails(at, &["train", "--run", "run", "--resume", "--set", "model.hidden=32"]);
    assert!(said.contains("model.hidden was 16 and cannot become 32: the model of a run is fixed"), "{said}");
    assert_eq!(std::fs::read(at.join(checkpoint)).expect("a checkpoint"), before);
    succeeds(at, &["export", "--checkpoint", checkpoint, "--out", "net.onnx"]);
    for net in ["net.onnx", "net.int8.onnx"] {
        let said = succeeds(at, &["verify", net, "--checkpoint", checkpoint, "--positions", "40"]);
        assert!(said.starts_with("40 positions"), "{said}");
    }

    let said = succeeds(at, &["plot", "run", "--out", "run.svg"]);
    assert_eq!(said, "run.svg\n");
    let svg = std::fs::read_to_string(at.join("run.svg")).expect("a picture");
    assert!(svg.contains("top-1, held out, by phase") && svg.contains("expected score"));
    let trial = ["--config", "config.json", "--set", "threads=1"];
    let said = succeeds(at, &[&["overfit"][..], &trial, &["--samples", "16", "--steps", "300"]].concat());
    assert!(said.contains("this configuration can learn"), "{said}");
    let error = fails(at, &[&["overfit"][..], &trial, &["--samples", "16", "--steps", "1"]].concat());
    assert!(error.contains("not overfitted in 1 step: top-1"), "{error}");
    let said = succeeds(at, &[&["lr-finder"][..], &trial, &["--steps", "60", "--out", "lr.svg"]].concat());
    assert!(said.contains("suggestion: lr=") && at.join("lr.svg").exists(), "{said}");

    // Both files are the same integers to the engine.
    let nets = ["net.onnx", "net.int8.onnx", "embedded"];
    let judged = |command: &str, more: &[&str]| -> Value {
        succeeds(at, &[&["evaluate", command][..], &nets, &["--json", "out.json"], more].concat());
        serde_json::from_slice(&std::fs::read(at.join("out.json")).expect("numbers")).expect("JSON")
    };
    let parts = judged("accuracy", &["--games", "games-00000.h5", "--split", "all", "--positions", "200"]);
    let networks = &parts.as_array().expect("parts").last().expect("all of it")["networks"];
    assert_eq!(networks["net.onnx"], networks["net.int8.onnx"]);
    assert!(networks["net.onnx"]["wdl_loss"].is_f64() && networks["embedded"]["top1"].is_f64());
    let files = ["--games", "games-00000.h5", "--split", "all", "--positions", "200"];
    let parts = judged("accuracy", &[&files[..], &["--backend", "auto,onnx"]].concat());
    let networks = &parts.as_array().expect("parts").last().expect("all of it")["networks"];
    let loss = |name: &str| networks[name]["wdl_loss"].as_f64().expect("a loss");
    let [integers, floats] = ["net.onnx", "net.onnx, ONNX Runtime"].map(loss);
    assert!(integers != floats && (integers - floats).abs() < 0.02, "{integers} {floats}");
    judged("canaries", &["--nodes", "10"]);
    // This family has a policy for legal moves only.
    let raw = [&["evaluate", "accuracy", "net.onnx", "--raw"][..], &files[..]].concat();
    let output = trainer(at, &raw);
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && warned.contains("has outputs for legal moves only"), "{warned}");
    let error =
        fails(at, &["evaluate", "accuracy", "net.onnx", "--think-steps", "2", "--games", "games-00000.h5"]);
    assert!(error.contains("--think-steps does not apply"), "{error}");
    let error = fails(at, &["heatmap", "net.onnx", "--piece", "N"]);
    assert!(error.contains("does not apply to networks of the family sparse"), "{error}");

    // The network plays; the same seed gives the same games.
    let rules = ["--set", "visits=20", "--set", "max_plies=20", "--set", "workers=1"];
    for (name, net) in [("one", "net.onnx"), ("two", "net.int8.onnx")] {
        let more = ["self-play", "--net", net, "--games", "4", "--out", "data", "--name", name];
        succeeds(at, &[&more[..], &rules].concat());
    }
    let games = |name: &str| dataset::read(&at.join(format!("data/{name}-00000.h5"))).expect("a file");
    let moves = |name: &str| (0..4).map(|game| games(name).game(game).moves).collect::<Vec<_>>();
    assert_eq!(moves("one"), moves("two"));
    let more = |games| {
        let resume = [
            "self-play",
            "--net",
            "net.onnx",
            "--out",
            "data",
            "--name",
            "one",
            "--resume",
            "--games",
            games,
        ];
        succeeds(at, &[&resume[..], &rules].concat())
    };
    let said = more("4");
    assert!(
        said.starts_with("complete: all games were played earlier") && !said.contains("evaluation"),
        "{said}"
    );
    let said = more("5");
    assert!(said.starts_with("now 1 game, White") && said.contains("; earlier 4 games\n"), "{said}");
    assert!(said.contains("\n5 games in 1 file: "), "{said}");
    let said = succeeds(
        at,
        &["arena", "net.onnx", "random", "--visits", "10", "--games", "4", "--workers", "1", "--plies", "30"],
    );
    assert!(said.contains("pairs 0 ½ 1 1½ 2: "), "{said}");
}

/// Mean difference of two networks' expected results in positions of random games.
fn difference(a: &Path, b: &Path) -> f32 {
    let mut evaluators = [a, b].map(|file| SparseNetwork::load(file).expect("a network").evaluator());
    let mut rng = fastrand::Rng::with_seed(2);
    let mut differences = Vec::new();
    for _ in 0..20 {
        let mut game = Game::new();
        for _ in 0..15 {
            game.play(rng.choice(game.legal_moves()).expect("a legal move"));
            let [a, b] = evaluators.each_mut().map(|evaluator| evaluator.value(&game).q());
            differences.push((a - b).abs());
        }
    }
    differences.iter().sum::<f32>() / differences.len() as f32
}

/// Priors, and win, draw and loss, of a network in two positions.
fn answers(file: &Path) -> [(Vec<f32>, [f32; 3]); 2] {
    let mut evaluator = SparseNetwork::load(file).expect("a network").evaluator();
    let fens = [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50",
    ];
    fens.map(|fen| {
        let game = Game::from_fen(fen).expect("a legal FEN");
        let mut priors = vec![0.0; game.legal_moves().len()];
        let wdl = evaluator.evaluate_into(&game, &game.legal_moves(), &mut priors);
        (priors, [wdl.win, wdl.draw, wdl.loss])
    })
}

#[test]
fn a_teacher_keeps_what_the_first_weights_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_games(at, 80);
    let first = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../nets/philidor.int8.onnx"));
    let train = |run: &str, teacher: &str| {
        let games = json!({ "name": "games", "paths": ["games-*.h5"], "stride": 2, "policy_weight": 0 });
        let kept = json!({ "name": "kept", "paths": ["games-*.h5"], "stride": 2, "policy_weight": 0, "weight": 9, "teacher": teacher,
            "random_moves": 4 });
        let sources = if teacher.is_empty() { json!([games]) } else { json!([games, kept]) };
        let mut config = config();
        config["model"] = json!({ "family": "sparse", "policy": 640, "value": 512, "hidden": 64 });
        (config["sources"], config["lr"], config["average_samples"]) = (sources, 0.0007.into(), 64.into());
        write_config(at, &config);
        let init = first.to_str().expect("text");
        succeeds(at, &["train", "--config", "config.json", "--run", run, "--init", init]);
        let checkpoint = format!("{run}/checkpoints/last.safetensors");
        succeeds(at, &["export", "--checkpoint", &checkpoint, "--out", &format!("{run}.onnx")]);
        at.join(format!("{run}.int8.onnx"))
    };
    let (without, with) = (train("without", ""), train("with", "embedded"));
    let [without, with] = [without, with].map(|net| difference(first, &net));
    assert!(with < 0.7 * without && without > 0.02, "{with} {without}");
    // Both sources have the same games. They are held out only for the source that learns from them.
    let validations = metrics(&at.join("with")).into_iter().filter_map(|line| {
        line.get("sources").map(|sources| sources.as_object().expect("an object").keys().cloned().collect())
    });
    let validations: Vec<Vec<String>> = validations.collect();
    assert!(!validations.is_empty() && validations.iter().all(|sources| *sources == ["games"]));
    let error =
        fails(at, &["train", "--config", "config.json", "--run", "b", "--set", "sources.0.teacher=b.onnx"]);
    assert!(error.contains("teacher") && error.contains("b.onnx"), "{error}");
}

#[test]
fn networks_are_put_together_from_two() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_games(at, 80);
    let train = |run: &str, seed: u64, policy: u64| {
        let mut config = config();
        config["seed"] = seed.into();
        config["model"]["policy"] = policy.into();
        write_config(at, &config);
        succeeds(at, &["train", "--config", "config.json", "--run", run]);
        format!("{run}/checkpoints/last.safetensors")
    };
    let export = |checkpoint: &str, policy: &str| -> Vec<String> {
        let line = format!(
            "export --checkpoint {checkpoint} --out out/{}.onnx --name a {policy}",
            checkpoint.replace('/', "-")
        );
        line.split_whitespace().map(str::to_owned).collect()
    };
    let exported = |checkpoint: &str, policy: &str| {
        let args = export(checkpoint, policy);
        succeeds(at, &args.iter().map(String::as_str).collect::<Vec<_>>());
        answers(&at.join(&args[4]).with_extension("int8.onnx"))
    };
    let (first, second) = (train("first", 1, 128), train("second", 2, 128));
    let (one, other) = (exported(&first, ""), exported(&second, ""));
    let both = exported(&first, "--policy out/second-checkpoints-last.safetensors.int8.onnx");
    for ((both, one), other) in both.iter().zip(&one).zip(&other) {
        assert_eq!((&both.0, both.1), (&other.0, one.1));
        assert!(one.0 != other.0 && one.1 != other.1);
    }
    let mean = |share: &str| exported(&first, &format!("--mean-with {second}={share}"));
    assert_eq!(mean("0"), one);
    for (mean, other) in mean("1").iter().zip(&other) {
        let numbers = mean.0.iter().chain(&mean.1).zip(other.0.iter().chain(&other.1));
        numbers.for_each(|(mean, other)| assert!((mean - other).abs() < 1e-4, "{mean} {other}"));
    }
    let (half, sharp) = (mean("0.5"), exported(&first, "--value-scale 2"));
    for (((half, sharp), one), other) in half.iter().zip(&sharp).zip(&one).zip(&other) {
        assert!(half != one && half != other);
        assert_eq!(sharp.0, one.0, "the same policy");
        let squares = one.1.map(|share| share * share);
        let expected = squares.map(|square| square / squares.iter().sum::<f32>());
        let is_near = |(found, wanted): (&f32, f32)| (found - wanted).abs() < 0.02;
        assert!(sharp.1.iter().zip(expected).all(is_near), "{:?}, {expected:?}", sharp.1);
        assert!(sharp.1 != one.1);
    }
    let wide = train("wide", 1, 256);
    let refused = |more: &str| {
        let args = export(&first, more);
        fails(at, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for scale in ["0.05", "11", "NaN"] {
        let error = refused(&format!("--value-scale {scale}"));
        assert!(error.contains("a factor from 0.1 to 10"), "{error}");
    }
    let error = refused(&format!("--policy {wide}"));
    assert!(error.contains("last.safetensors: a policy of other sizes"), "{error}");
    let error = refused(&format!("--mean-with {wide}=0.5"));
    assert!(error.contains("wide/checkpoints/last.safetensors: its layers have other sizes"), "{error}");
    let error = refused("--mean-with nets/other.onnx=3");
    assert!(error.contains("a number from 0 to 1"), "{error}");
}

#[test]
fn training_names_a_file_with_illegal_moves() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at, &config());
    // 1. e4, and 1. e4 e5 2. e2-e4 again. The checksums are valid.
    let mut illegal = Chunk::new("a test");
    for moves in [vec![12 | 28 << 6], vec![12 | 28 << 6, 52 | 36 << 6, 12 | 28 << 6]] {
        let moves = moves.into_iter().map(PackedMove).collect();
        illegal.push(&GameRecord { moves, ..GameRecord::default() });
    }
    dataset::write(&illegal, &at.join("games-illegal.h5")).expect("a file");
    let named = |run: &str| {
        let output = trainer(at, &["train", "--config", "config.json", "--run", run]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("games-illegal.h5: damaged: game 1: no legal move at ply 2"), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        (output.status.success(), stderr)
    };
    let (trained, stderr) = named("alone");
    assert!(!trained && stderr.contains("source games: no training games"), "{stderr}");
    write_games(at, 80);
    let (trained, stderr) = named("both");
    assert!(trained && stderr.contains("games-illegal.h5") && stderr.contains("skipped"), "{stderr}");
}

#[test]
fn overfit_refuses_more_samples_than_a_batch_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    for samples in ["0", "65537", "18446744073709551615"] {
        let arguments = ["overfit", "--config", "config.json", "--samples", samples];
        let error = fails(folder.path(), &arguments);
        assert!(error.contains("--samples") && error.contains("1..=65536"), "{error}");
    }
    let error =
        fails(folder.path(), &["overfit", "--config", "config.json", "--steps", "18446744073709551615"]);
    assert!(error.contains("--steps") && error.contains("1..=1000000000"), "{error}");
}

/// A run of a few seconds, which learns from labelled games too.
fn write_rl_config(folder: &Path) {
    let config = json!({
        "play": { "visits": 8, "max_plies": 14, "games": 4, "workers": 1 },
        "games_per_iteration": 8, "samples_per_position": 4, "buffer_size": 250,
        "pretrain_mix_ratio": 0.25, "kl": { "warn": 0.0 },
        "train": {
            "model": { "family": "sparse", "policy": 128, "value": 64, "hidden": 16 },
            "sources": [{ "name": "games", "paths": ["games-*.h5"], "stride": 2 }],
            "batch": 16, "block": 4, "report_every": 2, "threads": 1,
            "validation_percent": 40, "self_play": { "value_lambda": 0.5 }
        },
        "arena": {
            "every": 2, "visits": 4, "games": 4, "promotion": { "elo0": -400, "elo1": 0 }, "veto_games": 4,
            "sanity_games": 4, "uct_visits": 3, "rules": { "max_plies": 16, "games": 4, "workers": 1 }
        }
    });
    std::fs::write(folder.join("rl.json"), config.to_string()).expect("a file");
}

fn metrics(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Without values that depend on the clock.
fn timeless(run: &Path) -> Vec<Value> {
    let mut lines = metrics(run);
    for line in &mut lines {
        for key in ["time_s", "play", "totals"] {
            line.as_object_mut().expect("an object").remove(key);
        }
        line["learn"].as_object_mut().expect("an object").remove("samples_per_s");
    }
    lines
}

#[test]
fn it_learns_from_its_own_games_and_a_resumed_run_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_games(at, 80);
    write_rl_config(at);
    let rl = |run: &str, more: &[&str]| {
        let first = ["rl", "--preset", "tiny", "--config", "rl.json", "--run", run];
        succeeds(at, &[&first[..], more].concat())
    };
    let said = rl("whole", &["--iterations", "4"]);
    assert!(said.starts_with("finished: 4 iterations, 32 games, "), "{said}");
    let run = at.join("whole");
    let lines = metrics(&run);
    for line in &lines {
        assert!(line["learn"]["policy_loss"].as_f64().expect("a loss") > 0.0);
        assert!(line["learn"]["validation"]["wdl_loss"].is_f64(), "{line}");
        assert_eq!(line["pretrain_mix"], 0.25);
        assert!(line["kl"].as_f64().expect("a divergence") > 0.0);
        let arena = line["iteration"].as_u64().is_some_and(|iteration| iteration % 2 == 0);
        assert_eq!(line["arena"]["random"]["pairs"].is_array(), arena);
    }
    let steps: Vec<u64> = lines.iter().filter_map(|line| line["learn"]["step"].as_u64()).collect();
    assert!(steps.len() == 4 && steps.is_sorted_by(|a, b| a < b), "one training run: {steps:?}");
    let training = std::fs::read_to_string(run.join("train-000/metrics.jsonl")).expect("metrics");
    for source in ["games", "self-play", "recent"] {
        assert!(training.contains(&format!("\"{source}\":{{")), "{source}: {training}");
    }
    let learner = SparseCheckpoint::read(&run.join("train-000/checkpoints/last.safetensors")).expect("it");
    assert!(learner.state.contains("\"trained\":false"), "it began with random weights: {}", learner.state);
    // The run's networks play, and can be trained further.
    let said = succeeds(at, &["arena", "whole/nets/00004.onnx", "random", "--visits", "4", "--games", "2"]);
    assert!(said.contains("pairs "), "{said}");
    let init = ["--init", "whole/nets/00004.safetensors", "--set", "model.hidden=16"];
    write_config(at, &config());
    succeeds(at, &[&["train", "--config", "config.json", "--run", "more"][..], &init].concat());

    // Interrupted between any two stages and resumed, the run is the same.
    for iterations in ["1", "2", "3", "4"] {
        let resume: &[&str] = if iterations == "1" { &[] } else { &["--resume"] };
        rl("parts", &[&["--iterations", iterations][..], resume].concat());
    }
    assert_eq!(timeless(&at.join("parts")), timeless(&run));
    // Compares only the tensors, because the header's metadata has no order.
    let net = |run: &str| {
        let bytes = std::fs::read(at.join(run).join("nets/00004.safetensors")).expect("weights");
        let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        bytes[8 + header..].to_vec()
    };
    assert!(net("parts") == net("whole"), "the weights differ");

    // A missing network is exported again from its weights; missing games are left out.
    std::fs::remove_file(run.join("nets/start.onnx")).expect("a network");
    std::fs::remove_file(run.join("games/iter-00004-00000.h5")).expect("games");
    std::fs::remove_dir_all(run.join("train-000")).expect("a training run");
    for command in ["rl", "train"] {
        let error = fails(at, &[command, "--run", "nothing", "--resume"]);
        assert!(error.contains("nothing holds no run to resume"), "{error}");
    }
    succeeds(at, &["rl", "--run", "whole", "--resume", "--iterations", "6"]);
    let events = std::fs::read_to_string(run.join("events.log")).expect("events");
    assert!(events.contains("iter-00004-00000.h5 is missing, which the buffer needs: "), "{events}");
    assert!(
        events.contains("the training run is missing: 00004 is trained on with a fresh optimiser"),
        "{events}"
    );

    // Starts from a network file, which implies the family. A veto compares the networks and begins again.
    let start = [
        "rl",
        "--run",
        "from-file",
        "--preset",
        "tiny",
        "--iterations",
        "2",
        "--set",
        "start=whole/nets/00006.onnx",
        "--set",
        "games_per_iteration=4",
        "--set",
        "play.visits=4",
        "--set",
        "play.max_plies=12",
        "--set",
        "arena.every=1",
        "--set",
        "arena.visits=2",
        "--set",
        "arena.veto_games=4",
        "--set",
        "arena.veto_score=1",
        "--set",
        "arena.veto.elo0=300",
        "--set",
        "arena.veto.elo1=600",
        "--set",
        "arena.sanity_games=0",
        "--set",
        "arena.rules.max_plies=12",
        "--set",
        "train.batch=16",
    ];
    succeeds(at, &start);
    let events = std::fs::read_to_string(at.join("from-file/events.log")).expect("events");
    assert!(events.contains("veto, level 1") && events.contains("what got worse"), "{events}");
    let config = std::fs::read(at.join("from-file/config.json")).expect("a configuration");
    let config: Value = serde_json::from_slice(&config).expect("JSON");
    assert_eq!(
        (&config["train"]["model"]["family"], &config["train"]["model"]["policy"]),
        (&json!("sparse"), &json!(128))
    );

    // Keys of other families are refused by name.
    for (bad, why) in [
        ("quantise=true", "quantise does not apply to the family sparse"),
        ("train.teacher.net=x", "teacher does not apply to the family sparse"),
        ("train.model.value=128", "train.model.value = 128 ("),
        ("train.samples=1000", "train.samples (set samples_per_position)"),
        ("train.validation_percent=5", "validation_percent was 40 and cannot become 5"),
        ("seed=99", "and cannot become 99 in a run that is resumed"),
    ] {
        let error = fails(at, &["rl", "--run", "whole", "--resume", "--iterations", "7", "--set", bad]);
        assert!(error.contains(why), "{error}");
    }
}
