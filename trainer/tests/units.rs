//! Units of work by the built program: a run whose units other machines do has the same games as a run alone.

mod workers;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainer::base::files::write_file;
use trainer::data::dataset;
use workers::{said, serve, trainer, wanted, work};

fn succeeds(mut command: Command) -> String {
    let output = command.output().expect("the trainer starts");
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

/// A run of a second or two. From the second iteration on, the networks before the newest play.
fn write_config(folder: &Path) {
    let config = json!({
        "play": { "visits": 6, "max_plies": 14, "games": 4, "workers": 1 },
        "games_per_iteration": 12, "games_per_unit": 4, "lag": 1, "samples_per_position": 2,
        "train": { "model": { "family": "sparse" }, "batch": 16, "block": 4, "threads": 1, "validation_samples": 20 },
        "arena": {
            "every": 2, "visits": 4, "games": 8, "promotion": { "elo0": -400, "elo1": 0 }, "veto_games": 4,
            "sanity_games": 4, "uct_visits": 3, "rules": { "max_plies": 16, "games": 4, "workers": 1 }
        }
    });
    std::fs::write(folder.join("rl.json"), config.to_string()).expect("a file");
}

fn learn<'a>(run: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["rl", "--preset", "tiny", "--config", "rl.json", "--run", run];
    first.into_iter().chain(more.iter().copied()).collect()
}

/// Checks every file of the buffer.
fn games(run: &Path) -> BTreeSet<u64> {
    let mut hashes = BTreeSet::new();
    for entry in std::fs::read_dir(run.join("games")).expect("a folder").flatten() {
        let path = entry.path();
        assert!(path.extension().is_some_and(|ending| ending == "h5"), "{}", path.display());
        let chunk = dataset::read(&path).expect("a sound file");
        dataset::inspect(&chunk, true).expect("sound games");
        hashes.extend((0..chunk.games()).map(|game| chunk.identity(game)));
    }
    hashes
}

fn lines(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).expect("metrics");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What a run learnt and how its networks were judged, which depends only on its games.
fn learnt(run: &Path) -> Vec<Value> {
    let kept = |line: &Value| {
        json!([line["iteration"], line["play"]["games"], line["learn"]["policy_loss"], line["arena"]])
    };
    lines(run).iter().map(kept).collect()
}

#[test]
fn a_run_with_others_is_the_run_alone_whatever_they_send() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    succeeds(trainer(at, &learn("alone", &["--iterations", "3"])));
    let alone = games(&at.join("alone"));
    assert_eq!(alone.len(), 36);
    // Iterations two and three were played by the networks just before the newest, never by older ones.
    let lag =
        |run: &str| -> Vec<Value> { lines(&at.join(run)).iter().map(|line| line["lag"].clone()).collect() };
    let behind: Vec<u64> = lag("alone").iter().filter_map(|lag| lag["networks"].as_u64()).collect();
    assert_eq!(behind, [0, 1, 1]);
    assert!(lag("alone")[1]["positions"].as_u64().is_some_and(|positions| positions > 100));

    // Another process does every unit, but first sends garbage, a truncated file, and another unit's result.
    let patient = ["--iterations", "3", "--inbox", "inbox", "--patience", "100000"];
    let learner = trainer(at, &learn("fleet", &patient)).spawn().expect("the trainer starts");
    let mut last: Vec<u8> = Vec::new();
    let mut sent = 0;
    let mut spoil = |inbox: &Path, file: &str, result: &[u8]| {
        sent += 1;
        let bad: &[u8] = match sent {
            1 => b"rubbish",
            3 => &result[..result.len() / 2],
            4 | 10 => &last,
            _ => {
                last = result.to_vec();
                return;
            }
        };
        write_file(&inbox.join(file), bad).expect("a file");
        let refused = inbox.join("refused").join(format!("{file}.txt"));
        let begin = Instant::now();
        // A unit of the next iteration is only checked when its turn comes.
        while !refused.exists() && begin.elapsed() < Duration::from_secs(3) {
            thread::yield_now();
        }
        last = result.to_vec();
    };
    serve(at, learner, &mut spoil);
    assert_eq!(games(&at.join("fleet")), alone);
    assert_eq!((learnt(&at.join("fleet")), lag("fleet")), (learnt(&at.join("alone")), lag("alone")));
    let count = |key: &str| -> u64 {
        let of = |line: &Value| {
            line["units"][key].as_u64().unwrap_or(0) + line["arena_units"][key].as_u64().unwrap_or(0)
        };
        lines(&at.join("fleet")).iter().map(of).sum()
    };
    assert!(
        count("refused") >= 2 && count("own") == 0 && count("others") >= 9,
        "{:?}",
        lines(&at.join("fleet"))
    );
    // Nobody else comes: after a while the run plays the same games itself.
    let impatient = ["--iterations", "3", "--inbox", "inbox2", "--patience", "0"];
    succeeds(trainer(at, &learn("lonely", &impatient)));
    assert_eq!((games(&at.join("lonely")), learnt(&at.join("lonely"))), (alone, learnt(&at.join("alone"))));
    assert_eq!(wanted(&at.join("inbox2")), []);
}

