//! Post-training quantisation to int8: [`positions`] samples games, [`ranges`] calibrates activations, [`plan`] chooses
//! layers and tensors, [`rounding`] quantises weights (GPTQ), [`bias`] corrects biases, [`qdq`] writes the graph, and
//! [`compare`], [`gate`] and [`sensitivity`] judge the error.

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
use compare::speeds;
use engine::nets::onnx_file::proto::{GraphProto, ModelProto};
use gate::exceeded_limits;
use plan::QuantisationPlan;
use positions::LabelledPosition;
use ranges::QuantisationRange;
use rounding::{QuantisedWeights, constant};
use sensitivity::layer_sensitivities;

pub use compare::{ErrorStatistics, PositionError, QuantisationQuality, SPEED_BATCH, SPEED_REPEATS};
pub use sensitivity::LayerSensitivity;

/// For calibration, and as many for comparison.
const QUICK: usize = 512;

/// Reported positions.
const WORST: usize = 5;

#[derive(Clone, Debug)]
pub struct QuantisedNetwork {
    pub int8: Vec<u8>,
    /// Error against the fp32 network on held-out positions.
    pub quality: QuantisationQuality,
    /// Positions per second in fp32 and int8: one thread, batches of [`SPEED_BATCH`], median of [`SPEED_REPEATS`].
    pub speeds: [f64; 2],
    /// One message per exceeded limit.
    pub exceeded: Vec<String>,
    /// Positions with the largest errors, in descending order.
    pub worst: Vec<PositionError>,
    /// All layers in descending order of error; only if a limit is exceeded.
    pub sensitivities: Vec<LayerSensitivity>,
}

/// Calibrates on up to `calibration` positions of training games and compares on up to `held_out` positions of
/// validation games.
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
    let errors = compare::errors(&mut before, &mut after, held_out)?;
    let quality = QuantisationQuality::of(&errors);
    log::info!("measuring the speed, {SPEED_REPEATS} times each");
    let speeds = speeds([&mut before, &mut after], held_out, SPEED_REPEATS)?;
    let exceeded = exceeded_limits(&quality);
    let sensitivities = if exceeded.is_empty() {
        Vec::new()
    } else {
        log::info!("{}: measuring the sensitivity of each layer", exceeded.join("; "));
        layer_sensitivities(&mut before, &quantiser, held_out)?
    };
    let worst = compare::worst(&errors, WORST);
    Ok(QuantisedNetwork { int8, quality, speeds, exceeded, worst, sensitivities })
}

/// Quick quantisation of a network in training: calibrates on a small sample of games and compares on other positions
/// of these games. Returns the int8 file and its error, which has no limit.
pub fn quantise_and_compare(fp32: &[u8], games: &[PathBuf]) -> Result<(Vec<u8>, QuantisationQuality)> {
    let sample = positions::sample(games, 2 * QUICK)?;
    let calibration: Vec<Game> = sample.iter().step_by(2).map(|position| position.game.clone()).collect();
    ensure!(!calibration.is_empty(), "there are no games to calibrate on");
    let int8 = Quantiser::new(fp32, &calibration)?.file()?;
    let others: Vec<LabelledPosition> = sample.into_iter().skip(1).step_by(2).collect();
    let quality = compare::quality(&mut OnnxSession::open(fp32)?, &mut OnnxSession::open(&int8)?, &others)?;
    Ok((int8, quality))
}

struct Quantiser {
    model: ModelProto,
    corrected: ModelProto,
    plan: QuantisationPlan,
    ranges: HashMap<String, QuantisationRange>,
    weights: HashMap<String, QuantisedWeights>,
}

impl Quantiser {
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

    fn file(&self) -> Result<Vec<u8>> {
        with_golden_outputs(qdq::quantised(&self.corrected, &self.plan, &self.ranges, &self.weights), "int8")
    }

    /// Nodes of the integer layers in graph order.
    fn layers(&self) -> Vec<usize> {
        let mut layers: Vec<usize> = self.plan.layers.iter().copied().collect();
        layers.sort_unstable();
        layers
    }

    fn single_layer(&self, layer: usize) -> Vec<u8> {
        let plan = self.plan.single_layer(self.graph(), layer);
        qdq::quantised(&self.model, &plan, &self.ranges, &self.weights).encode_to_vec()
    }

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
