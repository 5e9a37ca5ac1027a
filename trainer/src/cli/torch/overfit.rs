//! `overfit`: a test that a configuration can learn a few positions.

use anyhow::{Result, bail};
use clap::Args;

use super::trial::TrialArgs;
use crate::config::TrainConfig;
use crate::progress::steps_bar;
use crate::train::{OverfitPoint, distinct_positions, overfit};

/// Overfit a few positions, to test whether a configuration can learn
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer overfit --config config.json --samples 64\n\
    Prints the learning curve. Succeeds as soon as top-1 accuracy is at least 99 % and both losses are below --loss;\n\
    otherwise fails and prints what to check. Writes no files.")]
pub struct OverfitArgs {
    #[command(flatten)]
    trial: TrialArgs,
    /// Number of distinct positions, which form one batch
    #[arg(long, default_value_t = 64)]
    samples: usize,
    /// Maximal number of steps; the learning-rate schedule spans them
    #[arg(long, default_value_t = 500)]
    steps: u64,
    /// Bound on the losses of policy and WDL, each relative to its minimum (nat)
    #[arg(long, default_value_t = 0.1)]
    loss: f64,
}

impl OverfitArgs {
    /// Runs the command.
    ///
    /// # Errors
    /// The configuration or the games are invalid, or the positions were not overfitted.
    pub fn run(&self) -> Result<()> {
        println!("{}", self.overfit()?);
        Ok(())
    }

    fn overfit(&self) -> Result<String> {
        let (config, sources, device) = self.trial.load()?;
        let config = TrainConfig { batch: self.samples, ..config };
        let batch = distinct_positions(&mut sources.feed(&config, 0)?, self.samples)?;
        let progress = steps_bar(self.steps);
        println!("  step        lr  policy     wdl  top-1 | evaluated: policy     wdl  top-1");
        let curve = |point: &OverfitPoint| {
            progress.set_position(point.step);
            progress.suspend(|| println!("{point}"));
        };
        let last = overfit(&config, device, &batch, self.steps, self.loss, &curve)?;
        progress.finish_and_clear();
        match last.advice(&config, self.loss) {
            None => Ok(format!("overfitted in {} steps: this configuration can learn", last.step)),
            Some(advice) => bail!("not overfitted in {} steps: {advice}", last.step),
        }
    }
}
