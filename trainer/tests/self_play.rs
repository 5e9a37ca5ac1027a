use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainer::base::lock::Lock;
use trainer::data::dataset;

fn trainer(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_philidor-trainer"));
    command.current_dir(folder).args(arguments);
    command
}

fn succeeds(mut command: Command) -> Output {
    let output = command.output().expect("the trainer starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// For a run of a few seconds.
fn write_config(folder: &Path) {
    let config = json!({
        "play": { "visits": 6, "max_plies": 14, "games": 4, "workers": 1, "cache": 0 },
        "games_per_iteration": 8, "samples_per_position": 2, "buffer_size": 250,
        "train": {
            "model": { "filters": 8, "blocks": 1, "se_ratio": 4, "value_hidden": 8 }, "torch_threads": 1,
            "batch": 16, "report_every": 2, "validation_batches": 1, "checkpoint_every_s": 0
        },
        "arena": {
            "every": 2, "visits": 4, "games": 4, "promotion": { "elo0": -400, "elo1": 0 }, "veto_games": 4, "sanity_games": 4, "uct_visits": 3,
            "rules": { "max_plies": 16, "games": 4, "workers": 1 }
        }
    });
    std::fs::write(folder.join("rl.json"), config.to_string()).expect("a file");
}

fn learn<'a>(run: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["rl", "--preset", "tiny", "--config", "rl.json", "--device", "cpu", "--run", run];
    first.into_iter().chain(more.iter().copied()).collect()
}

fn metrics(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Checks every file of the buffer.
fn checked_state(run: &Path) -> Value {
    let text = std::fs::read_to_string(run.join("state.json")).expect("a state");
    let state: Value = serde_json::from_str(&text).expect("JSON");
    for entry in state["buffer"].as_array().expect("an index") {
        let path = run.join("games").join(format!("{}-00000.h5", entry["name"].as_str().expect("a name")));
        let chunk = dataset::read(&path).expect("a sound file");
        dataset::inspect(&chunk, true).expect("sound games");
        let (first, used) = (entry["first"].as_u64().expect("a number"), entry["positions"].as_array());
        assert!(first as usize + used.expect("a list").len() <= chunk.games());
    }
    state
}

#[test]
fn a_network_learns_from_its_own_games() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    let said = succeeds(trainer(at, &learn("runs/a", &["--iterations", "4"])));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("finished: 4 iterations, 32 games, "), "{said}");
    let run = at.join("runs/a");
    let lines = metrics(&run);
    assert_eq!(
        lines.iter().map(|line| line["iteration"].as_u64()).collect::<Vec<_>>(),
        [1, 2, 3, 4].map(Some)
    );
    for line in &lines {
        assert!(line["learn"]["policy_loss"].as_f64().expect("a loss") > 0.0);
        assert_eq!(line["play"]["games"]["games"], 8);
        let arena = line["iteration"].as_u64().is_some_and(|iteration| iteration % 2 == 0);
        assert_eq!(line["arena"]["random"]["pairs"].is_array(), arena);
        assert_eq!(line["ratings"].is_array(), arena);
    }
    let state = checked_state(&run);
    assert_eq!(state["iteration"], 5);
    let positions = lines[3]["buffer"].as_u64().expect("a number");
    assert!((200..=250).contains(&positions), "{positions}: as many whole games as fit");
    let events = std::fs::read_to_string(run.join("events.log")).expect("events");
    assert!(events.contains("iteration 2: 00002 against random (random): +"), "{events}");

    // The network plays itself and others; the same seed gives the same games.
    let net = "runs/a/nets/00004.onnx";
    let rules = ["--set", "visits=6", "--set", "max_plies=20", "--set", "workers=1", "--set", "games=4"];
    for name in ["one", "two"] {
        let more = ["self-play", "--net", net, "--games", "6", "--out", "data", "--name", name];
        succeeds(trainer(at, &more.into_iter().chain(rules).collect::<Vec<_>>()));
    }
    let games = |name: &str| dataset::read(&at.join(format!("data/{name}-00000.h5"))).expect("a file");
    assert_eq!((games("one"), games("one").games()), (games("two"), 6));
    let pgn = succeeds(trainer(at, &["export-pgn", "data/one-00000.h5"]));
    assert_eq!(String::from_utf8_lossy(&pgn.stdout).matches("[Event ").count(), 6);
    let arena = |_| {
        let arguments =
            ["arena", net, "random", "--visits", "5", "--games", "6", "--workers", "1", "--plies", "30"];
        succeeds(trainer(at, &arguments)).stdout
    };
    let [first, second] = [0, 1].map(arena);
    assert_eq!(first, second);
    assert!(String::from_utf8_lossy(&first).contains("pairs 0 ½ 1 1½ 2: "));

    // A preset cannot change a run whose configuration is complete.
    let preset = ["rl", "--run", "runs/a", "--resume", "--preset", "gpu"];
    let error = trainer(at, &preset).output().expect("the trainer starts");
    assert!(String::from_utf8_lossy(&error.stderr).contains("--preset changes nothing"));
    // `--set` can change neither the networks' structure nor keys that the loop sets, and games that it names must
    // exist. A refused run keeps its `config.json`.
    let config = || std::fs::read_to_string(run.join("config.json")).expect("a configuration");
    let before = config();
    let more = ["--resume", "--iterations", "4"];
    let sources = r#"train.sources=[{"name":"x","paths":["none/*.h5"]}]"#;
    for (bad, why) in [
        (&["--set", "pretrain_mix_ratio=0.5", "--set", sources][..], "none/*.h5"),
        (&["--set", "train.model.filters=32"], "train.model.filters = 32 ("),
        (&["--set", "train.samples=1000"], "train.samples (set samples_per_position)"),
    ] {
        let refused =
            trainer(at, &[&learn("runs/a", &more)[..], bad].concat()).output().expect("the trainer starts");
        assert!(!refused.status.success());
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(error.contains(why), "{error}");
        assert_eq!(config(), before);
    }
    // Repeating a key's existing value is allowed.
    let same = [&learn("runs/a", &more)[..], &["--set", "train.model.filters=8"]].concat();
    let said = succeeds(trainer(at, &same)).stdout;
    let complete = "4 of 4 iterations done: complete; to go on: philidor-trainer rl --run runs/a --resume";
    assert!(String::from_utf8_lossy(&said).starts_with(complete), "{}", String::from_utf8_lossy(&said));
    // A resumed run without limits has its earlier limits.
    let said = succeeds(trainer(at, &["rl", "--run", "runs/a", "--resume"])).stdout;
    assert!(String::from_utf8_lossy(&said).starts_with(complete), "{}", String::from_utf8_lossy(&said));
    assert_eq!(config(), before);
    // A finished run can be resumed for more iterations. Starting it again is refused, because the run would be lost.
    let error = trainer(at, &learn("runs/a", &["--iterations", "5"])).output().expect("the trainer starts");
    assert!(String::from_utf8_lossy(&error.stderr).contains("add --resume"));
    let more = ["--resume", "--iterations", "6", "--device", "cpu", "--set", "quantise=true"];
    succeeds(trainer(at, &[&["rl", "--run", "runs/a"], &more[..]].concat()));
    assert_eq!(metrics(&run).len(), 6);
    // From here on, self-play and arena use int8. Each network is quantised once.
    let events = std::fs::read_to_string(run.join("events.log")).expect("events");
    let said: Vec<&str> = events.lines().filter(|line| line.contains("in 8 bits: policy KL ")).collect();
    let tested = said.iter().filter(|line| line.contains("network 00006 in 8 bits")).count();
    assert_eq!(tested, 1, "{events}");
    let nets = std::fs::read_dir(run.join("nets")).expect("a folder").flatten();
    let int8 = nets.filter(|entry| entry.file_name().to_string_lossy().ends_with(".int8.onnx")).count();
    assert!((2..=said.len()).contains(&int8), "{events}");

    // Missing games, optimiser states and ONNX files are logged, and the run continues without them.
    std::fs::remove_file(run.join("games/iter-00006-00000.h5")).expect("games");
    std::fs::remove_dir_all(run.join("train-000")).expect("a training run");
    for entry in std::fs::read_dir(run.join("nets")).expect("a folder").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "onnx") {
            std::fs::remove_file(entry.path()).expect("a network");
        }
    }
    let more = ["rl", "--run", "runs/a", "--resume", "--iterations", "7", "--device", "cpu"];
    succeeds(trainer(at, &more));
    let events = std::fs::read_to_string(run.join("events.log")).expect("events");
    assert!(events.contains("iter-00006-00000.h5 is missing, which the buffer needs: "), "{events}");
    assert!(events.contains("the training run is missing: 00006 is trained on with a fresh optimiser"));
    let learns_as_before = || {
        let last = metrics(&run).pop().expect("a line");
        let samples = 2 * last["play"]["new_positions"].as_u64().expect("a number");
        assert_eq!(last["learn"]["step"], samples.div_ceil(16), "as much as any iteration learns");
        checked_state(&run)
    };
    let state = learns_as_before();
    // The same with the seventh iteration still to be trained.
    let put_back = |stage: &str| {
        let mut state = checked_state(&run);
        (state["iteration"], state["stage"]) = (json!(7), json!(stage));
        std::fs::write(run.join("state.json"), state.to_string()).expect("a state");
    };
    put_back("train");
    std::fs::remove_file(run.join("games/iter-00007-00000.h5")).expect("games");
    succeeds(trainer(at, &more));
    assert_eq!(
        checked_state(&run)["totals"]["games"],
        state["totals"]["games"],
        "played again, counted once"
    );
    assert_eq!(metrics(&run).len(), 7);
    // The same with the arena still to be played.
    put_back("arena");
    std::fs::remove_dir_all(run.join("train-000")).expect("a training run");
    let eight = ["rl", "--run", "runs/a", "--resume", "--iterations", "8", "--device", "cpu"];
    succeeds(trainer(at, &eight));
    learns_as_before();
}

