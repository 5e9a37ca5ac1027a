//! A small network of random weights, quantised.

use engine::eval::{Network, Session, Value};
use tch::{Device, Kind};

use super::*;
use crate::config::TrainConfig;
use crate::export::file::onnx;
use crate::export::quantise::compare::quality;
use crate::export::quantise::gate::blame;
use crate::export::quantise::positions::LabelledPosition;
use crate::export::verify::built_in;
use crate::model::{Net, Weights};

/// Small residual networks.
const RESNET: &str = r#"{"model": {"filters": 16, "blocks": 2}}"#;

/// A small network's file.
pub fn fp32(overrides: &[&str]) -> Vec<u8> {
    fp32_of(RESNET, overrides)
}

fn fp32_of(model: &str, overrides: &[&str]) -> Vec<u8> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    let config = TrainConfig::parse(model, &overrides).unwrap();
    let net = Net::new(&config.model).unwrap();
    let weights = Weights::new(net.layout(), Device::Cpu, Kind::Float, 3);
    onnx("net", &net, &weights, &config)
}

fn quantised(fp32: &[u8], calibration: &[Game]) -> Result<Vec<u8>, String> {
    Quantiser::new(fp32, calibration)?.file()
}

/// Positions with the first legal move as if it had been played.
fn positions(count: usize) -> Vec<LabelledPosition> {
    let with_move =
        |game: Game| game.legal_moves().first().map(|played| LabelledPosition { played: *played, game });
    built_in(count).into_iter().filter_map(with_move).collect()
}

fn check(overrides: &[&str]) {
    check_of(RESNET, overrides);
}

fn check_of(model: &str, overrides: &[&str]) {
    let fp32 = fp32_of(model, overrides);
    let int8 = quantised(&fp32, &built_in(64)).unwrap();
    assert_eq!(int8, quantised(&fp32, &built_in(64)).unwrap(), "the same every time");

    // The engine checks card, tensors and golden answers.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.int8.onnx");
    std::fs::write(&path, &int8).unwrap();
    let network = Network::load(&path).unwrap();
    assert_eq!((network.card().precision.as_str(), network.name()), ("int8", "net"));

    let open = |bytes: &[u8]| Session::open(bytes).unwrap();
    let quality = quality(&mut open(&fp32), &mut open(&int8), &positions(200)[100..]).unwrap();
    assert_eq!(quality.positions, 100);
    assert_eq!(quality.wdl_error.is_some(), network.schemes().value == Value::Wdl);
    let wdl_error = quality.wdl_error.unwrap_or(0.0);
    assert!(quality.policy_kl < 0.002 && wdl_error < 0.01, "{overrides:?}: {quality:?}");
    assert!(quality.policy_kl > 0.0, "rounding leaves a trace: were both run?");
    assert!((quality.top1_after - quality.top1_before).abs() <= 1.0 - quality.same_move);
}

#[test]
fn quantised_networks_load_and_answer_like_the_original() {
    check(&[]);
    check(&["model.se_ratio=0", "model.policy_head=dense"]);
}

#[test]
fn what_the_plan_does_not_know_stays_in_float() {
    check(&["model.norm=group", "model.activation=gelu"]);
    check(&["model.attention_blocks=1", "model.attention_heads=4"]);
}

#[test]
fn fully_connected_networks_are_quantised_with_a_value_and_without() {
    let mlp = r#"{"model": {"family": "mlp", "hidden": [48, 32]}}"#;
    check_of(mlp, &[]);
    check_of(mlp, &["model.value=false"]);
    check_of(r#"{"model": {"family": "linear"}}"#, &[]);
}

#[test]
fn the_whole_tower_is_planned_in_integers() {
    let model = ModelProto::decode(&fp32(&[])[..]).unwrap();
    let graph = model.graph.as_ref().unwrap();
    let plan = QuantisationPlan::new(graph);
    let layers = graph.node.iter().filter(|node| ["Conv", "Gemm"].contains(&node.op_type.as_str()));
    assert_eq!(plan.layers.len(), layers.count() - 3 - 2 * 2, "all but the value head's and the squeezes'");
    assert_eq!(plan.products.len(), 1, "the policy's last convolution");
    // The input, the first and the policy's convolution; of each block two convolutions' results and the sum; of the
    // second also what is pooled, the gate and the product.
    assert_eq!(plan.tensors.len(), 3 + 2 * 3 + 3, "{:?}", plan.tensors);
    let makes = |tensor: &str| graph.node.iter().find(|node| node.output[0] == tensor).unwrap();
    assert!(!plan.tensors.contains(&makes("policy").input[0]), "the policy's logits stay in float");
    let mut before = "wdl";
    while !plan.tensors.iter().any(|tensor| tensor == before) {
        before = &makes(before).input[0];
    }
    assert!(
        makes(before).op_type != "Gemm"
            && graph.node.iter().filter(|node| node.input[0] == before).count() > 1,
        "the value's head stays in float from the tower on, not from {before}"
    );
}

/// A network whose first layer suffers in 8 bits, and that layer's node.
pub fn with_a_weak_layer() -> (Vec<u8>, usize) {
    let mut model = ModelProto::decode(&fp32(&[])[..]).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let layer = graph.node.iter().position(|node| node.input[0] == "input").unwrap();
    let name = graph.node[layer].input[1].clone();
    let weight = graph.initializer.iter_mut().find(|tensor| tensor.name == name).unwrap();
    // A huge weight of a plane that is mostly zero (repetition) changes few answers, but leaves to all other
    // weights of its channel a few of the 255 steps.
    let (channel, plane) = (72 * 9 * 4, 56 * 9 * 4);
    for bytes in weight.raw_data.chunks_exact_mut(channel) {
        bytes[plane..plane + 4].copy_from_slice(&1000f32.to_le_bytes());
    }
    (answered(model, "fp32").unwrap(), layer)
}

#[test]
fn the_layer_that_suffers_most_is_named_first() {
    let (bytes, layer) = with_a_weak_layer();
    let quantiser = Quantiser::new(&bytes, &built_in(64)).unwrap();
    let mut original = Session::open(&bytes).unwrap();
    let blamed = blame(&mut original, &quantiser, &positions(40)).unwrap();
    assert_eq!(blamed.len(), quantiser.layers().len());
    assert_eq!(blamed[0].layer, quantiser.describe(layer), "{blamed:?}");
    assert!(blamed[0].quality.policy_kl > 2.0 * blamed[1].quality.policy_kl, "{blamed:?}");
}

#[test]
fn a_network_in_8_bits_is_not_quantised_again() {
    let int8 = quantised(&fp32(&[]), &built_in(16)).unwrap();
    let error = quantised(&int8, &built_in(16)).unwrap_err();
    assert_eq!(error, "only an fp32 network can be quantised, not int8");
    assert!(quantised(b"nonsense", &built_in(16)).is_err());
}
