//! Unusable network files are refused with a one-line reason; a shipped network reproduces its golden answers.

use std::path::{Path, PathBuf};

use engine::chess::position::Game;
use engine::nets::eval::{Precision, Request};
use engine::nets::onnx::{NetError, Network, NetworkPair, PrecisionCache};
use engine::nets::onnx_file::proto::{ModelProto, StringStringEntryProto};
use prost::Message;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

fn resnet() -> NetworkPair {
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
    NetworkPair::beside(&nets.join("resnet.onnx")).expect("the shipped network")
}

fn resnet_bytes() -> Vec<u8> {
    shipped("resnet.onnx")
}

fn shipped(name: &str) -> Vec<u8> {
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
    std::fs::read(nets.join(name)).expect("the shipped network")
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, bytes).expect("a scratch file");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn rejection(name: &str, bytes: &[u8]) -> NetError {
    let file = Scratch::new(name, bytes);
    let Err(NetError::InFile(path, reason)) = Network::load(&file.0) else { panic!("{name} was loaded") };
    assert_eq!(path, file.0);
    assert_eq!(reason.to_string().lines().count(), 1, "{reason}");
    *reason
}

/// Equal lengths keep the file's structure.
fn patched(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = resnet_bytes();
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty(), "{from} is not in the file");
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn missing_files_are_named() {
    let error = Network::load(Path::new("/nowhere/net.onnx")).err().expect("no such file");
    assert!(error.to_string().starts_with("network /nowhere/net.onnx: cannot be read"), "{error}");
}

#[test]
fn truncated_and_foreign_files_are_refused() {
    let bytes = resnet_bytes();
    assert!(matches!(rejection("truncated.onnx", &bytes[..bytes.len() / 2]), NetError::NotOnnx(_)));
    assert!(matches!(rejection("empty.onnx", &[]), NetError::NotOnnx(_) | NetError::Card(_)));
    assert!(matches!(rejection("text.onnx", b"this is not a network"), NetError::NotOnnx(_)));
    for leela in [&[0x1f, 0x8b, 8, 0][..], &[0x0d, 0xc0, 0x01, 0x00, 0x00, 0x12]] {
        let error = rejection("maia-1900.pb.gz", leela);
        assert!(matches!(error, NetError::Leela), "{error}");
        assert!(error.to_string().contains("philidor-trainer convert-lc0 FILE --out NAME.onnx"), "{error}");
    }
    // ONNX without our card.
    let foreign = rejection("foreign.onnx", &patched("philidor.format", "somebody.format"));
    assert!(foreign.to_string().contains("not a Philidor network"), "{foreign}");
}

#[test]
fn other_schemes_and_tensors_are_named_with_what_was_expected() {
    let unknown = rejection("scheme.onnx", &patched("planes72/1", "planes72/9")).to_string();
    let expected =
        "\"planes72/1\", \"planes19/1\", \"planes14/1\", \"onehot832/1\", \"lc0-112/1\" or \"planes119/1\"";
    assert_eq!(unknown, format!("philidor.input is \"planes72/9\", expected {expected}"));
    let renamed = rejection("tensor.onnx", &patched("\u{3}wdl", "\u{3}xyz")).to_string();
    assert!(renamed.contains("wdl"), "{renamed}");
}

#[test]
fn wrong_golden_answers_are_noticed() {
    // A valid network whose answers differ from its card's.
    let text = String::from_utf8_lossy(&resnet_bytes()).into_owned();
    let start = text.find("\"wdl\":[0.").expect("golden answers");
    let digits = &text[start..start + 11];
    let digit = if digits.ends_with('9') { '1' } else { '9' };
    let changed = format!("{}{digit}", &digits[..10]);
    let error = rejection("golden.onnx", &patched(digits, &changed));
    assert!(matches!(error, NetError::Golden(_)), "{error}");
}

