//! Weights in 8 bits, rounded together so that what a layer sums up stays what it was.

use std::collections::HashMap;

use engine::eval::Session;
use engine::position::Game;
use tch::{Kind, Tensor};

use crate::export::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use crate::export::quantise::gate::layers_bar;
use crate::export::quantise::plan::QuantisationPlan;
use crate::export::quantise::positions::thinned;
use crate::export::quantise::ranges::{BATCH, QuantisationRange, with_outputs};

/// The largest 8-bit weight; −128 is left out, so that weights are symmetric.
const WEIGHT_STEPS: f32 = 127.0;

/// The largest bias in 32 bits, with room for what is added to it.
const BIAS_STEPS: f32 = (1 << 30) as f32;

/// Positions that a layer's inputs are looked at on, at most.
const POSITIONS: usize = 2048;

/// Added to the diagonal of the inputs' second moments, in shares of its mean: some inputs are never seen.
const DAMPING: f64 = 1e-3;

/// A layer's weights as they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantisedWeights {
    /// Output by output, in 8 bits.
    pub integers: Vec<i8>,
    /// The size of a step, one for each output.
    pub scales: Vec<f32>,
}

/// The weights of the plan's layers, by the name of their tensor.
///
/// Rounded one input after another, the largest first; what rounding one weight changes in a layer's sums, the weights
/// that are still to be rounded take back as well as they can: GPTQ (Frantar and others 2022), after Optimal Brain
/// Surgeon (Hassibi, Stork 1993). It knows from real positions which inputs go together. That matters most in the first
/// layer, many of whose planes are the same on every square: rounded to the nearest, their errors shift every value.
///
/// # Errors
///
/// One line, if ONNX Runtime fails or a layer's inputs aren't finite.
pub fn rounded(
    model: &ModelProto,
    plan: &QuantisationPlan,
    ranges: &HashMap<String, QuantisationRange>,
    games: &[Game],
) -> Result<HashMap<String, QuantisedWeights>, String> {
    let Some(graph) = &model.graph else { return Ok(HashMap::new()) };
    let games = thinned(games, POSITIONS);
    let bar = layers_bar(plan.layers.len());
    let mut all = HashMap::new();
    for node in plan.layers.iter().map(|index| &graph.node[*index]) {
        let weight = constant(graph, &node.input[1]).ok_or_else(|| format!("{}: no weights", node.name))?;
        let numbers = floats(weight);
        let inner = numbers.len() / weight.dims[0] as usize;
        let bias = node.input.get(2).and_then(|name| constant(graph, name)).map(floats);
        let scales = scales(&numbers, inner, bias.as_deref(), ranges[&node.input[0]].scale());
        let moments = moments(model, node, weight, &games)?;
        let guide = GptqRounder::new(&moments).map_err(|why| format!("{}: {why}", node.name))?;
        let rows = numbers.chunks_exact(inner).zip(&scales);
        let integers = rows.flat_map(|(row, scale)| guide.round(row, *scale)).collect();
        all.insert(node.input[1].clone(), QuantisedWeights { integers, scales });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

/// A graph's constant of this name.
pub fn constant<'a>(graph: &'a GraphProto, name: &str) -> Option<&'a TensorProto> {
    graph.initializer.iter().find(|tensor| tensor.name == name)
}

/// The size of a step for each output, of a layer with so many inputs.
fn scales(numbers: &[f32], inner: usize, bias: Option<&[f32]>, input_scale: f32) -> Vec<f32> {
    let scale = |(output, row): (usize, &[f32])| {
        let largest = row.iter().fold(0f32, |max, x| max.max(x.abs()));
        // An output of tiny weights may have a bias that needs a larger scale.
        let bias = bias.map_or(0.0, |bias| bias[output].abs());
        (largest / WEIGHT_STEPS).max(bias / input_scale / BIAS_STEPS).max(f32::MIN_POSITIVE)
    };
    numbers.chunks_exact(inner).enumerate().map(scale).collect()
}

/// The mean of `x · xᵀ` over positions and squares, `x` being what one of the layer's outputs sums up: `[inner, inner]`.
fn moments(
    model: &ModelProto,
    node: &NodeProto,
    weight: &TensorProto,
    games: &[Game],
) -> Result<Tensor, String> {
    let name = node.input[0].clone();
    let mut session = Session::open(&with_outputs(model, std::slice::from_ref(&name)))
        .map_err(|error| error.to_string())?;
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
            session.run_all(&input, take).map_err(|error| error.to_string())?;
        }
    }
    Ok(sum / (count.max(1) as f64))
}

