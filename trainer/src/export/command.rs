//! `export`: a checkpoint becomes a network file.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use engine::eval::Network;

use super::file::{network, onnx, unrolled};
use crate::learn::{Checkpoint, checkpoint};

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
        let loaded = Checkpoint::load(&self.checkpoint)?;
        let (net, weights) = network(&loaded, self.averaged, self.unroll)?;
        let stem = self.out.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = self.name.clone().or(stem).ok_or("--out must name a file")?;
        for file in self.weights.iter().chain([&self.out]) {
            let folder = file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        }
        let write = if self.unroll.is_some() { unrolled } else { onnx };
        checkpoint::write_file(&self.out, &write(&name, &net, &weights, &loaded.config))?;
        if let Some(path) = &self.weights {
            checkpoint::save_weights(path, &weights, &loaded.config, &loaded.progress)?;
        }
        let network = Network::load(&self.out).map_err(|error| error.to_string())?;
        Ok(format!("{}, {} samples", network.describe(), loaded.progress.samples))
    }
}
