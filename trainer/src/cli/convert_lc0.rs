//! `convert-lc0`: a Leela network becomes a network file.

use std::path::{Path, PathBuf};

use crate::export::{Lc0Net, lc0_onnx, write_network};
use clap::Args;

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
        let network = write_network(&out, self.name.as_deref(), |name| lc0_onnx(name, &net))?;
        Ok(network.describe())
    }
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
