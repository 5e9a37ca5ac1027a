//! The layers that families share, as parts of an ONNX graph.

use tch::Tensor;

use super::graph::{Builder, Value};
use crate::model::params::ParamId;
use crate::model::resnet::config::Activation;
use crate::model::{Conv, Linear, Weights};

/// Writes a network's layers into a graph, with its weights in fp32.
pub struct Writer<'a> {
    pub graph: Builder,
    pub weights: &'a Weights,
    /// What [`Writer::act`] is.
    pub act: Activation,
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    Vec::<f32>::try_from(tensor.to_device(tch::Device::Cpu).contiguous().view([-1])).expect("fp32 numbers")
}

impl<'a> Writer<'a> {
    pub fn new(weights: &'a Weights) -> Writer<'a> {
        Writer { graph: Builder::default(), weights, act: Activation::Relu }
    }

    pub fn tensor(&mut self, tensor: &Tensor) -> Value {
        self.graph.floats(&tensor.size(), &numbers(tensor))
    }

    pub fn param(&mut self, id: ParamId) -> Value {
        self.tensor(&self.weights.master(id))
    }

    pub fn act(&mut self, x: &Value) -> Value {
        match self.act {
            Activation::Relu => self.graph.relu(x),
            Activation::Gelu => self.graph.gelu(x),
        }
    }

    pub fn conv(&mut self, x: &Value, conv: &Conv) -> Value {
        let weight = self.param(conv.weight);
        let bias = conv.bias.map(|id| self.param(id));
        self.graph.conv(x, &weight, bias.as_ref(), conv.kernel)
    }

    pub fn linear(&mut self, x: &Value, linear: &Linear) -> Value {
        let weight = self.param(linear.weight);
        let bias = self.param(linear.bias);
        self.graph.gemm(x, &weight, &bias)
    }

    /// Like [`Writer::linear`], for an input with more than two axes.
    pub fn linear_on_tokens(&mut self, x: &Value, linear: &Linear) -> Value {
        let weight = self.tensor(&self.weights.master(linear.weight).tr());
        let bias = self.param(linear.bias);
        let product = self.graph.matmul(x, &weight);
        self.graph.add(&product, &bias)
    }
}