#[test]
fn a_network_may_be_held_to_what_the_first_one_knew() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    succeeds(trainer(at, &learn("first", &["--iterations", "1"])));
    let sources = r#"train.ewc.sources=[{"name": "earlier", "paths": ["first/games/*.h5"]}]"#;
    let held = [
        "--set",
        "train.ewc.weight=1",
        "--set",
        sources,
        "--set",
        "train.swa_from=0.5",
        "--set",
        "arena.every=9",
    ];
    let refused = trainer(at, &learn("second", &held)).output().expect("the trainer starts");
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("name that network under start"));
    let start = ["--set", "start=first/nets/00001.safetensors", "--iterations", "3"];
    succeeds(trainer(at, &learn("second", &[&start[..], &held].concat())));
    assert_eq!(metrics(&at.join("second")).len(), 3);
}

#[test]
fn games_are_played_in_libtorch_if_the_configuration_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    let run = at.join("run");
    let torch = ["--set", "runtime=torch", "--set", "play.workers=0", "--set", "arena.veto_score=0"];
    succeeds(trainer(at, &learn("run", &[&["--iterations", "2"], &torch[..]].concat())));
    // Without a valid ONNX file only libtorch can play, in self-play and in the arena.
    let spoil = || {
        for entry in std::fs::read_dir(run.join("nets")).expect("a folder").flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "onnx") {
                std::fs::write(entry.path(), "no network").expect("a file");
            }
        }
    };
    spoil();
    let resume = |more: &[&str]| {
        let first = ["rl", "--run", "run", "--resume", "--device", "cpu", "--iterations"];
        trainer(at, &[&first[..], more].concat())
    };
    succeeds(resume(&["4"]));
    let lines = metrics(&run);
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert_eq!(
            (&line["play"]["games"]["games"], &line["play"]["boards"]),
            (&json!(8), &json!(4)),
            "one worker"
        );
    }
    assert!(lines[3]["arena"]["random"]["pairs"].is_array() && lines[3]["arena"]["best"]["pairs"].is_array());
    checked_state(&run);
    let best = checked_state(&run)["best"].as_str().expect("a name").to_owned();
    let best = || std::fs::read(run.join(format!("nets/{best}.onnx"))).expect("a file");
    spoil();
    // A veto runs the canaries in ONNX Runtime, so the ONNX file is exported again from the weights.
    let veto =
        ["--set", "arena.veto_score=1", "--set", "arena.veto.elo0=300", "--set", "arena.veto.elo1=600"];
    succeeds(resume(&[&["6"], &veto[..]].concat()));
    let events = std::fs::read_to_string(run.join("events.log")).expect("events");
    assert!(events.contains("veto, level 1") && events.contains("what got worse"), "{events}");
    assert!(best().len() > 1000);
    spoil();
    assert_eq!(best(), b"no network");
    succeeds(resume(&["7", "--set", "runtime=onnx"]));
    assert!(best().len() > 1000);
}

