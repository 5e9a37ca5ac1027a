//! A network file: the graph and its card.

use std::path::Path;

use engine::eval::{Golden, Network, Schemes};
use prost::Message;

use super::graph::GraphBuilder;
use super::writer::{LayerWriter, numbers};
use super::{dense, golden, resnet, trm};
use crate::config::ModelConfig;
use crate::config::TrainConfig;
use crate::files::{make_folder_of, write_file};
use crate::model::{Body, Net, Weights};
use crate::train::Checkpoint;

/// The bytes of a network file called `name`.
///
/// `weights` are exported in fp32; `config` is what they were trained with.
pub fn onnx(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    write(name, net, weights, config, graph(net, weights, false), recursion(net, weights))
}

/// The same of a network that thinks in steps, with all of its steps in one graph: the engine plays it like any other.
pub fn unrolled(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    write(name, net, weights, config, graph(net, weights, true), Vec::new())
}

fn write(
    name: &str,
    net: &Net,
    weights: &Weights,
    config: &TrainConfig,
    graph: GraphBuilder,
    more: Vec<(String, String)>,
) -> Vec<u8> {
    let golden = golden::answers(net, weights);
    let config = serde_json::to_string(&config.without_folders()).expect("numbers and text make JSON");
    let text = CardText {
        name,
        family: net.config().family(),
        schemes: net.schemes(),
        config: &config,
        golden: &golden,
    };
    graph.finish(name, [card(&text), more].concat()).encode_to_vec()
}

/// What the card of a network's single step says besides (FORMATS.md).
fn recursion(net: &Net, weights: &Weights) -> Vec<(String, String)> {
    let Body::Trm(net) = &net.body else { return Vec::new() };
    let answer = numbers(&weights.master(net.first_answer));
    let answer = serde_json::to_string(&answer).expect("numbers make JSON");
    let entries = [("philidor.steps", net.config.steps.to_string()), ("philidor.y0", answer)];
    entries.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// The graph of `net` with the numbers of `weights`: `input` to `policy` and, if it has a value, `wdl`. Of a network
/// that thinks in steps a single one, unless `unrolled`.
fn graph(net: &Net, weights: &Weights, unrolled: bool) -> GraphBuilder {
    let Schemes { input, policy, .. } = net.schemes();
    let mut writer = LayerWriter::new(weights);
    let shape: Vec<i64> = input.shape().iter().map(|n| *n as i64).collect();
    let input = writer.graph.input("input", &shape);
    let (logits, wdl) = match &net.body {
        Body::Resnet(net) => {
            let [policy, wdl] = resnet::write(&mut writer, net, &input);
            (policy, Some(wdl))
        }
        Body::Mlp(net) => dense::mlp(&mut writer, net, &input),
        Body::Linear(net) => (dense::matrix(&mut writer, net, &input), None),
        Body::Trm(net) => {
            let [policy, wdl] = if unrolled {
                trm::unrolled(&mut writer, net, &input)
            } else {
                trm::core(&mut writer, net, &input)
            };
            (policy, Some(wdl))
        }
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

/// Writes the network file `out`, whose bytes `bytes` makes for its name: `name`, or else the file's. Then loads it as
/// the engine does: card, shapes and golden answers are checked.
///
/// # Errors
/// One line: `bytes` fails, the file can't be written, or the engine refuses it.
pub fn write_network(
    out: &Path,
    name: Option<&str>,
    bytes: impl FnOnce(&str) -> Result<Vec<u8>, String>,
) -> Result<Network, String> {
    let stem = out.file_stem().ok_or("--out must name a file")?.to_string_lossy();
    let bytes = bytes(name.unwrap_or(&stem))?;
    make_folder_of(out)?;
    write_file(out, &bytes)?;
    Network::load(out).map_err(|error| error.to_string())
}

/// The network of a checkpoint on the CPU, in fp32; averaged weights if `averaged` and it has them. One that thinks in
/// steps may take another number of them than it was trained with.
///
/// # Errors
/// One line, if the checkpoint's tensors don't fit its configuration, or its network doesn't think in steps.
pub fn network(
    checkpoint: &Checkpoint,
    averaged: bool,
    steps: Option<usize>,
) -> Result<(Net, Weights), String> {
    let mut model = checkpoint.config.model.clone();
    match (&mut model, steps) {
        (_, None) => {}
        (ModelConfig::Trm(config), Some(steps)) => config.steps = steps,
        (_, Some(_)) => return Err(format!("a network of the family {} has no steps", model.family())),
    }
    let net = Net::new(&model)?;
    let mut weights = Weights::new(net.layout(), tch::Device::Cpu, tch::Kind::Float, 0);
    checkpoint.restore_weights(&mut weights, averaged)?;
    Ok((net, weights))
}