/// Each damage is refused with an error that names the property.
#[test]
fn every_damage_of_a_card_is_named() {
    let sound = ModelProto::decode(&resnet_bytes()[..]).expect("ONNX");
    let refused = |change: &dyn Fn(&mut Vec<StringStringEntryProto>)| {
        let mut model = sound.clone();
        change(&mut model.metadata_props);
        rejection("card.onnx", &model.encode_to_vec()).to_string()
    };
    let set = |key: &str, value: &str| {
        refused(&|card| card.iter_mut().filter(|entry| entry.key == key).for_each(|e| e.value = value.into()))
    };
    for name in ["format", "family", "input", "policy", "value", "precision", "golden", "name", "config"] {
        let key = format!("philidor.{name}");
        let error = refused(&|card| card.retain(|entry| entry.key != key));
        assert!(error.contains(&key), "{key} is missing: {error}");
        for value in ["", " ", "\u{0}", "no\nsuch", &"x".repeat(100_000)] {
            if !["name", "config"].contains(&name) {
                let error = set(&key, value);
                assert!(error.contains(&key) && error.len() < 500, "{key} is {value:?}: {error}");
            }
        }
    }
    let golden = sound.metadata_props.iter().find(|entry| entry.key == "philidor.golden");
    let golden: serde_json::Value = serde_json::from_str(&golden.expect("answers").value).expect("JSON");
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut golden = golden.clone();
        change(&mut golden);
        set("philidor.golden", &golden.to_string())
    };
    type Change<'a> = &'a dyn Fn(&mut serde_json::Value);
    let damaged: [(Change<'_>, &str); 8] = [
        (&|all| *all = serde_json::json!([]), "0 positions, expected at least 4"),
        (&|all| drop(all.as_array_mut().expect("a list").drain(3..)), "3 positions, expected at least 4"),
        (&|all| *all = serde_json::json!({"fen": 1}), "philidor.golden"),
        (&|all| all[1]["fen"] = "no\nposition".into(), "golden"),
        (&|all| all[1]["moves"] = "e2e5".into(), "e2e5"),
        (&|all| all[1]["wdl"] = serde_json::json!([1, 2]), "philidor.golden"),
        (&|all| all[1]["policy"] = serde_json::json!({}), "no answer for"),
        (&|all| all[1]["more"] = 1.into(), "unknown field `more`"),
    ];
    for (change, name) in damaged {
        let error = with(change);
        assert!(error.contains(name), "expected {name}: {error}");
    }
}