/// What the layer's outputs sum up, `[inner, positions · squares]`.
fn columns(data: &[f32], weight: &TensorProto, positions: i64) -> Tensor {
    let x = Tensor::from_slice(data);
    match weight.dims[..] {
        [_, channels, height, width] => {
            // The board, or one number a channel.
            let side = if x.numel() as i64 == positions * channels { 1 } else { 8 };
            let x = x.view([positions, channels, side, side]);
            let columns = x.im2col([height, width], [1, 1], [height / 2, width / 2], [1, 1]);
            columns.permute([1, 0, 2]).reshape([channels * height * width, -1])
        }
        _ => x.view([positions, -1]).tr(),
    }
}

/// How weights make up for each other.
struct GptqRounder {
    /// The inputs in the order in which their weights are rounded.
    order: Vec<usize>,
    /// The upper factor of the moments' inverse in that order, row by row.
    factor: Vec<f64>,
}

impl GptqRounder {
    fn new(moments: &Tensor) -> Result<GptqRounder, String> {
        let size = moments.size()[0];
        let diagonal = moments.diag(0);
        let order = diagonal.argsort(0, true);
        let sorted = moments.index_select(0, &order).index_select(1, &order);
        let damping = diagonal.mean(Kind::Double) * DAMPING + f64::MIN_POSITIVE.sqrt();
        let damped = sorted + Tensor::eye(size, (Kind::Double, moments.device())) * damping;
        let factor = Tensor::f_linalg_inv(&damped).and_then(|inverse| inverse.f_linalg_cholesky(true));
        let factor = factor.map_err(|_| "its inputs aren't finite, or too much alike".to_owned())?;
        let list = |tensor: &Tensor| Vec::<f64>::try_from(tensor.contiguous().view([-1])).expect("numbers");
        let order = list(&order.to_kind(Kind::Double)).into_iter().map(|index| index as usize).collect();
        Ok(GptqRounder { order, factor: list(&factor) })
    }

    /// One output's weights in steps of `scale`.
    fn round(&self, row: &[f32], scale: f32) -> Vec<i8> {
        let size = row.len();
        let scale = f64::from(scale);
        let mut wanted: Vec<f64> = self.order.iter().map(|index| f64::from(row[*index])).collect();
        let mut integers = vec![0; size];
        for (place, index) in self.order.iter().enumerate() {
            let steps = f64::from(WEIGHT_STEPS);
            let integer = (wanted[place] / scale).round().clamp(-steps, steps);
            integers[*index] = integer as i8;
            let factors = &self.factor[place * size..][..size];
            let error = (wanted[place] - integer * scale) / factors[place];
            let later = wanted[place + 1..].iter_mut().zip(&factors[place + 1..]);
            later.for_each(|(wanted, factor)| *wanted -= error * factor);
        }
        integers
    }
}

/// A tensor's numbers.
pub fn floats(tensor: &TensorProto) -> Vec<f32> {
    tensor.raw_data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::export::quantise::ranges;
    use crate::export::quantise::tests::fp32;
    use crate::export::verify::built_in;

    #[test]
    fn inputs_that_have_nothing_to_do_with_each_other_are_rounded_to_the_nearest() {
        let guide = GptqRounder::new(&Tensor::eye(3, (Kind::Double, tch::Device::Cpu))).unwrap();
        assert_eq!(guide.round(&[-300.0, 2.6, 0.4], 1.0), [-127, 3, 0]);
        assert_eq!(guide.round(&[1.0, -0.3, 0.2], 0.5), [2, -1, 0]);
    }

    #[test]
    fn inputs_that_are_always_the_same_keep_their_weights_sum() {
        // Two inputs that are always alike and one of its own: 0.4 + 0.4 is nearer to 1 than to 0.
        let moments = Tensor::from_slice(&[1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0f64]).view([3, 3]);
        let rounded = GptqRounder::new(&moments).unwrap().round(&[0.4, 0.4, 0.4], 1.0);
        assert_eq!(i32::from(rounded[0]) + i32::from(rounded[1]), 1);
        assert_eq!(rounded[2], 0);
    }

    #[test]
    fn inputs_that_are_no_numbers_are_an_error() {
        let moments = Tensor::from_slice(&[f64::NAN, 0.0, 0.0, 1.0]).view([2, 2]);
        assert!(GptqRounder::new(&moments).is_err());
    }

    #[test]
    fn a_layers_sums_change_less_than_by_rounding_to_the_nearest() {
        for overrides in [&["model.policy_head=dense"][..], &[]] {
            let model = ModelProto::decode(&fp32(overrides)[..]).unwrap();
            let graph = model.graph.as_ref().unwrap();
            let plan = QuantisationPlan::new(graph);
            let games = built_in(64);
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
                let together = cost(&|i| f64::from(integers[i]));
                // A block's last weights begin with zeros, which any rounding keeps.
                let better = together < 0.7 * nearest || nearest == 0.0;
                assert!(better, "{}: {together} instead of {nearest}", node.name);
            }
        }
    }
}
