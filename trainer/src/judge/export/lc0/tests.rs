//! Compares converted networks with lc0's outputs in `tests/data/lc0/answers.jsonl`, for [`random::VARIANTS`] and Maia
//! 1100 and 1900: `VerboseMoveStats` after `go nodes 1` (Eigen backend, policy temperature 1) with more digits, and the
//! WDL before display rescaling.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::eval::Request;
use engine::nets::onnx::Network;
use prost::Message;
use serde::Deserialize;
use tempfile::TempDir;

use super::graph::graph;
use super::network::Lc0Net;
use super::proto::ProtoNet;
use super::random::{Lc0Variant, VARIANTS};
use super::{onnx, random};
use crate::judge::export::built_in_positions;
use engine::nets::onnx_file::proto::{AttributeProto, ModelProto, NodeProto};

/// Of probabilities.
const TOLERANCE: f32 = 1e-3;

#[derive(Deserialize)]
struct Row {
    net: String,
    fen: String,
    moves: String,
    best: String,
    wdl: [f32; 3],
    policy: BTreeMap<String, f32>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rows(net: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("tests/data/lc0/answers.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Row>(line).unwrap());
    rows.filter(|row| row.net == net).collect()
}

fn converted(name: &str, net: &Lc0Net) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.onnx"));
    std::fs::write(&path, onnx(name, net).unwrap()).unwrap();
    (folder, path)
}

fn check(name: &str, path: &Path) {
    let mut evaluator = Network::load(path).unwrap().evaluator(1).unwrap();
    let rows = rows(name);
    assert!(rows.len() >= 50, "{name}: {} rows", rows.len());
    let (mut worst, mut black) = (0f32, 0);
    for row in &rows {
        let mut game = Game::from_fen(&row.fen).unwrap();
        row.moves.split_whitespace().for_each(|text| game.play(game.parse_uci(text).unwrap()));
        black += usize::from(game.turn().is_black());
        let moves = game.legal_moves();
        let answer = evaluator.evaluate(&[Request { game: &game, moves: &moves }]).unwrap().remove(0);
        let place = format!("{name}: {} {}", row.fen, row.moves);
        assert_eq!(moves.len(), row.policy.len(), "{place}");
        let ours = [answer.wdl.win, answer.wdl.draw, answer.wdl.loss];
        for (ours, theirs) in ours.iter().zip(&row.wdl) {
            assert!((ours - theirs).abs() < TOLERANCE, "{place}: {:?} {:?}", answer.wdl, row.wdl);
            worst = worst.max((ours - theirs).abs());
        }
        for (m, prior) in moves.iter().zip(&answer.priors) {
            let uci = Game::uci(*m, false);
            let difference = (prior - row.policy[&uci]).abs();
            assert!(difference < TOLERANCE, "{place}: {uci} {prior} instead of {}", row.policy[&uci]);
            worst = worst.max(difference);
        }
        let best = (0..moves.len()).max_by(|a, b| answer.priors[*a].total_cmp(&answer.priors[*b])).unwrap();
        assert_eq!(Game::uci(moves[best], false), row.best, "{place}");
    }
    assert!(black * 3 > rows.len(), "{black} of {} positions with Black to move", rows.len());
    println!("{name}: {} positions, largest difference {worst:.1e}", rows.len());
}

#[test]
fn random_networks_of_every_variant_match_lc0() {
    for variant in VARIANTS {
        let (_folder, path) = converted(variant.name, &Lc0Net::decode(&random::file(variant)).unwrap());
        check(variant.name, &path);
    }
}

#[test]
fn maia_matches_lc0() {
    for name in ["maia-1100", "maia-1900"] {
        let weights = root().join(format!("../shared/peers/{name}.pb.gz"));
        if weights.exists() {
            let (_folder, path) = converted(name, &Lc0Net::load(&weights).unwrap());
            check(name, &path);
        }
    }
}

fn read(net: &ProtoNet) -> Result<Lc0Net> {
    Lc0Net::decode(&net.encode_to_vec())
}

#[test]
fn other_files_are_errors_that_name_the_reason() {
    let packed = random::file(VARIANTS[0]);
    let refused = |bytes: &[u8]| format!("{:#}", Lc0Net::decode(bytes).unwrap_err());
    assert!(refused(&packed[..packed.len() / 2]).starts_with("the file is damaged or truncated"));
    assert!(refused(b"ONNX or whatever").starts_with("not an lc0 network"));
    assert!(refused(&[]).starts_with("not an lc0 network"));
    let error = Lc0Net::load(Path::new("/nowhere/net.pb.gz")).unwrap_err().to_string();
    assert_eq!(error, "cannot read /nowhere/net.pb.gz");
}

#[test]
fn unsupported_networks_are_errors_that_name_the_format() {
    let refused = |change: fn(&mut super::proto::ProtoNetworkFormat), expected: &str| {
        let mut net = random::net(VARIANTS[0]);
        change(net.format.as_mut().unwrap().network_format.as_mut().unwrap());
        let error = read(&net).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(|format| format.input = Some(3), "input format 3");
    refused(|format| format.network = Some(6), "network structure 6");
    refused(|format| format.network = Some(5), "the file holds an ONNX network");
    refused(|format| format.policy = Some(3), "policy head 3");
    refused(|format| format.value = Some(3), "value head 3");
    refused(|format| format.default_activation = Some(9), "activation 9");
}

#[test]
fn layers_of_wrong_size_are_named() {
    let mut net = random::net(VARIANTS[0]);
    net.weights.as_mut().unwrap().ip2_val_b = None;
    assert_eq!(read(&net).unwrap_err().to_string(), "ip2_val_b is missing");
    let mut net = random::net(VARIANTS[0]);
    let block = &mut net.weights.as_mut().unwrap().residual[1];
    block.se.as_mut().unwrap().w2.as_mut().unwrap().params.as_mut().unwrap().truncate(100);
    assert_eq!(read(&net).unwrap_err().to_string(), "residual[1].se.w2 has 50 numbers, expected 256");
    // The oldest files have no format, which means dense policy and scalar value.
    let mut net = random::net(VARIANTS[1]);
    net.format = None;
    assert_eq!(read(&net).unwrap(), read(&random::net(VARIANTS[1])).unwrap());
}

/// With lc0's input and output names, and probabilities instead of logits.
fn as_lc0_exports(variant: Lc0Variant) -> ModelProto {
    let net = Lc0Net::decode(&random::file(variant)).unwrap();
    let mut model = graph(&net).finish("lc0", Vec::new());
    let graph = model.graph.as_mut().unwrap();
    let value = if variant.wdl { "/output/wdl" } else { "/output/value" };
    let renamed = [("input", "/input/planes"), ("policy", "/output/policy"), ("wdl", value)];
    for (ours, theirs) in renamed {
        let rename = |name: &mut String| {
            if name == ours {
                *name = theirs.into();
            }
        };
        graph.node.iter_mut().for_each(|node| {
            node.input.iter_mut().for_each(rename);
            node.output.iter_mut().for_each(rename);
        });
        graph.input.iter_mut().chain(&mut graph.output).for_each(|info| rename(&mut info.name));
    }
    let last = graph.node.iter_mut().find(|node| node.output[0] == value).unwrap();
    if variant.wdl {
        last.op_type = "Softmax".into();
        return model;
    }
    // The first of the logits (x, draw, −x).
    last.op_type = "Slice".into();
    last.output = vec!["x".into()];
    let mut bounds = |name: &str, number: i64| {
        let raw_data = number.to_le_bytes().to_vec();
        let tensor = engine::nets::onnx_file::proto::TensorProto {
            dims: vec![1],
            data_type: engine::nets::onnx_file::proto::INT64,
            name: name.into(),
            raw_data,
            ..Default::default()
        };
        graph.initializer.push(tensor);
        name.to_owned()
    };
    let bounds = [bounds("start", 0), bounds("end", 1), bounds("axis", 1)];
    last.input.extend(bounds);
    graph.node.push(NodeProto {
        input: vec!["x".into()],
        output: vec![value.into()],
        name: value.into(),
        op_type: "Tanh".into(),
        attribute: Vec::<AttributeProto>::new(),
    });
    let output = graph.output.iter_mut().find(|output| output.name == value).unwrap();
    let shape = output.r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
    shape.dim[1].dim_value = Some(1);
    model
}

#[test]
fn networks_exported_by_lc0_itself_are_loaded() {
    for variant in [VARIANTS[0], VARIANTS[1]] {
        let (_folder, ours) = converted(variant.name, &Lc0Net::decode(&random::file(variant)).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs.onnx");
        std::fs::write(&path, as_lc0_exports(variant).encode_to_vec()).unwrap();
        let theirs = Network::load(&path).unwrap();
        assert_eq!((theirs.name(), theirs.card().family.as_str()), ("theirs", "lc0"));
        let [mut ours, mut theirs] =
            [Network::load(&ours).unwrap(), theirs].map(|network| network.evaluator(1).unwrap());
        for game in built_in_positions(20) {
            let moves = game.legal_moves();
            let request = [Request { game: &game, moves: &moves }];
            let [a, b] =
                [&mut ours, &mut theirs].map(|evaluator| evaluator.evaluate(&request).unwrap().remove(0));
            let pairs = a.priors.iter().zip(&b.priors);
            let pairs = pairs.chain([(&a.wdl.win, &b.wdl.win), (&a.wdl.draw, &b.wdl.draw)]);
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5), "{}: {a:?} {b:?}", game.fen());
        }
    }
}
