use std::collections::{HashMap, HashSet};

use engine::nets::onnx_file::proto::{GraphProto, NodeProto};

const VALUE: &str = "wdl";

/// The first squeeze-and-excitation gates, which stay in float.
const FLOAT_GATES: usize = 1;

/// Quantised are inputs, weights and outputs of every convolution and fully connected layer, with these exceptions:
/// - The outputs of the last layers stay in float: quantised logits quadrupled the policy divergence at no measurable
///   gain in speed.
/// - The value head and the fully connected layers of squeeze-and-excitation stay in float: they are sensitive and take
///   about 1 % of the time.
///
/// Pooling, gates, products and sums of quantised tensors are quantised too, so that ONNX Runtime computes the whole
/// tower in integers. The first gate stays in float ([`FLOAT_GATES`]), because its error passes through all later
/// layers: in int8 it caused 1/14 of the value's error, in float it costs 1/40 of the speed.
#[derive(Debug, Default)]
pub struct QuantisationPlan {
    pub layers: HashSet<usize>,
    /// 1x1 convolutions whose only consumer, the node at the second index, transposes to squares × channels. They
    /// become matrix products, whose output needs no quantisation.
    pub products: HashMap<usize, usize>,
    /// In graph order.
    pub tensors: Vec<String>,
    /// The first layer's input: the network's input, possibly with scaled planes.
    pub input: String,
}

impl QuantisationPlan {
    /// Nodes must be in topological order.
    pub fn new(graph: &GraphProto) -> QuantisationPlan {
        let consumers = Consumers::new(graph);
        let first = graph.node.iter().find(|node| ["Conv", "Gemm"].contains(&node.op_type.as_str()));
        let input = first.map(|node| node.input[0].clone()).unwrap_or_default();
        let mut plan = QuantisationPlan { input, ..QuantisationPlan::default() };
        // Tensors computed from a pooled tensor, with one number per channel.
        let mut squeezed = HashSet::new();
        let mut gates = 0;
        for (index, node) in graph.node.iter().enumerate() {
            let result = consumers.activated(node);
            match node.op_type.as_str() {
                "Conv" | "Gemm" if consumers.leads_only_to(node, VALUE) => {}
                "Conv" if squeezed.contains(node.input[0].as_str()) => _ = squeezed.insert(result),
                "Sigmoid" if squeezed.contains(node.input[0].as_str()) && gates > FLOAT_GATES => {
                    plan.add(result)
                }
                "Conv" | "Gemm" if consumers.is_last(node) => {
                    if let Some(transpose) = consumers.transposed(node) {
                        plan.products.insert(index, transpose);
                    }
                    if node.op_type == "Gemm" || plan.products.contains_key(&index) {
                        plan.layers.insert(index);
                        plan.add(&node.input[0]);
                    }
                }
                "Conv" | "Gemm" => {
                    plan.layers.insert(index);
                    plan.add(&node.input[0]);
                    plan.add(result);
                }
                "GlobalAveragePool" if plan.has_all(&node.input) => {
                    squeezed.insert(result);
                    gates += 1;
                    if gates > FLOAT_GATES {
                        plan.add(result);
                    }
                }
                "Sigmoid" | "Mul" | "Add" if plan.has_all(&node.input) => plan.add(result),
                _ => {}
            }
        }
        plan
    }

    /// The layer's input, weights and output.
    pub fn single_layer(&self, graph: &GraphProto, layer: usize) -> QuantisationPlan {
        let node = &graph.node[layer];
        let consumers = Consumers::new(graph);
        let own = [node.input[0].as_str(), consumers.activated(node)];
        QuantisationPlan {
            input: self.input.clone(),
            layers: HashSet::from([layer]),
            products: self.products.get_key_value(&layer).map(|(a, b)| (*a, *b)).into_iter().collect(),
            tensors: self.tensors.iter().filter(|tensor| own.contains(&tensor.as_str())).cloned().collect(),
        }
    }

    fn has_all(&self, tensors: &[String]) -> bool {
        tensors.iter().all(|tensor| self.tensors.contains(tensor))
    }

    fn add(&mut self, tensor: &str) {
        if !self.tensors.iter().any(|known| known == tensor) {
            self.tensors.push(tensor.to_owned());
        }
    }
}

struct Consumers<'a> {
    graph: &'a GraphProto,
    of: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Consumers<'a> {
    fn new(graph: &'a GraphProto) -> Consumers<'a> {
        let mut of: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in graph.node.iter().enumerate() {
            for input in &node.input {
                of.entry(input).or_default().push(index);
            }
        }
        Consumers { graph, of }
    }

    fn only(&self, node: &NodeProto) -> Option<(usize, &'a NodeProto)> {
        match self.of.get(node.output[0].as_str())?.as_slice() {
            [index] => Some((*index, &self.graph.node[*index])),
            _ => None,
        }
    }

    /// The output after the node's ReLU, if the ReLU is the only consumer: quantisation to unsigned 8 bits implies the
    /// ReLU.
    fn activated<'b>(&'b self, node: &'b NodeProto) -> &'b str {
        match self.only(node) {
            Some((_, next)) if next.op_type == "Relu" => &next.output[0],
            _ => &node.output[0],
        }
    }

    /// Whether only reshapes and permutations follow before an output of the graph.
    fn is_last(&self, node: &NodeProto) -> bool {
        let output = |name: &str| self.graph.output.iter().any(|output| output.name == name);
        if output(&node.output[0]) {
            return true;
        }
        let shape_only = ["Identity", "Reshape", "Transpose", "Gather"];
        self.only(node)
            .is_some_and(|(_, next)| shape_only.contains(&next.op_type.as_str()) && self.is_last(next))
    }

    fn leads_only_to(&self, node: &NodeProto, output: &str) -> bool {
        let name = node.output[0].as_str();
        match self.of.get(name) {
            Some(consumers) => {
                consumers.iter().all(|index| self.leads_only_to(&self.graph.node[*index], output))
            }
            None => name == output,
        }
    }

    /// The transposition `[0, 2, 3, 1]` that is the only consumer of a 1x1 convolution.
    fn transposed(&self, node: &NodeProto) -> Option<usize> {
        let ints = |node: &'a NodeProto, name: &str| {
            node.attribute.iter().find(|a| a.name == name).map(|a| &a.ints[..])
        };
        let kernel = node.attribute.iter().find(|a| a.name == "kernel_shape")?;
        let (index, next) = self.only(node)?;
        let fits = next.op_type == "Transpose" && ints(next, "perm") == Some(&[0, 2, 3, 1]);
        (kernel.ints == [1, 1] && fits).then_some(index)
    }
}
