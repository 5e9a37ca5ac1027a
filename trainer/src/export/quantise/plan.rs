//! Which layers of a graph are computed in integers, and which tensors therefore travel in 8 bits.

use std::collections::{HashMap, HashSet};

use crate::export::proto::{GraphProto, NodeProto};

/// The output that win, draw and loss come from.
const VALUE: &str = "wdl";

/// The first gated sums that stay in float.
const FLOAT_GATES: usize = 1;

/// What becomes of a graph's nodes and tensors.
///
/// Every convolution and fully connected layer gets 8-bit inputs and weights, and hands on 8 bits, except
/// the last layers: what they sum up stays in float, as rounding logits costs four times the divergence
/// for no measurable speed, and except where few numbers carry much and cost a hundredth of the network's time: the
/// layers of the value's head, and those that squeeze and excite. Pooling, gates, products and sums between quantised
/// tensors are quantised too, so that the runtime fuses all of it and never leaves integers inside the tower, but for the
/// first gate: errors grow on their way through the network, and of the value's those made there were a fourteenth, for a
/// fortieth of its speed.
#[derive(Debug, Default)]
pub struct QuantisationPlan {
    /// Layers computed in integers, by index of their node.
    pub layers: HashSet<usize>,
    /// A 1x1 convolution whose result is only transposed to squares × channels, with that transposition:
    /// written as a matrix product, which needs no 8-bit result.
    pub products: HashMap<usize, usize>,
    /// Tensors in 8 bits, in the order of the graph.
    pub tensors: Vec<String>,
    /// What the first layer reads: the network's input, of which some planes may have been scaled.
    pub input: String,
}

impl QuantisationPlan {
    /// The plan for a graph whose nodes stand in topological order.
    pub fn new(graph: &GraphProto) -> QuantisationPlan {
        let consumers = Consumers::new(graph);
        let first = graph.node.iter().find(|node| ["Conv", "Gemm"].contains(&node.op_type.as_str()));
        let input = first.map(|node| node.input[0].clone()).unwrap_or_default();
        let mut plan = QuantisationPlan { input, ..QuantisationPlan::default() };
        // What is made of a pooled tensor, one number a channel.
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

    /// The plan with one of its layers alone: its input, its weights and its result.
    pub fn alone(&self, graph: &GraphProto, layer: usize) -> QuantisationPlan {
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

/// Who reads a tensor.
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

    /// The only reader of the node's result.
    fn only(&self, node: &NodeProto) -> Option<(usize, &'a NodeProto)> {
        match self.of.get(node.output[0].as_str())?.as_slice() {
            [index] => Some((*index, &self.graph.node[*index])),
            _ => None,
        }
    }

    /// The node's result, after the ReLU that alone reads it if there is one: 8 bits without a sign are a
    /// ReLU themselves.
    fn activated<'b>(&'b self, node: &'b NodeProto) -> &'b str {
        match self.only(node) {
            Some((_, next)) if next.op_type == "Relu" => &next.output[0],
            _ => &node.output[0],
        }
    }

    /// Whether the node's result only changes its shape and order on the way to an output.
    fn is_last(&self, node: &NodeProto) -> bool {
        let output = |name: &str| self.graph.output.iter().any(|output| output.name == name);
        if output(&node.output[0]) {
            return true;
        }
        let shape_only = ["Identity", "Reshape", "Transpose", "Gather"];
        self.only(node)
            .is_some_and(|(_, next)| shape_only.contains(&next.op_type.as_str()) && self.is_last(next))
    }

    /// Whether all that is made of the node's result is this output.
    fn leads_only_to(&self, node: &NodeProto, output: &str) -> bool {
        let name = node.output[0].as_str();
        match self.of.get(name) {
            Some(consumers) => {
                consumers.iter().all(|index| self.leads_only_to(&self.graph.node[*index], output))
            }
            None => name == output,
        }
    }

    /// The transposition `[0, 2, 3, 1]` that alone reads the result of a 1x1 convolution.
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