#[test]
fn a_unit_has_the_same_bytes_each_time_and_one_of_an_older_network_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    let patient = ["--iterations", "1", "--inbox", "inbox", "--patience", "100000"];
    let mut learner = trainer(at, &learn("run", &patient)).spawn().expect("the trainer starts");
    let inbox = at.join("inbox");
    let begin = Instant::now();
    while wanted(&inbox).is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(100) && learner.try_wait().expect("a process").is_none()
        );
        thread::yield_now();
    }
    let units = wanted(&inbox);
    assert_eq!(units.len(), 3, "nothing of an iteration that will not be");
    let (file, unit) = &units[0];
    let first = work(at, &inbox, unit).expect("a result");
    assert!(work(at, &inbox, unit).expect("a result") == first, "other bytes");

    // Games of another network under this unit's name: the name inside the file is right, the searches are not.
    let rules = unit["rules"].as_str().expect("a name");
    let seed = unit["seed"].to_string();
    let more: Vec<String> = std::fs::read_to_string(inbox.join("files").join(rules)).into_iter().collect();
    std::fs::write(at.join("rules.json"), &more[0]).expect("a file");
    let play = [
        "self-play",
        "--net",
        "embedded",
        "--games",
        "4",
        "--rules",
        "rules.json",
        "--seed",
        &seed,
        "--out",
        "other",
    ];
    succeeds(trainer(at, &play));
    let mut other = dataset::read(&at.join("other/self-play-00000.h5")).expect("games");
    other.source = format!("unit {}", file.trim_end_matches(".h5"));
    dataset::write(&other, &inbox.join(file)).expect("a file");
    let reason = inbox.join("refused").join(format!("{file}.txt"));
    // A unit that nobody wants is refused.
    let stranger = file.replace("self-play-00000000", "self-play-00000777");
    write_file(&inbox.join(&stranger), &first).expect("a file");
    let strangers = inbox.join("refused").join(format!("{stranger}.txt"));
    while !(reason.exists() && strangers.exists()) {
        assert!(begin.elapsed() < Duration::from_secs(200), "they are not refused");
        thread::yield_now();
    }
    let read = |path: &Path| std::fs::read_to_string(path).expect("a reason");
    assert!(read(&reason).contains("is not this network's by these rules"), "{}", read(&reason));
    assert!(read(&strangers).contains("no unit with this name is wanted"), "{}", read(&strangers));
    // A second process would overwrite the state.
    let second = trainer(at, &["rl", "--run", "run", "--resume"]).output().expect("the trainer starts");
    assert!(
        second.status.code() == Some(75) && said(&second).contains("run is in use by process"),
        "{}",
        said(&second)
    );
    serve(at, learner, &mut |_, _, _| ());
    assert_eq!(games(&at.join("run")).len(), 12);
    // A file damaged in transit is noticed before anything is played.
    std::fs::write(at.join("unit.json"), units[2].1.to_string()).expect("a file");
    let missing = trainer(at, &["work", "unit.json", "--out", "x.h5"]).output().expect("the trainer starts");
    assert!(said(&missing).contains("cannot read files/"), "{}", said(&missing));
}

