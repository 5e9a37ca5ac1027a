use engine::nets::eval::ValueScheme;
use engine::nets::onnx::Network;

use super::compare::quality;
use super::fixtures::{DENSE_HEAD, RESNET, fp32, fp32_of, with_a_sensitive_layer};
use super::*;
use crate::judge::export::built_in_positions;

fn quantised(fp32: &[u8], calibration: &[Game]) -> Result<Vec<u8>> {
    Quantiser::new(fp32, calibration)?.file()
}

/// The first legal move counts as the move played.
fn positions(count: usize) -> Vec<LabelledPosition> {
    let with_move =
        |game: Game| game.legal_moves().first().map(|played| LabelledPosition { played: *played, game });
    built_in_positions(count).into_iter().filter_map(with_move).collect()
}

fn check(overrides: &[&str]) {
    check_of(RESNET, overrides);
}

fn check_of(model: &str, overrides: &[&str]) {
    let fp32 = fp32_of(model, overrides);
    let int8 = quantised(&fp32, &built_in_positions(64)).unwrap();
    assert_eq!(int8, quantised(&fp32, &built_in_positions(64)).unwrap(), "deterministic");

    // Loading checks card, tensors and golden outputs.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.int8.onnx");
    std::fs::write(&path, &int8).unwrap();
    let network = Network::load(&path).unwrap();
    assert_eq!((network.card().precision.as_str(), network.name()), ("int8", "net"));

    let open = |bytes: &[u8]| OnnxSession::open(bytes).unwrap();
    let quality = quality(&mut open(&fp32), &mut open(&int8), &positions(200)[100..]).unwrap();
    assert_eq!(quality.positions, 100);
    assert_eq!(quality.wdl_error.is_some(), network.schemes().value == ValueScheme::Wdl);
    let wdl_error = quality.wdl_error.map_or(0.0, |wdl| wdl.mean);
    assert!(quality.policy_kl.mean < 0.002 && wdl_error < 0.01, "{overrides:?}: {quality:?}");
    assert!(quality.policy_kl.mean > 0.0, "quantisation changes the outputs: were both run?");
    assert!((quality.top1_after - quality.top1_before).abs() <= 1.0 - quality.same_move);
}

#[test]
fn quantised_networks_load_and_stay_close_to_the_original() {
    check(&[]);
    check(&[&["model.se_ratio=0"], &DENSE_HEAD[..]].concat());
}

#[test]
fn operators_unknown_to_the_plan_stay_in_float() {
    check(&["model.norm=group", "model.activation=gelu"]);
    check(&["model.attention_blocks=1", "model.attention_heads=4"]);
}

#[test]
fn fully_connected_networks_are_quantised_with_and_without_a_value_head() {
    let mlp = r#"{"model": {"family": "mlp", "hidden": [48, 32]}}"#;
    check_of(mlp, &[]);
    check_of(mlp, &["model.value=false"]);
    check_of(mlp, &["model.convolutions=[8,4]"]);
    check_of(mlp, &["model.convolutions=[8]", "model.activation=tanh"]);
    check_of(r#"{"model": {"family": "linear"}}"#, &[]);
}

#[test]
fn the_plan_quantises_the_whole_tower() {
    let model = ModelProto::decode(&fp32(&[])[..]).unwrap();
    let graph = model.graph.as_ref().unwrap();
    let plan = QuantisationPlan::new(graph);
    let layers = graph.node.iter().filter(|node| ["Conv", "Gemm"].contains(&node.op_type.as_str()));
    assert_eq!(
        plan.layers.len(),
        layers.count() - 3 - 2 * 2,
        "all but those of the value head and of squeeze-and-excitation"
    );
    assert_eq!(plan.products.len(), 1, "the policy's last convolution");
    // Input; outputs of the first convolution and the policy's; per block, outputs of both convolutions and the sum; in
    // the second block also pooled channels, gate and product.
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
        "the value head stays in float from the tower's output on, not from {before}"
    );
}

#[test]
fn the_most_sensitive_layer_is_first() {
    let (bytes, layer) = with_a_sensitive_layer(1.0);
    let quantiser = Quantiser::new(&bytes, &built_in_positions(64)).unwrap();
    let mut original = OnnxSession::open(&bytes).unwrap();
    let sensitivities = layer_sensitivities(&mut original, &quantiser, &positions(40)).unwrap();
    assert_eq!(sensitivities.len(), quantiser.layers().len());
    assert_eq!(sensitivities[0].layer, quantiser.describe(layer), "{sensitivities:?}");
    assert!(
        sensitivities[0].quality.policy_kl.mean > 2.0 * sensitivities[1].quality.policy_kl.mean,
        "{sensitivities:?}"
    );
}

#[test]
fn an_int8_network_cannot_be_quantised_again() {
    let int8 = quantised(&fp32(&[]), &built_in_positions(16)).unwrap();
    let error = quantised(&int8, &built_in_positions(16)).unwrap_err().to_string();
    assert_eq!(error, "only an fp32 network can be quantised, not int8");
    assert!(quantised(b"nonsense", &built_in_positions(16)).is_err());
}
