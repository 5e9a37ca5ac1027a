//! Layers of several network families as ONNX operators.

use std::collections::HashMap;

use tch::Tensor;

use crate::config::model::Activation;
use crate::judge::export::graph::{GraphBuilder, GraphValue};
use crate::learn::torch::families::params::ParamId;
use crate::learn::torch::families::{Attention, Convolution, EPSILON, LayerNorm, Linear, Weights};

pub struct LayerWriter<'a> {
    pub graph: GraphBuilder,
    pub weights: &'a Weights,
    pub act: Activation,
    /// Constants by parameter and transposition, shared by repeated layers.
    written: HashMap<(ParamId, bool), GraphValue>,
}

/// Row-major.
pub fn numbers(tensor: &Tensor) -> Vec<f32> {
    Vec::<f32>::try_from(tensor.to_device(tch::Device::Cpu).contiguous().view([-1])).expect("fp32 numbers")
}

impl<'a> LayerWriter<'a> {
    pub fn new(weights: &'a Weights) -> LayerWriter<'a> {
        LayerWriter {
            graph: GraphBuilder::default(),
            weights,
            act: Activation::Relu,
            written: HashMap::new(),
        }
    }

    pub fn tensor(&mut self, tensor: &Tensor) -> GraphValue {
        self.graph.floats(&tensor.size(), &numbers(tensor))
    }

    pub fn param(&mut self, id: ParamId) -> GraphValue {
        self.shared_constant(id, false)
    }

    fn shared_constant(&mut self, id: ParamId, transposed: bool) -> GraphValue {
        if let Some(value) = self.written.get(&(id, transposed)) {
            return value.clone();
        }
        let numbers = self.weights.master(id);
        let value = self.tensor(&if transposed { numbers.tr() } else { numbers });
        self.written.insert((id, transposed), value.clone());
        value
    }

    pub fn act(&mut self, x: &GraphValue) -> GraphValue {
        self.activation(self.act, x)
    }

    pub fn activation(&mut self, activation: Activation, x: &GraphValue) -> GraphValue {
        match activation {
            Activation::Relu => self.graph.relu(x),
            Activation::Gelu => self.graph.gelu(x),
            Activation::Tanh => self.graph.tanh(x),
            Activation::Sigmoid => self.graph.sigmoid(x),
        }
    }

    pub fn conv(&mut self, x: &GraphValue, conv: &Convolution) -> GraphValue {
        let weight = self.param(conv.weight);
        let bias = conv.bias.map(|id| self.param(id));
        self.graph.conv(x, &weight, bias.as_ref(), conv.kernel)
    }

    pub fn linear(&mut self, x: &GraphValue, linear: &Linear) -> GraphValue {
        let weight = self.param(linear.weight);
        let bias = self.param(linear.bias);
        self.graph.gemm(x, &weight, &bias)
    }

    /// Like [`LayerWriter::linear`], over the last of more than two axes.
    pub fn linear_on_tokens(&mut self, x: &GraphValue, linear: &Linear) -> GraphValue {
        let weight = self.shared_constant(linear.weight, true);
        let bias = self.param(linear.bias);
        let product = self.graph.matmul(x, &weight);
        self.graph.add(&product, &bias)
    }

    pub fn layer_norm(&mut self, x: &GraphValue, norm: &LayerNorm) -> GraphValue {
        let gamma = self.param(norm.gamma);
        let beta = self.param(norm.beta);
        self.graph.layer_norm(x, &gamma, &beta, EPSILON)
    }

    /// Attends over `count` tokens `[batch, count, channels]`, without the residual sum.
    pub fn attention(&mut self, tokens: &GraphValue, count: i64, attention: &Attention) -> GraphValue {
        let channels = self.weights.master(attention.norm.gamma).size()[0];
        let (heads, width) = (attention.heads, channels / attention.heads);
        let normed = self.layer_norm(tokens, &attention.norm);
        let qkv = self.linear_on_tokens(&normed, &attention.qkv);
        let qkv = self.graph.reshape(&qkv, &[count, 3, heads, width]);
        let [query, key, value] = [0, 1, 2].map(|part| self.graph.pick(&qkv, 2, part));
        let query = self.graph.transpose(&query, &[0, 2, 1, 3]);
        let key = self.graph.transpose(&key, &[0, 2, 3, 1]);
        let value = self.graph.transpose(&value, &[0, 2, 1, 3]);
        let scores = self.graph.matmul(&query, &key);
        let scale = self.graph.floats(&[1], &[(width as f32).sqrt().recip()]);
        let scores = self.graph.mul(&scores, &scale);
        let weights = self.graph.softmax(&scores);
        let mixed = self.graph.matmul(&weights, &value);
        let mixed = self.graph.transpose(&mixed, &[0, 2, 1, 3]);
        let mixed = self.graph.reshape(&mixed, &[count, channels]);
        self.linear_on_tokens(&mixed, &attention.out)
    }
}
