use anyhow::Result;
use engine::nets::eval::Schemes;
use serde_json::json;

use super::graph::graph;
use super::network::{Lc0Net, Lc0PolicyHead};
use crate::judge::export::card::{CardFields, card};
use crate::judge::export::golden;

/// The graph itself computes the golden outputs.
pub fn onnx(name: &str, net: &Lc0Net) -> Result<Vec<u8>> {
    let card = card(&CardFields {
        name,
        family: "lc0",
        schemes: Schemes::LC0,
        config: &description(net).to_string(),
        golden: &[],
    });
    golden::with_golden_outputs(graph(net).finish(name, card), "fp32")
}

/// The card's `config`: architecture, training steps and licence.
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
