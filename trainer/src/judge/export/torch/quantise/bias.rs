use std::collections::HashMap;

use anyhow::Result;
use engine::chess::position::Game;
use engine::nets::onnx::OnnxSession;

use super::plan::QuantisationPlan;
use super::positions::thinned;
use super::progress::layers_bar;
use super::qdq::quantised;
use super::ranges::{BATCH, QuantisationRange, with_outputs};
use super::rounding::{QuantisedWeights, constant, floats};
use engine::nets::onnx_file::proto::ModelProto;

const POSITIONS: usize = 2048;

struct LayerOutput {
    name: String,
    bias: String,
    channels: usize,
    channels_last: bool,
}

/// Subtracts from each bias the mean shift of its channel under quantisation: empirical bias correction (Nagel et al.,
/// "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, appendix D), layer by layer. Returns
/// the fp32 model.
pub fn corrected(
    model: &ModelProto,
    plan: &QuantisationPlan,
    ranges: &HashMap<String, QuantisationRange>,
    weights: &HashMap<String, QuantisedWeights>,
    games: &[Game],
) -> Result<ModelProto> {
    let games = thinned(games, POSITIONS);
    let layers = layer_outputs(model, plan);
    let wanted = means(model, &layers, &games)?;
    let mut model = model.clone();
    let bar = layers_bar(layers.len());
    for (layer, wanted) in layers.iter().zip(wanted) {
        let found = means(&quantised(&model, plan, ranges, weights), std::slice::from_ref(layer), &games)?;
        let shift = wanted.iter().zip(&found[0]).map(|(wanted, found)| (wanted - found) as f32);
        let constants = &mut model.graph.get_or_insert_default().initializer;
        if let Some(bias) = constants.iter_mut().find(|tensor| tensor.name == layer.bias) {
            let moved = floats(bias).into_iter().zip(shift).map(|(bias, shift)| bias + shift);
            bias.raw_data = moved.flat_map(f32::to_le_bytes).collect();
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(model)
}

/// Of planned layers with a bias, in graph order.
fn layer_outputs(model: &ModelProto, plan: &QuantisationPlan) -> Vec<LayerOutput> {
    let Some(graph) = &model.graph else { return Vec::new() };
    let layers = graph.node.iter().enumerate().filter(|(index, _)| plan.layers.contains(index));
    let outputs = layers.filter_map(|(index, node)| {
        let bias = node.input.get(2)?;
        let channels = constant(graph, bias)?.dims[0] as usize;
        let transposed = plan.products.get(&index).map(|transpose| &graph.node[*transpose]);
        let name = transposed.unwrap_or(node).output[0].clone();
        Some(LayerOutput { name, bias: bias.clone(), channels, channels_last: transposed.is_some() })
    });
    outputs.collect()
}

/// Channel means of each output, over positions and squares.
fn means(model: &ModelProto, layers: &[LayerOutput], games: &[Game]) -> Result<Vec<Vec<f64>>> {
    let names: Vec<String> = layers.iter().map(|layer| layer.name.clone()).collect();
    let mut session = OnnxSession::open(&with_outputs(model, &names))?;
    let scheme = session.schemes().input;
    let mut totals: Vec<Vec<f64>> = layers.iter().map(|layer| vec![0.0; layer.channels]).collect();
    let mut counts = vec![0.0; layers.len()];
    for batch in games.chunks(BATCH) {
        let add = |name: &str, data: &[f32]| {
            let Some(index) = layers.iter().position(|layer| layer.name == name) else { return };
            let LayerOutput { channels, channels_last, .. } = layers[index];
            let numbers = data.len() / channels;
            let run = if channels_last { 1 } else { numbers / batch.len() };
            for (place, run) in data.chunks_exact(run).enumerate() {
                totals[index][place % channels] += run.iter().map(|x| f64::from(*x)).sum::<f64>();
            }
            counts[index] += numbers as f64;
        };
        session.run_all(&scheme.tensor(batch), add)?;
    }
    for (totals, count) in totals.iter_mut().zip(counts) {
        totals.iter_mut().for_each(|total| *total /= count);
    }
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::judge::export::built_in_positions;
    use crate::judge::export::torch::quantise::fixtures::{DENSE_HEAD, fp32};
    use crate::judge::export::torch::quantise::{ranges, rounding};

    #[test]
    fn the_mean_shift_is_corrected() {
        let model = ModelProto::decode(&fp32(&DENSE_HEAD)[..]).unwrap();
        let plan = QuantisationPlan::new(model.graph.as_ref().unwrap());
        let games = built_in_positions(64);
        let ranges = ranges::ranges(&model, &plan, &games).unwrap();
        let weights = rounding::rounded(&model, &plan, &ranges, &games).unwrap();
        let corrected = corrected(&model, &plan, &ranges, &weights, &games).unwrap();
        let layers = layer_outputs(&model, &plan);
        assert_eq!(layers.len(), plan.layers.len(), "every layer of an exported network has a bias");
        let wanted = means(&model, &layers, &games).unwrap();
        let error = |model: &ModelProto| -> f64 {
            let found = means(&quantised(model, &plan, &ranges, &weights), &layers, &games).unwrap();
            let pairs = wanted.iter().flatten().zip(found.iter().flatten());
            pairs.map(|(wanted, found)| (wanted - found).abs()).sum()
        };
        let (before, after) = (error(&model), error(&corrected));
        assert!(after < 0.1 * before, "{before} became {after}");
    }

    #[test]
    fn a_channels_mean_is_over_positions_and_squares() {
        let model = ModelProto::decode(&fp32(&[])[..]).unwrap();
        let plan = QuantisationPlan::new(model.graph.as_ref().unwrap());
        let games = built_in_positions(5);
        // Means are equal one by one and all at once. The policy's last layer is channels-last.
        for layer in layer_outputs(&model, &plan) {
            let layer = [layer];
            let all = means(&model, &layer, &games).unwrap();
            let each: Vec<Vec<f64>> = games
                .iter()
                .map(|game| means(&model, &layer, std::slice::from_ref(game)).unwrap().remove(0))
                .collect();
            for (channel, mean) in all[0].iter().enumerate() {
                let expected = each.iter().map(|means| means[channel]).sum::<f64>() / 5.0;
                assert!((mean - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{}", layer[0].name);
            }
            assert_eq!(all[0].len(), layer[0].channels);
        }
        assert!(layer_outputs(&model, &plan).iter().any(|layer| layer.channels_last));
    }
}
