//! `verify`: a network file against the checkpoint that it was made from.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use engine::eval::{Network, Value};

use crate::export::{OutputDifference, TOLERANCE, built_in, compare, network, positions_of};
use crate::train::Checkpoint;

/// Compare a network file in ONNX Runtime with its checkpoint in libtorch
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer verify nets/mine.onnx --checkpoint \
    runs/first/checkpoints/best.safetensors --games data/engine-00000.h5\n\
    Fails if a probability differs by more than 1e-4, or a logit by that part of its size (at least 1).")]
pub struct VerifyArgs {
    /// The network file
    net: PathBuf,
    /// The checkpoint
    #[arg(long)]
    checkpoint: PathBuf,
    /// Compare with the averaged weights
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "BOOL")]
    averaged: bool,
    /// Take positions from this file of games [default: a few built-in games]
    #[arg(long)]
    games: Option<PathBuf>,
    /// Of a network that thinks in steps, how many were unrolled [default: as many as it was trained with]
    #[arg(long)]
    steps: Option<usize>,
    /// Number of positions
    #[arg(long, default_value_t = 512)]
    positions: usize,
}

impl VerifyArgs {
    /// Prints the largest differences.
    ///
    /// # Errors
    ///
    /// One line: a file can't be read, ONNX Runtime fails, or a difference is above the tolerance.
    pub fn run(&self) -> Result<(), String> {
        let (count, value, difference) = self.verify()?;
        let OutputDifference { policy_logit, policy, wdl_logit, wdl } = difference;
        let wdl = match value {
            Value::Wdl => format!("; WDL logit {wdl_logit:.1e}, probability {wdl:.1e}"),
            Value::None => String::new(),
        };
        println!(
            "{count} positions, largest differences: policy logit {policy_logit:.1e}, probability {policy:.1e}{wdl}"
        );
        // Not `>`: a number that isn't one must fail too.
        if difference.worst() <= TOLERANCE {
            return Ok(());
        }
        Err(format!("the network file differs from the checkpoint by more than {TOLERANCE:.0e}"))
    }

    fn verify(&self) -> Result<(usize, Value, OutputDifference), String> {
        let checkpoint = Checkpoint::load(&self.checkpoint)?;
        let (net, weights) = network(&checkpoint, self.averaged, self.steps)?;
        let file = Network::load(&self.net).map_err(|error| error.to_string())?;
        let positions = match &self.games {
            Some(path) => positions_of(path, self.positions)?,
            None => built_in(self.positions),
        };
        if positions.is_empty() {
            return Err("no positions to compare".into());
        }
        Ok((positions.len(), file.schemes().value, compare(&net, &weights, &file, &positions)?))
    }
}