/// Kills a program after `time` unless it has ended. Returns whether it was killed.
fn killed_after(time: Duration, mut command: Command) -> bool {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the trainer starts");
    let mut said = child.stderr.take().expect("piped");
    let (alive, end) = channel::<()>();
    let listener = thread::spawn(move || {
        // The output ends when the program does.
        _ = std::io::copy(&mut said, &mut std::io::sink());
        drop(alive);
    });
    let killed = end.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    listener.join().expect("it only reads");
    killed
}

#[test]
fn killed_a_dozen_times_at_random_it_ends_with_the_same_iterations() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    let begin = Instant::now();
    succeeds(trainer(at, &learn("whole", &["--iterations", "6"])));
    let whole = begin.elapsed();
    let arguments = learn("run", &["--iterations", "6"]);
    let (mut rng, mut kills) = (fastrand::Rng::with_seed(6), 0);
    let command = || {
        // A folder with a state holds a run. On a busy machine the start may take all of the time.
        let resume = at.join("run/state.json").exists();
        let more: &[&str] = if resume { &["--resume"] } else { &[] };
        trainer(at, &[&arguments[..], more].concat())
    };
    for _ in 0..12 {
        // Each start takes part of the time, so there are at most a dozen kills, each within a quarter of the whole
        // time.
        kills += u32::from(killed_after(whole.mul_f64(rng.f64() / 4.0), command()));
    }
    assert!(kills > 0, "none was killed");
    succeeds(command());
    let run = at.join("run");
    let lines = metrics(&run);
    let iterations: Vec<u64> = lines.iter().filter_map(|line| line["iteration"].as_u64()).collect();
    assert_eq!(iterations, [1, 2, 3, 4, 5, 6]);
    for line in &lines {
        assert_eq!(line["play"]["games"]["games"], 8, "including those from before a kill");
        assert!(line["learn"]["policy_loss"].as_f64().expect("a loss") > 0.0);
    }
    let state = checked_state(&run);
    assert_eq!((&state["iteration"], &state["totals"]["games"]), (&json!(7), &json!(48)));
    let left = std::fs::read_dir(run.join("games")).expect("a folder").flatten();
    let others = left.map(|entry| entry.file_name()).filter(|name| !name.to_string_lossy().ends_with(".h5"));
    assert_eq!(others.count(), 0, "only games");
    assert!(!run.join("units").exists(), "no unit is left that was begun");
}

