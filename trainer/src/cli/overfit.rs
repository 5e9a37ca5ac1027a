//! `overfit`: a few positions learnt by heart.

use clap::Args;

use super::trial::TrialArgs;
use crate::config::TrainConfig;
use crate::progress::steps_bar;
use crate::train::{OverfitPoint, distinct_positions, overfit};

/// Learn a few positions by heart, to see whether a configuration can learn
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer overfit --config config.json --samples 64\n\
    Prints the curve. Succeeds as soon as 99 % of the moves are known and both losses are below --loss; otherwise\n\
    says what to look at and fails. Leaves nothing behind.")]
pub struct OverfitArgs {
    #[command(flatten)]
    trial: TrialArgs,
    /// Different positions to learn; they are one batch
    #[arg(long, default_value_t = 64)]
    samples: usize,
    /// Steps to learn them in; the schedule is fitted to that
    #[arg(long, default_value_t = 500)]
    steps: u64,
    /// Bound on the losses of policy and WDL, each above the least possible (nat)
    #[arg(long, default_value_t = 0.1)]
    loss: f64,
}

impl OverfitArgs {
    /// Learns, and judges.
    ///
    /// # Errors
    ///
    /// One line: games or configuration don't do, or they weren't learnt by heart.
    pub fn run(&self) -> Result<(), String> {
        println!("{}", self.overfit()?);
        Ok(())
    }

    fn overfit(&self) -> Result<String, String> {
        let (config, sources, device) = self.trial.ready()?;
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
        match last.judge(&config, self.loss) {
            None => Ok(format!("learnt by heart in {} steps: this configuration can learn", last.step)),
            Some(advice) => Err(format!("not learnt by heart in {} steps: {advice}", last.step)),
        }
    }
}
