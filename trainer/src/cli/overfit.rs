use anyhow::{Result, bail, ensure};
use clap::Args;
use engine::base::words::counted;

use super::out_args::count;
use super::trial::{StepsProgress, TrialArgs};
use super::{sparse, torch};
use crate::config::LearnerConfig;
use crate::config::bounds::MAX_BATCH;
use crate::learn::run::{OverfitKeys, OverfitPoint};

/// With more steps, the number of samples could overflow.
const MAX_STEPS: u64 = 1_000_000_000;

/// Overfit a few positions, to test whether a configuration can learn
#[derive(Args, Debug)]
#[command(after_help = "Example: philidor-trainer overfit --config config.json --samples 64\n\
    Prints the learning curve. Succeeds as soon as top-1 accuracy is at least 99 % and both losses are below --loss;\n\
    otherwise fails and prints what to check. Writes no files.")]
pub struct OverfitArgs {
    #[command(flatten)]
    pub(super) trial: TrialArgs,
    /// Number of distinct positions, which form one batch
    #[arg(long, default_value_t = 64, value_parser = count(1..=MAX_BATCH))]
    pub(super) samples: usize,
    /// Maximum number of steps; the learning-rate schedule spans them
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=MAX_STEPS))]
    pub(super) steps: u64,
    /// Most that the policy loss and the WDL loss may each exceed their minimum (nats)
    #[arg(long, default_value_t = 0.1)]
    pub(super) loss: f64,
}

impl OverfitArgs {
    pub fn run(&self) -> Result<()> {
        // Also not a number.
        ensure!(self.loss > 0.0, "--loss is {}, must be positive", self.loss);
        let said = match self.trial.config()? {
            LearnerConfig::Sparse(config) => sparse::overfit(self, &config),
            LearnerConfig::Torch(config) => torch::overfit(self, *config),
        };
        say!("{}", said?);
        Ok(())
    }

    /// Prints the learning curve that `overfit` makes. Returns the text to print below it.
    pub(super) fn show(
        &self,
        config: &impl OverfitKeys,
        overfit: impl FnOnce(&dyn Fn(&OverfitPoint)) -> Result<OverfitPoint>,
    ) -> Result<String> {
        let progress = StepsProgress::new(self.steps);
        say!("{}", OverfitPoint::HEADING);
        let last = overfit(&|point| {
            progress.show(point.step, "");
            progress.suspend(|| say!("{point}"));
        })?;
        drop(progress);
        let steps = counted(last.step, "step");
        match last.advice(config, self.loss) {
            None => Ok(format!("overfitted in {steps}: this configuration can learn")),
            Some(advice) => bail!("not overfitted in {steps}: {advice}"),
        }
    }
}
