//! The network file of a Leela network.

use engine::eval::Schemes;
use serde_json::json;

use super::graph::graph;
use super::network::{Lc0Net, Lc0PolicyHead};
use crate::export::file::{CardText, card};
use crate::export::golden;

/// The bytes of a network file called `name`; its golden answers are the graph's own.
///
/// # Errors
/// One line, if ONNX Runtime fails.
pub fn onnx(name: &str, net: &Lc0Net) -> Result<Vec<u8>, String> {
    let card = card(&CardText {
        name,
        family: "lc0",
        schemes: Schemes::LC0,
        config: &description(net).to_string(),
        golden: &[],
    });
    golden::answered(graph(net).finish(name, card), "fp32")
}

/// What the file was, for the card.
fn description(net: &Lc0Net) -> serde_json::Value {
    json!({
        "filters": net.input.out(),
        "blocks": net.blocks.len(),
        "squeeze": net.blocks.iter().find_map(|block| block.squeeze.as_ref()).map(|s| s.reduce.out()),
        "activation": net.activation,
        "policy_head": match net.policy { Lc0PolicyHead::Conv { .. } => "conv", Lc0PolicyHead::Dense { .. } => "dense" },
        "value_head": if net.value.out.out() == 1 { "scalar" } else { "wdl" },
        "training_steps": net.steps,
        "license": net.licence,
    })
}
