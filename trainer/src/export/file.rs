//! A network file: the graph and its card.

use engine::eval::{Golden, Schemes};
use prost::Message;

use super::graph::Builder;
use super::writer::Writer;
use super::{dense, golden, resnet};
use crate::learn::{Checkpoint, TrainConfig};
use crate::model::{Body, Net, Weights};

/// The bytes of a network file called `name`.
///
/// `weights` are exported in fp32; `config` is what they were trained with.
pub fn onnx(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    let golden = golden::answers(net, weights);
    let config = serde_json::to_string(&config.without_folders()).expect("numbers and text make JSON");
    let text = CardText {
        name,
        family: net.config().family(),
        schemes: net.schemes(),
        config: &config,
        golden: &golden,
    };
    graph(net, weights).finish(name, card(&text)).encode_to_vec()
}

/// The graph of `net` with the numbers of `weights`: `input` to `policy` and, if it has a value, `wdl`.
fn graph(net: &Net, weights: &Weights) -> Builder {
    let Schemes { input, policy, .. } = net.schemes();
    let mut writer = Writer::new(weights);
    let shape: Vec<i64> = input.shape().iter().map(|n| *n as i64).collect();
    let input = writer.graph.input("input", &shape);
    let (logits, wdl) = match &net.body {
        Body::Resnet(net) => {
            let [policy, wdl] = resnet::write(&mut writer, net, &input);
            (policy, Some(wdl))
        }
        Body::Mlp(net) => dense::mlp(&mut writer, net, &input),
        Body::Linear(net) => (dense::matrix(&mut writer, net, &input), None),
    };
    writer.graph.output("policy", &logits, &[policy.size() as i64]);
    if let Some(wdl) = wdl {
        writer.graph.output("wdl", &wdl, &[3]);
    }
    writer.graph
}

/// What differs from one fp32 network's card to another's.
pub struct CardText<'a> {
    /// The network's name.
    pub name: &'a str,
    /// Its family.
    pub family: &'a str,
    /// What it sees and answers.
    pub schemes: Schemes,
    /// How it was made, JSON.
    pub config: &'a str,
    /// Answers that it must give.
    pub golden: &'a [Golden],
}

/// The metadata properties of a network in fp32.
pub fn card(text: &CardText<'_>) -> Vec<(String, String)> {
    let golden = serde_json::to_string(text.golden).expect("numbers and text make JSON");
    let entries = [
        ("format", engine::eval::CARD_FORMAT),
        ("input", text.schemes.input.name()),
        ("policy", text.schemes.policy.name()),
        ("value", text.schemes.value.name()),
        ("name", text.name),
        ("family", text.family),
        ("config", text.config),
        ("precision", "fp32"),
        ("golden", &golden),
    ];
    entries.into_iter().map(|(key, value)| (format!("philidor.{key}"), value.to_owned())).collect()
}

/// The network of a checkpoint on the CPU, in fp32; averaged weights if `averaged` and it has them.
///
/// # Errors
/// One line, if the checkpoint's tensors don't fit its configuration.
pub fn network(checkpoint: &Checkpoint, averaged: bool) -> Result<(Net, Weights), String> {
    let net = Net::new(&checkpoint.config.model)?;
    let mut weights = Weights::new(net.layout(), tch::Device::Cpu, tch::Kind::Float, 0);
    checkpoint.restore_weights(&mut weights, averaged)?;
    Ok((net, weights))
}
