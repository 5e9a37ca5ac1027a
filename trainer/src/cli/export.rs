use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgAction, Args};

use super::{sparse, torch};
use crate::learn::sparse::SparseCheckpoint;

/// Export a checkpoint as a network that the engine plays (ONNX)
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: philidor-trainer export --checkpoint \
    runs/first/checkpoints/best.safetensors --out nets/mine.onnx")]
pub struct ExportArgs {
    /// The checkpoint
    #[arg(long)]
    pub(super) checkpoint: PathBuf,
    /// The network file to write
    #[arg(long)]
    pub(super) out: PathBuf,
    /// Name of the network [default: the file name without extension]
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Export the averaged weights (EMA), if the checkpoint has them
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(super) averaged: bool,
    /// Unroll this many steps of a recursive network into one graph, which the engine runs like any other network
    /// [default: one step, which the engine repeats according to its option `ThinkSteps`]
    #[arg(long, value_name = "STEPS")]
    pub(super) unroll: Option<usize>,
    /// Take the policy from another network of the family sparse (network file or checkpoint), and only the value from
    /// --checkpoint
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Option<PathBuf>,
    /// Also write the exported weights to this file, as a small checkpoint for `train --init`
    #[arg(long)]
    pub(super) weights: Option<PathBuf>,
}

impl ExportArgs {
    /// The file is loaded as by the engine, which checks card, shapes and golden outputs.
    pub fn run(&self) -> Result<()> {
        if SparseCheckpoint::recognises(&self.checkpoint) {
            sparse::export(self)
        } else {
            torch::export(self)
        }
    }
}
