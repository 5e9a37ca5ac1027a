//! The residual network as an ONNX graph, with BatchNorm folded into convolutions.

use super::writer::LayerWriter;
use crate::config::model::resnet::ValueHead;
use crate::judge::export::graph::GraphValue;
use crate::learn::torch::families::resnet::{PolicyHeadLayers, ResidualBlock, Resnet, SCALAR_WDL};
use crate::learn::torch::families::{Attention, ConvNorm, EPSILON, Linear, NormDetail, SqueezeExcitation};

pub fn write(writer: &mut LayerWriter<'_>, net: &Resnet, input: &GraphValue) -> [GraphValue; 2] {
    writer.act = net.config.activation;
    let stem = writer.conv_norm(input, &net.stem);
    let mut x = writer.act(&stem);
    for block in &net.blocks {
        x = writer.block(&x, block);
    }
    let policy = writer.policy(&x, &net.policy);
    let squeezed = writer.conv_norm(&x, &net.value.squeeze);
    let squeezed = writer.act(&squeezed);
    let flat = writer.graph.reshape(&squeezed, &[-1]);
    let hidden = writer.linear(&flat, &net.value.hidden);
    let hidden = writer.act(&hidden);
    let out = writer.linear(&hidden, &net.value.out);
    let wdl = match net.config.value_head {
        ValueHead::Wdl => out,
        ValueHead::Scalar => {
            let factors = writer.graph.floats(&[1, 3], &SCALAR_WDL.map(|(factor, _)| factor));
            let offsets = writer.graph.floats(&[1, 3], &SCALAR_WDL.map(|(_, offset)| offset));
            let scaled = writer.graph.mul(&out, &factors);
            writer.graph.add(&scaled, &offsets)
        }
    };
    [policy, wdl]
}

impl LayerWriter<'_> {
    fn conv_norm(&mut self, x: &GraphValue, layer: &ConvNorm) -> GraphValue {
        let gamma = self.weights.master(layer.norm.gamma);
        let beta = self.weights.master(layer.norm.beta);
        let kernel = self.weights.master(layer.conv.weight);
        match layer.norm.kind {
            NormDetail::Batch { mean, variance } => {
                let scale = gamma / (self.weights.stat(variance) + EPSILON).sqrt();
                let bias = beta - self.weights.stat(mean) * &scale;
                let kernel = self.tensor(&(kernel * scale.view([-1, 1, 1, 1])));
                let bias = self.tensor(&bias);
                self.graph.conv(x, &kernel, Some(&bias), layer.conv.kernel)
            }
            NormDetail::Group { groups } => {
                let channels = kernel.size()[0];
                let x = self.conv(x, &layer.conv);
                // Group normalisation is instance normalisation with each group as one channel.
                let grouped = self.graph.reshape(&x, &[groups, -1]);
                let ones = self.graph.floats(&[groups], &vec![1.0; groups as usize]);
                let zeros = self.graph.floats(&[groups], &vec![0.0; groups as usize]);
                let normed = self.graph.instance_norm(&grouped, &ones, &zeros, EPSILON);
                let normed = self.graph.reshape(&normed, &[channels, 8, 8]);
                let gamma = self.tensor(&gamma.view([1, channels, 1, 1]));
                let beta = self.tensor(&beta.view([1, channels, 1, 1]));
                let scaled = self.graph.mul(&normed, &gamma);
                self.graph.add(&scaled, &beta)
            }
        }
    }

    fn block(&mut self, x: &GraphValue, block: &ResidualBlock) -> GraphValue {
        let y = self.conv_norm(x, &block.first);
        let y = self.act(&y);
        let mut y = self.conv_norm(&y, &block.second);
        if let Some(squeeze) = &block.squeeze {
            y = self.squeeze(&y, squeeze);
        }
        let sum = self.graph.add(&y, x);
        let y = self.act(&sum);
        match &block.attention {
            Some(attention) => self.board_attention(&y, attention),
            None => y,
        }
    }

    /// Fully connected layers are 1x1 convolutions on the pooled `[batch, c, 1, 1]`.
    fn squeeze(&mut self, x: &GraphValue, squeeze: &SqueezeExcitation) -> GraphValue {
        let pooled = self.graph.global_average(x);
        let hidden = self.pointwise(&pooled, &squeeze.reduce);
        let hidden = self.activation(squeeze.activation, &hidden);
        let gate = self.pointwise(&hidden, &squeeze.expand);
        let gate = self.graph.sigmoid(&gate);
        self.graph.mul(x, &gate)
    }

    fn pointwise(&mut self, x: &GraphValue, linear: &Linear) -> GraphValue {
        let weight = self.tensor(&self.weights.master(linear.weight).unsqueeze(-1).unsqueeze(-1));
        let bias = self.param(linear.bias);
        self.graph.conv(x, &weight, Some(&bias), 1)
    }

    fn board_attention(&mut self, x: &GraphValue, attention: &Attention) -> GraphValue {
        let channels = self.weights.master(attention.norm.gamma).size()[0];
        let board = self.graph.transpose(x, &[0, 2, 3, 1]);
        let tokens = self.graph.reshape(&board, &[64, channels]);
        let added = self.attention(&tokens, 64, attention);
        let sum = self.graph.add(&tokens, &added);
        let board = self.graph.reshape(&sum, &[8, 8, channels]);
        self.graph.transpose(&board, &[0, 3, 1, 2])
    }

    fn policy(&mut self, x: &GraphValue, policy: &PolicyHeadLayers) -> GraphValue {
        match policy {
            PolicyHeadLayers::Conv { hidden, out } => {
                let hidden = self.conv_norm(x, hidden);
                let hidden = self.act(&hidden);
                let types = self.conv(&hidden, out);
                // A move's index is square · 73 + move type.
                let board = self.graph.transpose(&types, &[0, 2, 3, 1]);
                self.graph.reshape(&board, &[-1])
            }
            PolicyHeadLayers::Dense { hidden, out } => {
                let hidden = self.conv_norm(x, hidden);
                let hidden = self.act(&hidden);
                let flat = self.graph.reshape(&hidden, &[-1]);
                self.linear(&flat, out)
            }
        }
    }
}
