//! A network file: the graph and its card.

use engine::encoding::{az4672, planes72};
use engine::eval::Golden;
use prost::Message;

use super::{golden, resnet};
use crate::learn::{Checkpoint, TrainConfig};
use crate::model::{Net, Weights};

/// The bytes of a network file called `name`.
///
/// `weights` are exported in fp32; `config` is what they were trained with.
pub fn onnx(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    let golden = golden::answers(net, weights);
    let config = serde_json::to_string(&config.without_folders()).expect("numbers and text make JSON");
    let card = card(&CardText {
        name,
        family: "resnet",
        input: planes72::NAME,
        policy: az4672::NAME,
        config: &config,
        golden: &golden,
    });
    resnet::graph(net, weights).finish(name, card).encode_to_vec()
}

/// What differs from one fp32 network's card to another's.
pub struct CardText<'a> {
    /// The network's name.
    pub name: &'a str,
    /// Its family.
    pub family: &'a str,
    /// The input scheme.
    pub input: &'a str,
    /// The policy scheme.
    pub policy: &'a str,
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
        ("input", text.input),
        ("policy", text.policy),
        ("value", "wdl"),
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
