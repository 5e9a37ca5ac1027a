//! Quantised graphs in QDQ format: pairs of QuantizeLinear and DequantizeLinear nodes, which ONNX Runtime fuses into
//! integer operators.

use std::collections::{HashMap, HashSet};

use super::plan::QuantisationPlan;
use super::ranges::QuantisationRange;
use super::rounding::{QuantisedWeights, floats};
use engine::nets::onnx_file::proto::{
    AttributeProto, FLOAT, GraphProto, INT8, INT32, ModelProto, NodeProto, TensorProto, UINT8,
};

/// Quantises planned tensors to unsigned 8 bits (one scale per tensor) and planned layers' `weights` to signed 8 bits
/// (one scale per output channel).
///
/// Activations that can be negative are unsigned too, with a zero point: with AVX-512 VNNI, ONNX Runtime is almost 5
/// times as fast on u8 × s8 as on s8 × s8.
///
/// Panics if the graph or a planned range or weights are missing.
pub fn quantised(
    model: &ModelProto,
    plan: &QuantisationPlan,
    ranges: &HashMap<String, QuantisationRange>,
    weights: &HashMap<String, QuantisedWeights>,
) -> ModelProto {
    let source = model.graph.as_ref().expect("a network has a graph");
    let constants = source.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    let graph = GraphProto { node: Vec::new(), initializer: Vec::new(), ..source.clone() };
    let mut writer = QdqWriter { constants, graph, scales: HashMap::new(), weights };
    for input in source.input.iter().filter(|input| plan.tensors.contains(&input.name)) {
        writer.quantise(&input.name, ranges[&input.name]);
    }
    let replaced: HashSet<usize> = plan.products.values().copied().collect();
    for (index, node) in source.node.iter().enumerate().filter(|(index, _)| !replaced.contains(index)) {
        match plan.products.get(&index) {
            Some(transpose) => writer.product(node, &source.node[*transpose].output[0]),
            None => writer.node(node, plan.layers.contains(&index)),
        }
        if plan.tensors.contains(&node.output[0]) {
            writer.quantise(&node.output[0], ranges[&node.output[0]]);
        }
    }
    let used: HashSet<&String> = writer.graph.node.iter().flat_map(|node| &node.input).collect();
    let kept: Vec<TensorProto> =
        source.initializer.iter().filter(|tensor| used.contains(&tensor.name)).cloned().collect();
    writer.graph.initializer.extend(kept);
    ModelProto { graph: Some(writer.graph), ..model.clone() }
}

struct QdqWriter<'a> {
    constants: HashMap<&'a str, &'a TensorProto>,
    graph: GraphProto,
    scales: HashMap<String, f32>,
    weights: &'a HashMap<String, QuantisedWeights>,
}

