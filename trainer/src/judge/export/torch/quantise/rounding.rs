use std::collections::HashMap;

use anyhow::{Context, Result};
use engine::chess::position::Game;
use engine::nets::onnx::OnnxSession;
use tch::{Kind, Tensor};

use super::plan::QuantisationPlan;
use super::positions::thinned;
use super::progress::layers_bar;
use super::ranges::{BATCH, QuantisationRange, with_outputs};
use engine::nets::onnx_file::proto::{GraphProto, ModelProto, NodeProto, TensorProto};

/// Without −128, so that the range is symmetric.
const WEIGHT_STEPS: f32 = 127.0;

/// Leaves room in the 32-bit accumulator for the products.
const BIAS_STEPS: f32 = (1 << 30) as f32;

const POSITIONS: usize = 2048;

/// Damping of the second-moment matrix relative to its mean diagonal, because some inputs are always zero.
const DAMPING: f64 = 1e-3;

#[derive(Clone, Debug, PartialEq)]
pub struct QuantisedWeights {
    /// `[out, inner]`, row-major.
    pub integers: Vec<i8>,
    /// `[out]`: step of each output channel.
    pub scales: Vec<f32>,
}

/// Returns weights by tensor name, rounded by GPTQ (Frantar et al. 2022), after Optimal Brain Surgeon (Hassibi and
/// Stork 1993). GPTQ rounds a layer's weights input by input, in descending order of second moment on `games`; the
/// weights not yet rounded compensate each rounding error. The first layer gains most, because many of its planes are
/// constant over the board: errors of rounding to nearest would shift every output.
pub fn rounded(
    model: &ModelProto,
    plan: &QuantisationPlan,
    ranges: &HashMap<String, QuantisationRange>,
    games: &[Game],
) -> Result<HashMap<String, QuantisedWeights>> {
    let Some(graph) = &model.graph else { return Ok(HashMap::new()) };
    let games = thinned(games, POSITIONS);
    let bar = layers_bar(plan.layers.len());
    let mut all = HashMap::new();
    for node in plan.layers.iter().map(|index| &graph.node[*index]) {
        let weight = constant(graph, &node.input[1]).with_context(|| format!("{}: no weights", node.name))?;
        let numbers = floats(weight);
        let inner = numbers.len() / weight.dims[0] as usize;
        let bias = node.input.get(2).and_then(|name| constant(graph, name)).map(floats);
        let scales = scales(&numbers, inner, bias.as_deref(), ranges[&node.input[0]].scale());
        let moments = moments(model, node, weight, &games)?;
        let rounder = GptqRounder::new(&moments).with_context(|| node.name.clone())?;
        let rows = numbers.chunks_exact(inner).zip(&scales);
        let integers = rows.flat_map(|(row, scale)| rounder.round(row, *scale)).collect();
        all.insert(node.input[1].clone(), QuantisedWeights { integers, scales });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

pub fn constant<'a>(graph: &'a GraphProto, name: &str) -> Option<&'a TensorProto> {
    graph.initializer.iter().find(|tensor| tensor.name == name)
}

/// Step per output of a layer with `inner` weights per output.
fn scales(numbers: &[f32], inner: usize, bias: Option<&[f32]>, input_scale: f32) -> Vec<f32> {
    let scale = |(output, row): (usize, &[f32])| {
        let largest = row.iter().fold(0f32, |max, x| max.max(x.abs()));
        // The bias's unit is this scale times the input's, so a large bias with small weights needs a larger scale.
        let bias = bias.map_or(0.0, |bias| bias[output].abs());
        (largest / WEIGHT_STEPS).max(bias / input_scale / BIAS_STEPS).max(f32::MIN_POSITIVE)
    };
    numbers.chunks_exact(inner).enumerate().map(scale).collect()
}

/// Mean of `x · xᵀ` over positions and squares, `[inner, inner]`. `x` is the inputs of one output (im2col for
/// convolutions).
fn moments(model: &ModelProto, node: &NodeProto, weight: &TensorProto, games: &[Game]) -> Result<Tensor> {
    let name = node.input[0].clone();
    let mut session = OnnxSession::open(&with_outputs(model, std::slice::from_ref(&name)))?;
    let scheme = session.schemes().input;
    let inner = weight.dims[1..].iter().product::<i64>();
    let mut sum = Tensor::zeros([inner, inner], (Kind::Double, tch::Device::Cpu));
    let mut count = 0;
    for batch in games.chunks(BATCH) {
        let input = scheme.tensor(batch);
        let mut add = |data: &[f32]| {
            let x = columns(data, weight, batch.len() as i64);
            count += x.size()[1];
            sum += x.matmul(&x.tr()).to_kind(Kind::Double);
        };
        if name == "input" {
            add(&input);
        } else {
            let take = |output: &str, data: &[f32]| {
                if output == name {
                    add(data);
                }
            };
            session.run_all(&input, take)?;
        }
    }
    Ok(sum / (count.max(1) as f64))
}

/// Inputs of each output (im2col), `[inner, positions · squares]`.
fn columns(data: &[f32], weight: &TensorProto, positions: i64) -> Tensor {
    let x = Tensor::from_slice(data);
    match weight.dims[..] {
        [_, channels, height, width] => {
            // A board, or one number per channel.
            let side = if x.numel() as i64 == positions * channels { 1 } else { 8 };
            let x = x.view([positions, channels, side, side]);
            let columns = x.im2col([height, width], [1, 1], [height / 2, width / 2], [1, 1]);
            columns.permute([1, 0, 2]).reshape([channels * height * width, -1])
        }
        _ => x.view([positions, -1]).tr(),
    }
}

