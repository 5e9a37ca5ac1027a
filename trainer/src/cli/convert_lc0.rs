use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use crate::base::files::{check_output, make_folder_of};
use crate::judge::export::{Lc0Net, lc0_onnx, write_network};

/// Convert a network of Leela Chess Zero (lc0) into one that the engine plays (ONNX)
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer convert-lc0 maia-1900.pb.gz --out nets/maia-1900.onnx\n\
    Supported are residual networks with or without squeeze-and-excitation, with a convolutional or a dense policy\n\
    head and a WDL or a scalar value head (whose draw probability is then 0). Transformers are not supported.\n\
    `quantise` converts the result to int8.")]
pub struct ConvertLc0Args {
    /// The lc0 network file (.pb.gz)
    weights: PathBuf,
    /// The network file to write [default: WEIGHTS with .onnx]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Name of the network [default: the file name without extension]
    #[arg(long)]
    name: Option<String>,
}

impl ConvertLc0Args {
    /// The file is loaded as by the engine, which checks card, shapes and golden outputs.
    pub fn run(&self) -> Result<()> {
        say!("{}", self.convert()?);
        Ok(())
    }

    fn convert(&self) -> Result<String> {
        let out = self.out.clone().unwrap_or_else(|| onnx_beside(&self.weights));
        make_folder_of(&out)?;
        check_output(&out, [&self.weights])?;
        let net = Lc0Net::load(&self.weights)?;
        let network = write_network(&out, self.name.as_deref(), |name| lc0_onnx(name, &net))?;
        Ok(network.describe())
    }
}

fn onnx_beside(weights: &Path) -> PathBuf {
    let name = weights.file_name().unwrap_or_default().to_string_lossy();
    let stem = [".pb.gz", ".gz", ".pb"].iter().find_map(|ending| name.strip_suffix(ending));
    weights.with_file_name(format!("{}.onnx", stem.unwrap_or(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_output_is_in_the_folder_of_the_input() {
        for (weights, out) in
            [("a/maia-1900.pb.gz", "a/maia-1900.onnx"), ("net", "net.onnx"), ("x.pb", "x.onnx")]
        {
            assert_eq!(onnx_beside(Path::new(weights)), Path::new(out));
        }
    }
}