#[test]
fn damage_by_a_ruinous_learning_rate_is_vetoed_and_undone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let start = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets/resnet.safetensors");
    let config = json!({
        "start": start, "pretrain_mix_ratio": 0.0,
        "play": { "visits": 2, "max_plies": 16, "games": 8, "workers": 1 },
        "games_per_iteration": 12, "samples_per_position": 1,
        "train": {
            "torch_threads": 1, "batch": 16, "warmup_steps": 0, "report_every": 1, "validation_batches": 1,
            "precision": "fp32", "lr": 1e-6
        },
        "arena": {
            "every": 1, "visits": 3, "games": 12, "promotion": { "elo1": 300 }, "veto_games": 12, "sanity_games": 0,
            "rules": { "max_plies": 150, "games": 12, "workers": 1, "random_plies": 4 }
        }
    });
    std::fs::write(at.join("rl.json"), config.to_string()).expect("a file");
    let first = ["rl", "--config", "rl.json", "--device", "cpu", "--run", "run", "--iterations", "2"];
    succeeds(trainer(at, &[&first[..], &["--set", "train.lr=30"]].concat()));
    let events = || std::fs::read_to_string(at.join("run/events.log")).expect("events");
    let said = events();
    assert!(
        said.contains("iteration 1: veto, level 1: ") && said.contains("iteration 2: veto, level 2: "),
        "{said}"
    );
    assert!(
        said.contains("back to start with a fresh optimiser") && said.contains("what got worse: "),
        "{said}"
    );
    assert!(said.contains("mate in one"), "a ruined network misses mates: {said}");
    let state = checked_state(&at.join("run"));
    assert_eq!(
        (&state["best"], &state["current"], &state["training"]),
        (&json!("start"), &json!("start"), &json!(2))
    );
    assert_eq!(state["escalation"]["lr_factor"], 0.5);
    // With a sane learning rate and batches large enough for BatchNorm, the run continues from the restored weights.
    // (Six games between equals may end with 25 %.)
    succeeds(trainer(
        at,
        &[
            "rl",
            "--run",
            "run",
            "--resume",
            "--device",
            "cpu",
            "--iterations",
            "3",
            "--set",
            "train.lr=1e-6",
            "--set",
            "train.batch=64",
            "--set",
            "arena.veto_score=0.1",
        ],
    ));
    let said = events();
    assert!(said.contains("iteration 3: start stays the best"), "{said}");
    let state = checked_state(&at.join("run"));
    assert_eq!((&state["totals"]["vetoes"], &state["escalation"]["streak"]), (&json!(2), &json!(0)));
}

/// A match is refused while another has its output.
#[test]
fn a_match_claims_its_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Lock::take(&folder.path().join("games.h5.lock")).expect("a lock");
    let arena = || {
        let arguments = ["arena", "random", "random", "--games", "2", "--out", "games.h5"];
        trainer(folder.path(), &arguments).output().expect("the trainer starts")
    };
    let refused = arena();
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(75) && why.contains("in use"), "{why}");
    drop(held);
    assert!(arena().status.success());
    assert_eq!(dataset::read(&folder.path().join("games.h5")).expect("a file").games(), 2);
    assert!(!folder.path().join("games.h5.lock").exists());
}
