//! The graph and card of a network of the libtorch families; `export/sparse_onnx.rs` has those of the family sparse.

use anyhow::{Result, bail};
use engine::nets::eval::Schemes;
use prost::Message;

use super::writer::{LayerWriter, numbers};
use super::{dense, golden, resnet, trm};
use crate::config::{ModelConfig, TrainConfig};
use crate::judge::export::card::{CardFields, card};
use crate::judge::export::graph::GraphBuilder;
use crate::learn::torch::Checkpoint;
use crate::learn::torch::families::{Body, Net, Weights};

/// In fp32. A recursive network's graph is a single step, which the engine repeats.
pub fn onnx(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    write(name, net, weights, config, graph(net, weights, false), recursion_entries(net, weights))
}

/// Like [`onnx`], but with all steps of a recursive network.
pub fn unrolled(name: &str, net: &Net, weights: &Weights, config: &TrainConfig) -> Vec<u8> {
    write(name, net, weights, config, graph(net, weights, true), Vec::new())
}

fn write(
    name: &str,
    net: &Net,
    weights: &Weights,
    config: &TrainConfig,
    graph: GraphBuilder,
    further_entries: Vec<(String, String)>,
) -> Vec<u8> {
    let golden = golden::golden_outputs(net, weights);
    let config = serde_json::to_string(&config.without_folders()).expect("numbers and text make JSON");
    let text = CardFields {
        name,
        family: net.config().family(),
        schemes: net.schemes(),
        config: &config,
        golden: &golden,
    };
    graph.finish(name, [card(&text), further_entries].concat()).encode_to_vec()
}

/// Number of steps and initial answer token of a recursive network (`docs/formats.md`).
fn recursion_entries(net: &Net, weights: &Weights) -> Vec<(String, String)> {
    let Body::Trm(net) = &net.body else { return Vec::new() };
    let answer = numbers(&weights.master(net.first_answer));
    let answer = serde_json::to_string(&answer).expect("numbers make JSON");
    let entries = [("philidor.steps", net.config.steps.to_string()), ("philidor.y0", answer)];
    entries.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// Input `input`, outputs `policy` and, with a value head, `wdl`.
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

/// Loads in fp32 on the CPU. `averaged` prefers the averaged weights (EMA); `steps` overrides a recursive network's
/// number of steps.
pub fn network(checkpoint: &Checkpoint, averaged: bool, steps: Option<usize>) -> Result<(Net, Weights)> {
    let mut model = checkpoint.config.model.clone();
    match (&mut model, steps) {
        (_, None) => {}
        (ModelConfig::Trm(config), Some(steps)) => config.steps = steps,
        (_, Some(_)) => bail!("a network of the family {} has no steps", model.family()),
    }
    let net = Net::new(&model)?;
    let mut weights = Weights::new(net.layout(), tch::Device::Cpu, tch::Kind::Float, 0);
    checkpoint.restore_weights(&mut weights, averaged)?;
    Ok((net, weights))
}