#[test]
fn the_settings_of_two_players_are_compared_by_a_match() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_config(at);
    succeeds(trainer(at, &learn("run", &["--iterations", "1"])));
    let network = std::fs::read(at.join("run/nets/00001.onnx")).expect("a network");
    let name = trainer::play::units::hash_of(&network, "onnx");
    let rules = json!({
        "rules": { "max_plies": 20, "games": 2 }, "visits": 8, "options": [[["CPuct", "4"]], []]
    });
    let rules = rules.to_string();
    let rules_name = trainer::play::units::hash_of(rules.as_bytes(), "json");
    write_file(&at.join("rules"), rules.as_bytes()).expect("a file");
    std::fs::create_dir(at.join("files")).expect("a folder");
    write_file(&at.join("files").join(&name), &network).expect("a file");
    write_file(&at.join("files").join(&rules_name), rules.as_bytes()).expect("a file");
    let unit = json!({
        "format": "philidor-unit/2", "kind": "match", "inputs": [name, name], "rules": rules_name,
        "seed": 3, "share": 0.0, "number": 5, "count": 2
    });
    std::fs::write(at.join("unit.json"), unit.to_string()).expect("a file");
    let done = || {
        succeeds(trainer(at, &["work", "unit.json", "--out", "match.json"]));
        std::fs::read_to_string(at.join("match.json")).expect("a result")
    };
    let first = done();
    #[cfg(unix)]
    {
        std::fs::rename(at.join("match.json"), at.join("kept.json")).expect("a file");
        std::os::unix::fs::symlink("kept.json", at.join("match.json")).expect("a link");
    }
    assert_eq!(first, done());
    assert_eq!(at.join("match.json").is_symlink(), cfg!(unix), "a link stays");
    let result: Value = serde_json::from_str(&first).expect("JSON");
    let games = result["games"].as_array().expect("games");
    assert_eq!((games.len(), &games[0]["start"]), (4, &games[1]["start"]));
    assert!(games[0]["moves"].as_str().is_some_and(|moves| moves.split(' ').count() <= 20));
    // With equal settings, both players would play the same game with colours reversed.
    assert_ne!(games[0]["moves"], games[1]["moves"], "CPuct makes a difference");
    let broken = unit.to_string().replace("philidor-unit/2", "philidor-unit/9");
    std::fs::write(at.join("unit.json"), broken).expect("a file");
    let refused =
        trainer(at, &["work", "unit.json", "--out", "match.json"]).output().expect("the trainer starts");
    assert!(said(&refused).contains("expected \"philidor-unit/2\""), "{}", said(&refused));
}

/// Three matches of two units each.
fn write_comparison(at: &Path) {
    write_config(at);
    succeeds(trainer(at, &learn("run", &["--iterations", "1"])));
    let plan = json!({
        "format": "philidor-comparison/1", "network": "run/nets/00001.onnx", "visits": 8, "seed": 3,
        "rules": { "max_plies": 20, "games": 2, "book": "book.epd" }, "pairs_per_unit": 2,
        "matches": [
            { "pairs": 4, "options": [[["CPuct", "4"]], []] },
            { "first": 4, "pairs": 3, "options": [[["CPuct", "1"]], [["FpuValue", "0.5"]]] },
            { "first": 4, "pairs": 3, "options": [[], [["FpuValue", "0.5"]]] }
        ]
    });
    std::fs::write(at.join("plan.json"), plan.to_string()).expect("a file");
    let book = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n\
        rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1\n";
    std::fs::write(at.join("book.epd"), book).expect("a file");
}

