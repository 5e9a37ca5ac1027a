//! `verify`: a network file compared with the checkpoint that it was exported from.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{ArgAction, Args};
use engine::eval::ValueScheme;
use engine::onnx::Network;

use crate::export::{OutputDifference, TOLERANCE, built_in_positions, compare, network, positions_of_file};
use crate::train::Checkpoint;

/// Compare a network file in ONNX Runtime with its checkpoint in libtorch
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer verify nets/mine.onnx --checkpoint \
    runs/first/checkpoints/best.safetensors --games data/engine-00000.h5\n\
    Fails if a probability differs by more than 1e-4, or a logit by more than 1e-4 times max(|logit|, 1).")]
pub struct VerifyArgs {
    /// The network file
    net: PathBuf,
    /// The checkpoint
    #[arg(long)]
    checkpoint: PathBuf,
    /// Compare with the averaged weights (EMA), if the checkpoint has them
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    averaged: bool,
    /// Take positions from this file of games [default: built-in positions]
    #[arg(long)]
    games: Option<PathBuf>,
    /// Number of unrolled steps of a recursive network [default: as trained]
    #[arg(long)]
    steps: Option<usize>,
    /// Number of positions
    #[arg(long, default_value_t = 512)]
    positions: usize,
}

impl VerifyArgs {
    /// Compares the outputs and prints the largest differences.
    ///
    /// # Errors
    /// If a file cannot be read, ONNX Runtime fails, or a difference exceeds [`TOLERANCE`].
    pub fn run(&self) -> Result<()> {
        let (count, value, difference) = self.verify()?;
        let OutputDifference { policy_logit, policy, wdl_logit, wdl } = difference;
        let wdl = match value {
            ValueScheme::Wdl => format!("; WDL logit {wdl_logit:.1e}, probability {wdl:.1e}"),
            ValueScheme::None => String::new(),
        };
        println!(
            "{count} positions, largest differences: policy logit {policy_logit:.1e}, probability {policy:.1e}{wdl}"
        );
        // `<=`, so that NaN fails too.
        ensure!(
            difference.worst() <= TOLERANCE,
            "the network file differs from the checkpoint by more than {TOLERANCE:.0e}"
        );
        Ok(())
    }

    fn verify(&self) -> Result<(usize, ValueScheme, OutputDifference)> {
        let checkpoint = Checkpoint::load(&self.checkpoint)?;
        let (net, weights) = network(&checkpoint, self.averaged, self.steps)?;
        let file = Network::load(&self.net)?;
        let positions = match &self.games {
            Some(path) => positions_of_file(path, self.positions)?,
            None => built_in_positions(self.positions),
        };
        ensure!(!positions.is_empty(), "there are no positions to compare");
        Ok((positions.len(), file.schemes().value, compare(&net, &weights, &file, &positions)?))
    }
}
