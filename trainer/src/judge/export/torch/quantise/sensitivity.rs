//! Sensitivity analysis: the quantisation error of each layer alone.

use anyhow::Result;
use engine::nets::onnx::OnnxSession;

use super::Quantiser;
use super::compare::{QuantisationQuality, quality};
use super::positions::{LabelledPosition, thinned};
use super::progress::layers_bar;

/// Most positions that the layers are compared on.
const POSITIONS: usize = 1024;

/// The quantisation error of a network with only one layer computed in integers.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerSensitivity {
    /// Name of the layer's node in the network file, its number and its size.
    pub layer: String,
    /// Comparison with the fp32 network.
    pub quality: QuantisationQuality,
}

/// The sensitivities of all layers that are computed in integers, the largest first.
///
/// # Errors
/// If ONNX Runtime fails.
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
    // Policy KL and WDL error have the same limit, so their numbers are comparable.
    let error =
        |layer: &LayerSensitivity| layer.quality.policy_kl.max(layer.quality.wdl_error.unwrap_or(0.0));
    all.sort_by(|a, b| error(b).total_cmp(&error(a)));
    Ok(all)
}
