//! Networks of fully connected layers as ONNX graphs.

use engine::encoding::Input;

use super::graph::Value;
use super::writer::Writer;
use crate::config::model::mlp::INPUT;
use crate::model::linear::LinearNet;
use crate::model::mlp::Mlp;

/// Writes the matrix, from its input to the policy's logits.
pub fn matrix(writer: &mut Writer<'_>, net: &LinearNet, input: &Value) -> Value {
    writer.linear(input, &net.out)
}

/// Writes `net` from its input to logits of policy and, if it has a value, win, draw, loss.
pub fn mlp(writer: &mut Writer<'_>, net: &Mlp, input: &Value) -> (Value, Option<Value>) {
    let mut x = writer.graph.reshape(input, &[Input::size(INPUT) as i64]);
    for layer in &net.hidden {
        let y = writer.linear(&x, layer);
        x = writer.act(&y);
    }
    let wdl = net.value.as_ref().map(|value| writer.linear(&x, value));
    (writer.linear(&x, &net.policy), wdl)
}
