//! Fully connected networks (`linear`, `mlp`) as ONNX graphs.

use super::writer::LayerWriter;
use crate::judge::export::graph::GraphValue;
use crate::learn::torch::families::linear::LinearNet;
use crate::learn::torch::families::mlp::Mlp;

pub fn matrix(writer: &mut LayerWriter<'_>, net: &LinearNet, input: &GraphValue) -> GraphValue {
    writer.linear(input, &net.out)
}

/// Policy logits and, with a value head, WDL logits.
pub fn mlp(writer: &mut LayerWriter<'_>, net: &Mlp, input: &GraphValue) -> (GraphValue, Option<GraphValue>) {
    writer.act = net.activation;
    let mut x = input.clone();
    for layer in &net.convolutions {
        let y = writer.conv(&x, layer);
        x = writer.act(&y);
    }
    x = writer.graph.reshape(&x, &[-1]);
    for layer in &net.hidden {
        let y = writer.linear(&x, layer);
        x = writer.act(&y);
    }
    let wdl = net.value.as_ref().map(|value| writer.linear(&x, value));
    (writer.linear(&x, &net.policy), wdl)
}