#[test]
fn damaged_bytes_are_refused_or_run() {
    let sound = resnet_bytes();
    for seed in 0..60 {
        let random = &mut SmallRng::seed_from_u64(seed);
        let mut bytes = sound.clone();
        // At the ends, where the structure is, or anywhere.
        let end = if seed % 2 == 0 { 2000 } else { sound.len() };
        let at = random.random_range(0..end);
        let at = if seed % 4 < 2 { at } else { sound.len() - 1 - at };
        match seed % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.random_range(0..8),
            _ => drop(bytes.splice(at..at, [random.random(), 0xff, 0xff, 0xff, 0x7f])),
        }
        let file = Scratch::new("bytes.onnx", &bytes);
        if let Err(error) = Network::load(&file.0) {
            let error = error.to_string();
            assert!(error.contains("bytes.onnx") && error.lines().count() == 1, "seed {seed}: {error}");
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_batch() {
    let network = resnet().exactly(Precision::Fp32).expect("the shipped network");
    let mut evaluator = network.evaluator(8).expect("a session");
    let mut game = Game::new();
    let mut games = Vec::new();
    for text in ["e2e4", "c7c5", "g1f3", "d7d6", "d2d4", "c5d4", "f3d4", "g8f6"] {
        game.play(game.parse_uci(text).expect("a legal move"));
        games.push(game.clone());
    }
    let legal: Vec<_> = games.iter().map(Game::legal_moves).collect();
    let requests: Vec<Request<'_>> =
        games.iter().zip(&legal).map(|(game, moves)| Request { game, moves }).collect();
    let together = evaluator.evaluate(&requests).expect("answers");
    for (request, answer) in requests.iter().zip(&together) {
        let alone = evaluator.evaluate(&[*request]).expect("an answer").remove(0);
        assert!((alone.wdl.q() - answer.wdl.q()).abs() < 1e-4);
        assert!(alone.priors.iter().zip(&answer.priors).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((answer.priors.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((answer.wdl.win + answer.wdl.draw + answer.wdl.loss - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_value_does_not_depend_on_the_requested_moves() {
    let network = resnet().exactly(Precision::Fp32).expect("the shipped network");
    let mut evaluator = network.evaluator(2).expect("a session");
    let game = Game::new();
    let all = game.legal_moves();
    let some = &all[..1];
    let requests = [Request { game: &game, moves: &all }, Request { game: &game, moves: some }];
    let answers = evaluator.evaluate(&requests).expect("answers");
    assert!((answers[0].wdl.q() - answers[1].wdl.q()).abs() < 1e-6);
    assert_eq!(answers[1].priors, [1.0]);
}

#[test]
fn both_precisions_are_one_network() {
    let networks = resnet().all().expect("the shipped network");
    let [fp32, int8] = &networks[..] else { panic!("two precisions") };
    assert_eq!((fp32.card().precision.as_str(), int8.card().precision.as_str()), ("fp32", "int8"));
    let same = |network: &Network| (network.card().name.clone(), network.card().config.clone());
    assert_eq!(same(fp32), same(int8), "quantise the network anew when it has changed");
    let line = ["e2e4", "c7c5", "g1f3", "d7d6", "d2d4", "c5d4", "f3d4", "g8f6"];
    let game = Game::from_uci(None, line).expect("legal moves");
    let moves = game.legal_moves();
    let answers = [fp32, int8].map(|network| {
        let mut evaluator = network.evaluator(1).expect("a session");
        evaluator.evaluate(&[Request { game: &game, moves: &moves }]).expect("an answer").remove(0)
    });
    assert!((answers[0].wdl.q() - answers[1].wdl.q()).abs() < 0.05, "{answers:?}");
    assert!(answers[0].priors.iter().zip(&answers[1].priors).all(|(a, b)| (a - b).abs() < 0.05));
    assert_ne!(answers[0], answers[1]);
}

fn choice(pair: &NetworkPair, wanted: Option<Precision>, cache: &PrecisionCache) -> (String, Option<String>) {
    let chosen = pair.choose(wanted, 8, cache).expect("a network");
    (chosen.network.card().precision.clone(), chosen.note)
}

#[test]
fn a_wanted_precision_is_taken_unmeasured() {
    let nowhere = PrecisionCache::default();
    for precision in Precision::ALL {
        let wanted = choice(&resnet(), Some(precision), &nowhere);
        assert_eq!(wanted, (precision.name().to_owned(), None));
    }
}

#[test]
fn a_missing_precision_is_replaced_and_named() {
    let cache = PrecisionCache::default();
    for (file, shipped_as, precision, other) in [
        ("only-fp32.onnx", "resnet.onnx", "fp32", "only-fp32.int8.onnx"),
        ("only-int8.int8.onnx", "resnet.int8.onnx", "int8", "only-int8.onnx"),
    ] {
        let file = Scratch::new(file, &shipped(shipped_as));
        let pair = NetworkPair::beside(&file.0).expect("a network");
        for wanted in [None, Some(Precision::Fp32), Some(Precision::Int8)] {
            let (chosen, note) = choice(&pair, wanted, &cache);
            assert_eq!(chosen, precision);
            let other = file.0.with_file_name(other);
            let missing = format!("{} is missing: playing in {precision}", other.display());
            let as_wanted = wanted.is_some_and(|wanted| wanted.name() == precision);
            assert_eq!(note, (!as_wanted).then_some(missing), "{wanted:?}");
        }
    }
    let error = NetworkPair::beside(Path::new("/nowhere/net.onnx")).err().expect("no such file");
    assert!(error.to_string().starts_with("network /nowhere/net.onnx: cannot be read"), "{error}");
}

#[test]
fn the_other_precision_replaces_a_damaged_one() {
    let good = Scratch::new("half.onnx", &resnet_bytes());
    let damaged = Scratch::new("half.int8.onnx", b"this is not a network");
    let cache = PrecisionCache::default();
    let (chosen, note) = choice(&NetworkPair::beside(&good.0).expect("files"), None, &cache);
    assert_eq!(chosen, "fp32");
    assert!(note.is_some_and(|note| note.contains("half.int8.onnx") && note.ends_with("playing in fp32")));
    assert!(NetworkPair::beside(&damaged.0).expect("files").choose(None, 8, &cache).is_err());
    let int8 = NetworkPair::beside(&good.0).expect("files").choose(Some(Precision::Int8), 8, &cache);
    assert!(int8.is_err());
}

#[test]
fn what_is_faster_is_measured_once() {
    let file = Scratch::new("precision.json", b"damaged");
    let cache = PrecisionCache::in_file(&file.0);
    let pair = resnet();
    let (first, note) = choice(&pair, None, &cache);
    assert_eq!(note, None);
    let text = std::fs::read_to_string(&file.0).expect("it was remembered");
    let verdict = format!("\"precision\": \"{first}\"");
    assert!(text.contains(&verdict) && text.contains("fp32_ms"), "{text}");
    // A stored precision is used without a measurement.
    for precision in Precision::ALL {
        std::fs::write(&file.0, text.replace(&verdict, &format!("\"precision\": \"{precision}\""))).unwrap();
        assert_eq!(choice(&pair, None, &cache).0, precision.name());
    }
    std::fs::write(&file.0, "{").unwrap();
    choice(&pair, None, &cache);
    let again = std::fs::read_to_string(&file.0).expect("it was measured anew");
    assert!(again.contains("fp32_ms"), "{again}");
}
