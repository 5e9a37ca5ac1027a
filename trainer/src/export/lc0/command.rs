//! `convert-lc0`: a Leela network becomes a network file.

use std::path::{Path, PathBuf};

use clap::Args;
use engine::eval::Schemes;
use serde_json::json;

use super::graph::graph;
use super::network::{Lc0Net, Policy};
use crate::export::file::{self, CardText};
use crate::export::golden;

/// Convert a network of Leela Chess Zero's into one that the engine plays (ONNX)
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer convert-lc0 maia-1900.pb.gz --out nets/maia-1900.onnx\n\
    Takes residual networks with or without squeeze-and-excitation; the policy may be convolutional or dense, the\n\
    value win, draw and loss or one number (which then leaves no room for draws). Others are refused.\n\
    `quantise` makes an int8 network of the result.")]
pub struct ConvertLc0Args {
    /// The network file, as Leela's come (.pb.gz)
    weights: PathBuf,
    /// The network file to write [default: WEIGHTS with .onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// The network's name [default: the written file's]
    #[arg(long)]
    name: Option<String>,
}

impl ConvertLc0Args {
    /// Converts, and loads the result as the engine does: card, shapes and golden answers are checked.
    ///
    /// # Errors
    ///
    /// One line: the network can't be read or is of another kind, or the result not be written or loaded.
    pub fn run(&self) -> Result<(), String> {
        println!("{}", self.convert()?);
        Ok(())
    }

    fn convert(&self) -> Result<String, String> {
        let net = Lc0Net::load(&self.weights)?;
        let out = self.out.clone().unwrap_or_else(|| onnx_beside(&self.weights));
        let network = file::write_network(&out, self.name.as_deref(), |name| onnx(name, &net))?;
        Ok(network.describe())
    }
}

/// The bytes of a network file called `name`; its golden answers are the graph's own.
///
/// # Errors
/// One line, if ONNX Runtime fails.
pub fn onnx(name: &str, net: &Lc0Net) -> Result<Vec<u8>, String> {
    let card = file::card(&CardText {
        name,
        family: "lc0",
        schemes: Schemes::LC0,
        config: &description(net).to_string(),
        golden: &[],
    });
    golden::answered(graph(net).finish(name, card), "fp32")
}

/// What the file was, for the card.
fn description(net: &Lc0Net) -> serde_json::Value {
    json!({
        "filters": net.input.out(),
        "blocks": net.blocks.len(),
        "squeeze": net.blocks.iter().find_map(|block| block.squeeze.as_ref()).map(|s| s.reduce.out()),
        "activation": net.activation,
        "policy_head": match net.policy { Policy::Conv { .. } => "conv", Policy::Dense { .. } => "dense" },
        "value_head": if net.value.out.out() == 1 { "scalar" } else { "wdl" },
        "training_steps": net.steps,
        "license": net.licence,
    })
}

/// `NAME.onnx` beside `NAME.pb.gz`.
fn onnx_beside(weights: &Path) -> PathBuf {
    let name = weights.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".pb.gz", ".gz", ".pb"].iter().find_map(|ending| name.strip_suffix(ending));
    weights.with_file_name(format!("{}.onnx", stem.unwrap_or(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_stands_beside_the_source() {
        for (weights, out) in
            [("a/maia-1900.pb.gz", "a/maia-1900.onnx"), ("net", "net.onnx"), ("x.pb", "x.onnx")]
        {
            assert_eq!(onnx_beside(Path::new(weights)), Path::new(out));
        }
    }
}
