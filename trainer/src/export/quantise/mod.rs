//! `quantise`: a network in 8 bits.
//!
//! Real positions (`positions`) show what values its tensors take (`ranges`); `plan` says what is computed in
//! integers, `rounding` finds the weights, `qdq` writes that down, `bias` moves the means back that rounding has moved, `compare` measures what it
//! costs and brings, and `gate` judges.

pub(crate) mod positions;
mod ranges;
mod plan;
mod rounding;
mod qdq;
mod bias;
pub(crate) mod compare;
pub(crate) mod gate;

use std::collections::HashMap;
use std::path::PathBuf;

use engine::eval::Session;
use engine::position::Game;
use prost::Message;

use super::golden::{answered, property};
use super::proto::{GraphProto, ModelProto};
use crate::export::quantise::plan::QuantisationPlan;
use crate::export::quantise::ranges::QuantisationRange;
use crate::export::quantise::rounding::{QuantisedWeights, constant};

pub use compare::QuantisationQuality;

/// Positions that a network which still learns is calibrated on, and as many that it is compared on.
const QUICK: usize = 512;

/// A network with all that is needed to put it into 8 bits.
pub struct Quantiser {
    model: ModelProto,
    /// The same with biases for 8 bits.
    corrected: ModelProto,
    plan: QuantisationPlan,
    ranges: HashMap<String, QuantisationRange>,
    weights: HashMap<String, QuantisedWeights>,
}

impl Quantiser {
    /// Plans and calibrates: of the bytes of the network file `fp32`, on these positions.
    ///
    /// # Errors
    ///
    /// One line: the file isn't one of ours in fp32, or ONNX Runtime fails.
    pub fn new(fp32: &[u8], calibration: &[Game]) -> Result<Quantiser, String> {
        let mut model = ModelProto::decode(fp32).map_err(|error| format!("not an ONNX file: {error}"))?;
        let graph = model.graph.get_or_insert_default();
        if graph.node.is_empty() {
            return Err("not an ONNX file: it has no graph".into());
        }
        let plan = QuantisationPlan::new(graph);
        match property(&mut model.metadata_props, "philidor.precision").map(|text| text.as_str()) {
            Some("fp32") => {}
            Some(other) => return Err(format!("only an fp32 network can be quantised, not {other}")),
            None => return Err("not a Philidor network: the ONNX metadata lack philidor.precision".into()),
        }
        let ranges = ranges::ranges(&model, &plan, calibration)?;
        let weights = rounding::rounded(&model, &plan, &ranges, calibration)?;
        let corrected = bias::corrected(&model, &plan, &ranges, &weights, calibration)?;
        Ok(Quantiser { model, corrected, plan, ranges, weights })
    }

    /// The bytes of the network file in 8 bits. The card says so, and its golden answers are those of the
    /// new network.
    ///
    /// # Errors
    ///
    /// One line, if ONNX Runtime fails.
    pub fn file(&self) -> Result<Vec<u8>, String> {
        answered(qdq::quantised(&self.corrected, &self.plan, &self.ranges, &self.weights), "int8")
    }

    /// The layers in integers: indices of their nodes, in the order of the graph.
    pub fn layers(&self) -> Vec<usize> {
        let mut layers: Vec<usize> = self.plan.layers.iter().copied().collect();
        layers.sort_unstable();
        layers
    }

    /// The bytes of the network with one layer in integers and the rest in fp32.
    pub fn alone(&self, layer: usize) -> Vec<u8> {
        let plan = self.plan.alone(self.graph(), layer);
        qdq::quantised(&self.model, &plan, &self.ranges, &self.weights).encode_to_vec()
    }

    /// A layer in words: its node, and the shape of its weights.
    pub fn describe(&self, layer: usize) -> String {
        let node = &self.graph().node[layer];
        let weight = constant(self.graph(), &node.input[1]);
        let number = self.layers().iter().position(|other| *other == layer).map_or(0, |index| index + 1);
        let total = self.plan.layers.len();
        match weight.map(|weight| &weight.dims[..]) {
            Some([out, inner, height, width]) => {
                format!("{} (layer {number} of {total}, {height}x{width}, {inner} to {out})", node.name)
            }
            Some([out, inner]) => format!("{} (layer {number} of {total}, {inner} to {out})", node.name),
            _ => node.name.clone(),
        }
    }

    fn graph(&self) -> &GraphProto {
        self.model.graph.as_ref().expect("looked at when the model was read")
    }
}

/// The bytes of the network file `fp32` in 8 bits, calibrated on some positions of these files of games and compared on
/// others of the same games: quick, for a network that plays while it learns. Nothing is refused.
///
/// # Errors
///
/// One line: a file can't be used, there is no game in them, or the network can't be quantised.
pub fn quickly(fp32: &[u8], games: &[PathBuf]) -> Result<(Vec<u8>, QuantisationQuality), String> {
    let sample = positions::sample(games, 2 * QUICK)?;
    let calibration: Vec<Game> = sample.iter().step_by(2).map(|position| position.game.clone()).collect();
    if calibration.is_empty() {
        return Err("there are no games to calibrate on".into());
    }
    let int8 = Quantiser::new(fp32, &calibration)?.file()?;
    let others: Vec<positions::LabelledPosition> = sample.into_iter().skip(1).step_by(2).collect();
    let open = |bytes: &[u8]| Session::open(bytes).map_err(|error| error.to_string());
    let quality = compare::quality(&mut open(fp32)?, &mut open(&int8)?, &others)?;
    Ok((int8, quality))
}

#[cfg(test)]
pub(crate) mod tests;
