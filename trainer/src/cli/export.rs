//! `export`: a checkpoint becomes a network file.

use std::path::PathBuf;

use clap::{ArgAction, Args};

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
    /// The network's name [default: the file's]
    #[arg(long)]
    name: Option<String>,
    /// Export the averaged weights
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    averaged: bool,
    /// Of a network that thinks in steps, write so many of them into one graph, which plays like any other network
    /// [default: a single step, of which the engine makes as many as its option `ThinkSteps` says]
    #[arg(long, value_name = "STEPS")]
    unroll: Option<usize>,
    /// Write the exported weights here too, as a small checkpoint that `train --init` begins with
    #[arg(long)]
    weights: Option<PathBuf>,
}

impl ExportArgs {
    /// Exports, and loads the result as the engine does: card, shapes and golden answers are checked.
    ///
    /// # Errors
    ///
    /// One line: the checkpoint can't be read, a file not be written, or the result not be loaded.
    pub fn run(&self) -> Result<(), String> {
        println!("{}", self.export()?);
        Ok(())
    }

    fn export(&self) -> Result<String, String> {
        let loaded = Checkpoint::load(&self.checkpoint).map_err(|error| format!("{error:#}"))?;
        let (net, weights) = network(&loaded, self.averaged, self.unroll)?;
        let network = write_network(&self.out, self.name.as_deref(), |name| {
            let write = if self.unroll.is_some() { unrolled } else { onnx };
            Ok(write(name, &net, &weights, &loaded.config))
        })?;
        if let Some(path) = &self.weights {
            make_folder_of(path)?;
            checkpoint::save_weights(path, &weights, &loaded.config, &loaded.progress)
                .map_err(|error| format!("{error:#}"))?;
        }
        Ok(format!("{}, {} samples", network.describe(), loaded.progress.samples))
    }
}