impl QdqWriter<'_> {
    /// Copies a node to read quantised tensors if they exist, and quantised weights if a `layer`.
    fn node(&mut self, node: &NodeProto, layer: bool) {
        let mut node = node.clone();
        if layer {
            let weights = &self.weights[&node.input[1]];
            let dims = self.constants[node.input[1].as_str()].dims.clone();
            node.input[1] = self.write_weights(&node.input[1], &dims, weights, 0);
            if let Some(name) = node.input.get(2).cloned() {
                node.input[2] = self.write_bias(&name, weights, self.scales[&node.input[0]]);
            }
        }
        for input in &mut node.input {
            if self.scales.contains_key(input) {
                *input = format!("{input}/dequantised");
            }
        }
        self.graph.node.push(node);
    }

    /// Writes a 1x1 convolution as the product of `[n, 8, 8, in]` and `[in, out]`.
    fn product(&mut self, conv: &NodeProto, output: &str) {
        let x = &conv.input[0];
        let weights = &self.weights[&conv.input[1]];
        let [out, inner] = [0, 1].map(|axis| self.constants[conv.input[1].as_str()].dims[axis] as usize);
        let integers = (0..inner).flat_map(|i| (0..out).map(move |o| (i, o)));
        let integers = integers.map(|(i, o)| weights.integers[o * inner + i]).collect();
        let weights = QuantisedWeights { integers, scales: weights.scales.clone() };
        let matrix = self.write_weights(&conv.input[1], &[inner as i64, out as i64], &weights, 1);
        let squares = format!("{output}/squares");
        let axes = AttributeProto {
            name: "perm".into(),
            ints: vec![0, 2, 3, 1],
            r#type: 7,
            ..AttributeProto::default()
        };
        self.push("Transpose", &[&format!("{x}/quantised")], &squares, vec![axes]);
        let [scale, zero] = ["scale", "zero"].map(|part| format!("{x}/{part}"));
        let inputs = [squares.as_str(), &scale, &zero];
        let dequantised = format!("{squares}/dequantised");
        self.push("DequantizeLinear", &inputs, &dequantised, Vec::new());
        match conv.input.get(2) {
            Some(bias) => {
                let sum = format!("{output}/product");
                self.push("MatMul", &[&dequantised, &matrix], &sum, Vec::new());
                self.push("Add", &[&sum, bias], output, Vec::new());
            }
            None => self.push("MatMul", &[&dequantised, &matrix], output, Vec::new()),
        }
    }

    fn quantise(&mut self, tensor: &str, range: QuantisationRange) {
        let (scale, zero) = (range.scale(), range.zero());
        let parameters = [format!("{tensor}/scale"), format!("{tensor}/zero")];
        self.constant(&parameters[0], &[], FLOAT, scale.to_le_bytes().to_vec());
        self.constant(&parameters[1], &[], UINT8, vec![zero]);
        let quantised = format!("{tensor}/quantised");
        self.push("QuantizeLinear", &[tensor, &parameters[0], &parameters[1]], &quantised, Vec::new());
        let inputs = [quantised.as_str(), &parameters[0], &parameters[1]];
        self.push("DequantizeLinear", &inputs, &format!("{tensor}/dequantised"), Vec::new());
        self.scales.insert(tensor.to_owned(), scale);
    }

    /// Writes 8-bit weights and returns their dequantised output.
    fn write_weights(&mut self, name: &str, dims: &[i64], weights: &QuantisedWeights, axis: i64) -> String {
        let bytes = weights.integers.iter().map(|x| *x as u8).collect();
        self.write_channels(name, dims, (INT8, bytes), &weights.scales, axis)
    }

    /// Writes a bias in the accumulator's unit (weight scale · input scale), 32 bits. Returns its dequantised output.
    fn write_bias(&mut self, name: &str, weights: &QuantisedWeights, input_scale: f32) -> String {
        let bias = self.constants[name];
        let scales: Vec<f32> = weights.scales.iter().map(|scale| scale * input_scale).collect();
        let integers = floats(bias).into_iter().zip(&scales).map(|(x, scale)| (x / scale).round() as i32);
        let bytes = integers.flat_map(i32::to_le_bytes).collect();
        self.write_channels(name, &bias.dims.clone(), (INT32, bytes), &scales, 0)
    }

    fn write_channels(
        &mut self,
        name: &str,
        dims: &[i64],
        (data_type, bytes): (i32, Vec<u8>),
        scales: &[f32],
        axis: i64,
    ) -> String {
        let [integers, scale, zero] = ["integers", "scale", "zero"].map(|part| format!("{name}/{part}"));
        self.constant(&integers, dims, data_type, bytes);
        let bytes = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        self.constant(&scale, &[scales.len() as i64], FLOAT, bytes);
        // Zero is the default, but some fusions of ONNX Runtime need it to be explicit.
        let zeros = vec![0; scales.len() * if data_type == INT32 { 4 } else { 1 }];
        self.constant(&zero, &[scales.len() as i64], data_type, zeros);
        let dequantised = format!("{name}/dequantised");
        let axis =
            AttributeProto { name: "axis".into(), i: Some(axis), r#type: 2, ..AttributeProto::default() };
        self.push("DequantizeLinear", &[&integers, &scale, &zero], &dequantised, vec![axis]);
        dequantised
    }

    fn constant(&mut self, name: &str, dims: &[i64], data_type: i32, raw_data: Vec<u8>) {
        let (dims, name) = (dims.to_vec(), name.to_owned());
        self.graph.initializer.push(TensorProto {
            dims,
            data_type,
            name,
            raw_data,
            ..TensorProto::default()
        });
    }

    fn push(&mut self, op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) {
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![output.to_owned()],
            name: output.to_owned(),
            op_type: op.to_owned(),
            attribute,
        });
    }
}
