//! `quantise`: a network in 8 bits.
//!
//! Real positions show what values its tensors take (`ranges`); `plan` says what is computed in integers,
//! `qdq` writes that down, and `compare` measures what it costs and brings.

mod ranges;
mod plan;
mod qdq;
mod compare;
mod command;

use engine::eval::Session;
use engine::position::Game;
use prost::Message;

use super::golden;
use super::proto::{Model, Property};
use plan::Plan;

pub use command::QuantiseArgs;

/// The bytes of the network file `fp32` in 8 bits, calibrated on these positions.
///
/// The card says so, and its golden answers are those of the new network.
///
/// # Errors
///
/// One line: the file isn't one of ours in fp32, or ONNX Runtime fails.
pub fn quantised(fp32: &[u8], calibration: &[Game]) -> Result<Vec<u8>, String> {
    let mut model = Model::decode(fp32).map_err(|error| format!("not an ONNX file: {error}"))?;
    let graph = model.graph.as_ref().ok_or("not an ONNX file: it has no graph")?;
    match property(&mut model.metadata_props.clone(), "philidor.precision") {
        Some(precision) if precision == "fp32" => {}
        Some(other) => return Err(format!("only an fp32 network can be quantised, not {other}")),
        None => return Err("not a Philidor network: the ONNX metadata lack philidor.precision".into()),
    }
    let plan = Plan::new(graph);
    let ranges = ranges::ranges(&model, &plan.tensors, calibration)?;
    model = qdq::quantised(&model, &plan, &ranges);
    let mut session = Session::open(&model.encode_to_vec()).map_err(|error| error.to_string())?;
    let games = golden::games();
    let answers = session
        .run(&ranges::planes(&games), |logits| golden::answers_of(&games, logits.policy, logits.wdl))
        .map_err(|error| error.to_string())?;
    let answers = serde_json::to_string(&answers).expect("numbers and text make JSON");
    for (key, value) in [("philidor.precision", "int8"), ("philidor.golden", &answers)] {
        if let Some(old) = property(&mut model.metadata_props, key) {
            *old = value.to_owned();
        }
    }
    Ok(model.encode_to_vec())
}

fn property<'a>(card: &'a mut [Property], key: &str) -> Option<&'a mut String> {
    card.iter_mut().find(|property| property.key == key).map(|property| &mut property.value)
}

#[cfg(test)]
mod tests;