struct GptqRounder {
    /// Inputs in rounding order: descending second moment.
    order: Vec<usize>,
    /// Upper Cholesky factor of the inverse second-moment matrix in rounding order, row-major.
    factor: Vec<f64>,
}

impl GptqRounder {
    /// The moments must be finite and positive definite.
    fn new(moments: &Tensor) -> Result<GptqRounder> {
        let size = moments.size()[0];
        let diagonal = moments.diag(0);
        let order = diagonal.argsort(0, true);
        let sorted = moments.index_select(0, &order).index_select(1, &order);
        let damping = diagonal.mean(Kind::Double) * DAMPING + f64::MIN_POSITIVE.sqrt();
        let damped = sorted + Tensor::eye(size, (Kind::Double, moments.device())) * damping;
        let factor = Tensor::f_linalg_inv(&damped).and_then(|inverse| inverse.f_linalg_cholesky(true));
        let factor = factor.context("the layer's inputs are not finite or their moments are singular")?;
        let list = |tensor: &Tensor| Vec::<f64>::try_from(tensor.contiguous().view([-1])).expect("numbers");
        let order = list(&order.to_kind(Kind::Double)).into_iter().map(|index| index as usize).collect();
        Ok(GptqRounder { order, factor: list(&factor) })
    }

    /// Rounds one output's weights to multiples of `scale`.
    fn round(&self, row: &[f32], scale: f32) -> Vec<i8> {
        let size = row.len();
        let scale = f64::from(scale);
        let mut target: Vec<f64> = self.order.iter().map(|index| f64::from(row[*index])).collect();
        let mut integers = vec![0; size];
        for (place, index) in self.order.iter().enumerate() {
            let steps = f64::from(WEIGHT_STEPS);
            let integer = (target[place] / scale).round().clamp(-steps, steps);
            integers[*index] = integer as i8;
            let factors = &self.factor[place * size..][..size];
            let error = (target[place] - integer * scale) / factors[place];
            let later = target[place + 1..].iter_mut().zip(&factors[place + 1..]);
            later.for_each(|(target, factor)| *target -= error * factor);
        }
        integers
    }
}

pub fn floats(tensor: &TensorProto) -> Vec<f32> {
    tensor.raw_data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::judge::export::built_in_positions;
    use crate::judge::export::torch::quantise::fixtures::fp32;
    use crate::judge::export::torch::quantise::ranges;

    #[test]
    fn uncorrelated_inputs_are_rounded_to_nearest() {
        let rounder = GptqRounder::new(&Tensor::eye(3, (Kind::Double, tch::Device::Cpu))).unwrap();
        assert_eq!(rounder.round(&[-300.0, 2.6, 0.4], 1.0), [-127, 3, 0]);
        assert_eq!(rounder.round(&[1.0, -0.3, 0.2], 0.5), [2, -1, 0]);
    }

    #[test]
    fn equal_inputs_keep_the_sum_of_their_weights() {
        // Two equal inputs and an independent one: 0.4 + 0.4 is nearer to 1 than to 0.
        let moments = Tensor::from_slice(&[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0f64]).view([3, 3]);
        let rounded = GptqRounder::new(&moments).unwrap().round(&[0.4, 0.4, 0.4], 1.0);
        assert_eq!(i32::from(rounded[0]) + i32::from(rounded[1]), 1);
        assert_eq!(rounded[2], 0);
    }

    #[test]
    fn nan_inputs_are_an_error() {
        let moments = Tensor::from_slice(&[f64::NAN, 0.0, 0.0, 1.0]).view([2, 2]);
        assert!(GptqRounder::new(&moments).is_err());
    }

    #[test]
    fn the_output_error_is_smaller_than_with_rounding_to_nearest() {
        for overrides in [&["model.policy_head=dense"][..], &[]] {
            let model = ModelProto::decode(&fp32(overrides)[..]).unwrap();
            let graph = model.graph.as_ref().unwrap();
            let plan = QuantisationPlan::new(graph);
            let games = built_in_positions(64);
            let ranges = ranges::ranges(&model, &plan, &games).unwrap();
            let all = rounded(&model, &plan, &ranges, &games).unwrap();
            assert_eq!(all.len(), plan.layers.len());
            for node in plan.layers.iter().map(|index| &graph.node[*index]) {
                let weight = constant(graph, &node.input[1]).unwrap();
                let (numbers, QuantisedWeights { integers, scales }) = (floats(weight), &all[&node.input[1]]);
                let moments = moments(&model, node, weight, &games).unwrap();
                let inner = numbers.len() / scales.len();
                let cost = |round: &dyn Fn(usize) -> f64| {
                    let change = |i: usize| f64::from(numbers[i]) - round(i) * f64::from(scales[i / inner]);
                    let change: Vec<f64> = (0..numbers.len()).map(change).collect();
                    let change = Tensor::from_slice(&change).view([-1, inner as i64]);
                    (change.matmul(&moments) * change).sum(Kind::Double).double_value(&[])
                };
                let nearest = cost(&|i| f64::from((numbers[i] / scales[i / inner]).round()));
                let gptq = cost(&|i| f64::from(integers[i]));
                // The last weights of a block start at zero, without rounding error.
                let better = gptq < 0.7 * nearest || nearest == 0.0;
                assert!(better, "{}: {gptq} instead of {nearest}", node.name);
            }
        }
    }
}
