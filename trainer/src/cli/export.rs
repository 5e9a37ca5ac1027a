//! `export`: a checkpoint as a network file.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{ArgAction, Args};

use super::sparse::SparseExportArgs;
use crate::export::{network, onnx, unrolled, write_network};
use crate::files::make_folder_of;
use crate::train::{Checkpoint, checkpoint};

/// Export a checkpoint as a network that the engine plays (ONNX)
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer export --checkpoint \
    runs/first/checkpoints/best.safetensors --out nets/mine.onnx")]
pub struct ExportArgs {
    /// The checkpoint
    #[arg(long)]
    checkpoint: PathBuf,
    /// The network file to write
    #[arg(long)]
    out: PathBuf,
    /// Name of the network [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Export the averaged weights (EMA), if the checkpoint has them
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    averaged: bool,
    /// Unroll this number of steps of a recursive network into one graph, which the engine runs like any other network
    /// [default: a single step, which the engine repeats as often as its option `ThinkSteps` says]
    #[arg(long, value_name = "STEPS")]
    unroll: Option<usize>,
    /// Also write the exported weights to this file, as a small checkpoint for `train --init`
    #[arg(long)]
    weights: Option<PathBuf>,
}

impl ExportArgs {
    /// Exports, loads the result as the engine does, which checks its card, shapes and golden outputs, and prints it.
    ///
    /// # Errors
    /// If the checkpoint cannot be read, a file cannot be written, or the engine cannot load the result.
    pub fn run(&self) -> Result<()> {
        let sparse = SparseExportArgs {
            checkpoint: self.checkpoint.clone(),
            out: self.out.clone(),
            name: self.name.clone(),
            averaged: self.averaged,
        };
        if sparse.is_meant() {
            let others = self.unroll.is_some() || self.weights.is_some();
            ensure!(!others, "--unroll and --weights do not apply to the family sparse");
            return sparse.export();
        }
        println!("{}", self.export()?);
        Ok(())
    }

    fn export(&self) -> Result<String> {
        let loaded = Checkpoint::load(&self.checkpoint)?;
        let (net, weights) = network(&loaded, self.averaged, self.unroll)?;
        let network = write_network(&self.out, self.name.as_deref(), |name| {
            let write = if self.unroll.is_some() { unrolled } else { onnx };
            Ok(write(name, &net, &weights, &loaded.config))
        })?;
        if let Some(path) = &self.weights {
            make_folder_of(path)?;
            checkpoint::save_weights(path, &weights, &loaded.config, &loaded.progress)?;
        }
        Ok(format!("{}, {} samples", network.describe(), loaded.progress.samples))
    }
}
