use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{ArgAction, Args};
use engine::chess::position::Game;

use super::{sparse, torch};
use crate::judge::export::{INTEGER_TOLERANCE, TOLERANCE, built_in_positions, positions_of_file};
use crate::learn::sparse::SparseCheckpoint;

/// Compare a network file with its checkpoint
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub struct VerifyArgs {
    /// The network file
    pub(super) net: PathBuf,
    /// The checkpoint
    #[arg(long)]
    pub(super) checkpoint: PathBuf,
    /// Compare with the averaged weights (EMA), if the checkpoint has them
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    pub(super) averaged: bool,
    /// Take positions from this file of games [default: built-in positions]
    #[arg(long)]
    pub(super) games: Option<PathBuf>,
    /// Number of unrolled steps of a recursive network [default: as trained]
    #[arg(long)]
    pub(super) steps: Option<usize>,
    /// Number of positions
    #[arg(long, default_value_t = 512)]
    pub(super) positions: usize,
}

fn after_help() -> String {
    format!(
        "Example: philidor-trainer verify nets/mine.onnx --checkpoint runs/first/checkpoints/best.safetensors --games \
         data/engine-00000.h5\nFails if a probability differs by more than {TOLERANCE}, or a logit by more than \
         {TOLERANCE} times max(|logit|, 1); for a network of the family sparse, in the engine's integers, if a \
         probability differs by more than {INTEGER_TOLERANCE}."
    )
}

impl VerifyArgs {
    pub fn run(&self) -> Result<()> {
        if SparseCheckpoint::recognises(&self.checkpoint) {
            sparse::verify(self)
        } else {
            torch::verify(self)
        }
    }

    pub(super) fn positions(&self) -> Result<Vec<Game>> {
        let positions = match &self.games {
            Some(path) => positions_of_file(path, self.positions)?,
            None => built_in_positions(self.positions),
        };
        ensure!(!positions.is_empty(), "there are no positions to compare");
        Ok(positions)
    }
}