fn results(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn settings_compared_by_others_have_the_same_games_and_false_ones_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_comparison(at);
    let said = succeeds(trainer(at, &["compare", "plan.json", "--out", "alone", "--workers", "2"]));
    assert!(said.contains("match 3: "), "{said}");
    let alone = results(&at.join("alone"));
    assert_eq!(alone.len(), 7, "six units and the results: {:?}", alone.iter().map(|file| &file.0));
    let told: Value = serde_json::from_slice(&alone[6].1).expect("JSON");
    let halves = told["matches"].as_array().expect("matches");
    assert_eq!(halves.iter().map(|of| of["halves"].as_array().unwrap().len()).collect::<Vec<_>>(), [8, 6, 6]);

    let arguments = ["compare", "plan.json", "--out", "fleet", "--inbox", "inbox", "--patience", "100000"];
    let waiting = trainer(at, &arguments).spawn().expect("the trainer starts");
    // Invalid results before the first valid one: an illegal move, a wrong game result, another unit's games, a missing
    // game.
    let mut bad: Vec<(String, &str)> = Vec::new();
    let mut other: Vec<u8> = Vec::new();
    let mut spoil = |inbox: &Path, file: &str, result: &[u8]| {
        let text = String::from_utf8(result.to_vec()).expect("JSON");
        let mut json: Value = serde_json::from_str(&text).expect("JSON");
        let moves = json["games"][0]["moves"].as_str().expect("moves").to_owned();
        let sent: (Vec<u8>, &str) = match bad.len() {
            0 => {
                json["games"][0]["moves"] = (moves + " Ke9").into();
                (json.to_string().into(), "is no legal move")
            }
            1 => {
                json["games"][0]["result"] = if json["games"][0]["result"] == 1 { -1 } else { 1 }.into();
                (json.to_string().into(), "expected")
            }
            2 => (other.clone(), "it is \"unit match-"),
            3 => {
                json["games"].as_array_mut().expect("games").pop();
                (json.to_string().into(), ", not 2")
            }
            _ => return,
        };
        other = result.to_vec();
        write_file(&inbox.join(file), &sent.0).expect("a file");
        let refused = inbox.join("refused").join(format!("{file}.txt"));
        let begin = Instant::now();
        while !refused.exists() && begin.elapsed() < Duration::from_secs(100) {
            thread::yield_now();
        }
        let why = std::fs::read_to_string(refused).expect("a reason");
        assert!(why.contains(sent.1), "{why}");
        bad.push((file.to_owned(), sent.1));
    };
    serve(at, waiting, &mut spoil);
    assert_eq!(results(&at.join("fleet")), alone);
    assert_eq!(wanted(&at.join("inbox")), []);
    // Valid results are not played again, damaged ones are.
    std::fs::write(at.join("fleet").join(&alone[0].0), "{}").expect("a file");
    succeeds(trainer(at, &["compare", "plan.json", "--out", "fleet"]));
    assert_eq!(results(&at.join("fleet")), alone);
}

#[test]
fn a_match_of_another_setting_under_a_units_name_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    write_comparison(at);
    let plan = std::fs::read_to_string(at.join("plan.json")).expect("a file");
    // All units, played with another number of visits.
    std::fs::write(at.join("other.json"), plan.replace("\"visits\":8", "\"visits\":3")).expect("a file");
    succeeds(trainer(at, &["compare", "other.json", "--out", "other"]));
    let arguments = ["compare", "plan.json", "--out", "out", "--inbox", "inbox", "--patience", "100000"];
    let mut waiting = trainer(at, &arguments).spawn().expect("the trainer starts");
    let inbox = at.join("inbox");
    let begin = Instant::now();
    while wanted(&inbox).is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(100) && waiting.try_wait().expect("a process").is_none()
        );
        thread::yield_now();
    }
    let units = wanted(&inbox);
    for (file, _) in &units {
        // Units of the same number.
        let begins = &file[..14];
        let like = results(&at.join("other")).into_iter().find(|(other, _)| other.starts_with(begins));
        let (name, bytes) = like.expect("a unit of the same number");
        let text = String::from_utf8(bytes).expect("JSON");
        let told = text.replace(name.trim_end_matches(".json"), file.trim_end_matches(".json"));
        write_file(&inbox.join(file), told.as_bytes()).expect("a file");
    }
    let refused = || {
        let reason = |(file, _): &(String, Value)| {
            std::fs::read_to_string(inbox.join("refused").join(format!("{file}.txt"))).unwrap_or_default()
        };
        units.iter().map(reason).filter(|why| why.contains("is not this player's by these rules")).count()
    };
    while refused() == 0 {
        assert!(begin.elapsed() < Duration::from_secs(200), "none is refused");
        thread::yield_now();
    }
    waiting.kill().expect("it runs");
    waiting.wait().expect("it ends");
}
