//! A network file: the graph and its card.

use engine::encoding::{az4672, planes72};
use engine::eval::Golden;

use super::{golden, resnet};
use crate::learn::{Checkpoint, TrainConfig};
use crate::model::{Net, Weights};

/// The bytes of a network file called `name`.
///
/// `weights` are exported in fp32; `config` is what they were trained with.
pub fn onnx(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    let golden = golden::answers(net, weights);
    resnet::graph(net, weights).finish(name, card(name, config, &golden))
}

fn card(name: &str, config: &TrainConfig, golden: &[Golden]) -> Vec<(String, String)> {
    let json = |value: serde_json::Result<String>| value.expect("numbers and text make JSON");
    let entries = [
        ("format", engine::eval::CARD_FORMAT.to_owned()),
        ("input", planes72::NAME.to_owned()),
        ("policy", az4672::NAME.to_owned()),
        ("value", "wdl".to_owned()),
        ("name", name.to_owned()),
        ("family", "resnet".to_owned()),
        ("config", json(serde_json::to_string(&config.without_folders()))),
        ("precision", "fp32".to_owned()),
        ("golden", json(serde_json::to_string(golden))),
    ];
    entries.into_iter().map(|(key, value)| (format!("philidor.{key}"), value)).collect()
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
