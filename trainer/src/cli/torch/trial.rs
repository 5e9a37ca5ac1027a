use anyhow::{Result, bail};
use tch::Device;

use crate::cli::lr_finder::LrFinderArgs;
use crate::cli::overfit::OverfitArgs;
use crate::cli::trial::{StepsProgress, TrialArgs};
use crate::config::TrainConfig;
use crate::learn::run::RangeTestStep;
use crate::learn::torch::{OverfitPoint, Sources, distinct_positions, range_test};

impl TrialArgs {
    fn load(&self) -> Result<(TrainConfig, Sources, Device)> {
        let mut config = self.settings.config(std::slice::from_ref(&self.config))?;
        let device = self.settings.prepare(&mut config)?;
        let sources = Sources::load(&config.sources, config.validation_percent, &std::env::temp_dir())?;
        Ok((config, sources, device))
    }
}

pub fn overfit(args: &OverfitArgs) -> Result<String> {
    let (config, sources, device) = args.trial.load()?;
    let config = TrainConfig { batch: args.samples, ..config };
    let batch = distinct_positions(&mut sources.feed(&config, 0)?, args.samples)?;
    let progress = StepsProgress::new(args.steps);
    say!("  step        lr  policy     wdl  top-1 | evaluated: policy     wdl  top-1");
    let curve = |point: &OverfitPoint| {
        progress.show(point.step, "");
        progress.suspend(|| say!("{point}"));
    };
    let last = crate::learn::torch::overfit(&config, device, &batch, args.steps, args.loss, &curve)?;
    drop(progress);
    match last.advice(&config, args.loss) {
        None => Ok(format!("overfitted in {} steps: this configuration can learn", last.step)),
        Some(advice) => bail!("not overfitted in {} steps: {advice}", last.step),
    }
}

pub fn lr_range(args: &LrFinderArgs, observer: &dyn Fn(&RangeTestStep)) -> Result<Vec<RangeTestStep>> {
    let (config, sources, device) = args.trial.load()?;
    let mut feed = sources.feed(&config, 0)?;
    range_test(&config, device, &mut feed, [args.from, args.to], args.steps, observer)
}
