//! Quantisation to 8 bits after training.
//!
//! [`positions`] samples positions of stored games; [`ranges`] calibrates the activations' ranges on them; [`plan`] decides
//! which layers and tensors are quantised; [`rounding`] quantises the weights (GPTQ); [`qdq`] writes the graph with
//! QuantizeLinear and DequantizeLinear nodes; [`bias`] corrects the biases; [`compare`] measures quantisation error and
//! speed; [`gate`] holds the limits of the error; [`sensitivity`] measures the error of each layer alone.

mod positions;
mod ranges;
mod plan;
mod progress;
mod rounding;
mod qdq;
mod bias;
mod compare;
mod gate;
mod sensitivity;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use engine::chess::position::Game;
use engine::nets::onnx::OnnxSession;
use prost::Message;

use crate::judge::export::golden::{property, with_golden_outputs};
use crate::judge::export::proto::{GraphProto, ModelProto};
use compare::speeds;
use gate::exceeded_limits;
use plan::QuantisationPlan;
use positions::LabelledPosition;
use ranges::QuantisationRange;
use rounding::{QuantisedWeights, constant};
use sensitivity::layer_sensitivities;

pub use compare::{QuantisationQuality, SPEED_BATCH, SPEED_REPEATS};
pub use sensitivity::LayerSensitivity;

/// Calibration positions, and as many for comparison, of [`quantise_and_compare`].
const QUICK: usize = 512;

/// A network quantised to 8 bits, compared with the fp32 network.
#[derive(Clone, Debug)]
pub struct QuantisedNetwork {
    /// The bytes of the network file.
    pub int8: Vec<u8>,
    /// Quantisation error on held-out positions.
    pub quality: QuantisationQuality,
    /// Positions per second in fp32 and in 8 bits: one thread, batches of [`SPEED_BATCH`], median of [`SPEED_REPEATS`].
    pub speeds: [f64; 2],
    /// Limits of the quantisation error that are exceeded, one message each.
    pub exceeded: Vec<String>,
    /// If a limit is exceeded: the sensitivity of every layer, the largest first.
    pub sensitivities: Vec<LayerSensitivity>,
}

/// Quantises the bytes of the network file `fp32`, calibrated on up to `calibration` positions of training games and
/// compared on up to `held_out` positions of validation games of the files `games`.
///
/// # Errors
/// If a file of games cannot be read or there are too few games, `fp32` is not an fp32 network file, or ONNX Runtime
/// fails.
pub fn quantise(
    fp32: &[u8],
    games: &[PathBuf],
    calibration: usize,
    held_out: usize,
) -> Result<QuantisedNetwork> {
    let positions = positions::read(games, calibration, held_out)?;
    log::info!("calibrating on {} positions", positions.calibration.len());
    let quantiser = Quantiser::new(fp32, &positions.calibration)?;
    let int8 = quantiser.file()?;
    let held_out = &positions.held_out;
    log::info!("comparing on {} held-out positions", held_out.len());
    let (mut before, mut after) = (OnnxSession::open(fp32)?, OnnxSession::open(&int8)?);
    let quality = compare::quality(&mut before, &mut after, held_out)?;
    log::info!("measuring the speed, {SPEED_REPEATS} times each");
    let speeds = speeds([&mut before, &mut after], held_out, SPEED_REPEATS)?;
    let exceeded = exceeded_limits(&quality);
    let sensitivities = if exceeded.is_empty() {
        Vec::new()
    } else {
        log::info!("{}: measuring the sensitivity of each layer", exceeded.join("; "));
        layer_sensitivities(&mut before, &quantiser, held_out)?
    };
    Ok(QuantisedNetwork { int8, quality, speeds, exceeded, sensitivities })
}

/// Quantises the bytes of the network file `fp32`, calibrated on a small sample of positions of the files `games` and
/// compared on other positions of the same games: a quick version of [`quantise`] for a network in training. Returns the
/// bytes of the network file in 8 bits and the quantisation error, on which there is no limit.
///
/// # Errors
/// If a file of games cannot be read, there are no games in them, or the network cannot be quantised.
pub fn quantise_and_compare(fp32: &[u8], games: &[PathBuf]) -> Result<(Vec<u8>, QuantisationQuality)> {
    let sample = positions::sample(games, 2 * QUICK)?;
    let calibration: Vec<Game> = sample.iter().step_by(2).map(|position| position.game.clone()).collect();
    ensure!(!calibration.is_empty(), "there are no games to calibrate on");
    let int8 = Quantiser::new(fp32, &calibration)?.file()?;
    let others: Vec<LabelledPosition> = sample.into_iter().skip(1).step_by(2).collect();
    let quality = compare::quality(&mut OnnxSession::open(fp32)?, &mut OnnxSession::open(&int8)?, &others)?;
    Ok((int8, quality))
}

/// A network with its quantisation plan, calibrated ranges and quantised weights.
struct Quantiser {
    model: ModelProto,
    /// The model with biases corrected for its 8-bit form.
    corrected: ModelProto,
    plan: QuantisationPlan,
    ranges: HashMap<String, QuantisationRange>,
    weights: HashMap<String, QuantisedWeights>,
}

impl Quantiser {
    /// Plans the quantisation of the network file `fp32` and calibrates it on the positions `calibration`.
    ///
    /// # Errors
    /// If the bytes are not an fp32 network file, or ONNX Runtime fails.
    fn new(fp32: &[u8], calibration: &[Game]) -> Result<Quantiser> {
        let mut model = ModelProto::decode(fp32).context("not an ONNX file")?;
        let graph = model.graph.get_or_insert_default();
        ensure!(!graph.node.is_empty(), "not an ONNX file: it has no graph");
        let plan = QuantisationPlan::new(graph);
        match property(&mut model.metadata_props, "philidor.precision").map(|text| text.as_str()) {
            Some("fp32") => {}
            Some(other) => bail!("only an fp32 network can be quantised, not {other}"),
            None => bail!("not a Philidor network: the ONNX metadata lack philidor.precision"),
        }
        let ranges = ranges::ranges(&model, &plan, calibration)?;
        let weights = rounding::rounded(&model, &plan, &ranges, calibration)?;
        let corrected = bias::corrected(&model, &plan, &ranges, &weights, calibration)?;
        Ok(Quantiser { model, corrected, plan, ranges, weights })
    }

    /// The bytes of the network file in 8 bits, with that precision and new golden outputs in its card.
    ///
    /// # Errors
    /// If ONNX Runtime fails.
    fn file(&self) -> Result<Vec<u8>> {
        with_golden_outputs(qdq::quantised(&self.corrected, &self.plan, &self.ranges, &self.weights), "int8")
    }

    /// The layers computed in integers: indices of their nodes, in the order of the graph.
    fn layers(&self) -> Vec<usize> {
        let mut layers: Vec<usize> = self.plan.layers.iter().copied().collect();
        layers.sort_unstable();
        layers
    }

    /// The bytes of the network with only one layer computed in integers and the rest in fp32.
    fn single_layer(&self, layer: usize) -> Vec<u8> {
        let plan = self.plan.single_layer(self.graph(), layer);
        qdq::quantised(&self.model, &plan, &self.ranges, &self.weights).encode_to_vec()
    }

    /// Description of a layer: its node, its number, and the shape of its weights.
    fn describe(&self, layer: usize) -> String {
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
        self.model.graph.as_ref().expect("a model with a graph")
    }
}
