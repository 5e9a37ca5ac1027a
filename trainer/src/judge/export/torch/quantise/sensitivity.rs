use anyhow::Result;
use engine::nets::onnx::OnnxSession;

use super::Quantiser;
use super::compare::{QuantisationQuality, quality};
use super::positions::{LabelledPosition, thinned};
use super::progress::layers_bar;

const POSITIONS: usize = 1024;

/// The error with only this layer in integers.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSensitivity {
    pub layer: String,
    /// Against the fp32 network.
    pub quality: QuantisationQuality,
}

/// All integer layers in descending order of error.
pub fn layer_sensitivities(
    original: &mut OnnxSession,
    quantiser: &Quantiser,
    positions: &[LabelledPosition],
) -> Result<Vec<LayerSensitivity>> {
    let positions = thinned(positions, POSITIONS);
    let layers = quantiser.layers();
    let bar = layers_bar(layers.len());
    let mut all = Vec::with_capacity(layers.len());
    for layer in layers {
        let mut single = OnnxSession::open(&quantiser.single_layer(layer))?;
        let quality = quality(original, &mut single, &positions)?;
        all.push(LayerSensitivity { layer: quantiser.describe(layer), quality });
        bar.inc(1);
    }
    bar.finish_and_clear();
    // Policy KL and WDL error have the same limit, so they are comparable.
    let error = |layer: &LayerSensitivity| {
        layer.quality.policy_kl.mean.max(layer.quality.wdl_error.map_or(0.0, |wdl| wdl.mean))
    };
    all.sort_by(|a, b| error(b).total_cmp(&error(a)));
    Ok(all)
}
